/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An algorithm whose connections some rank has no room for is not used again: the ranks agree on
 * that once, whichever way they make the calls that follow. The room is what the test says it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/group.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define RANKS    6
#define COUNT    4096 /* elements of a block: the blocks go to all ranks directly, if they can */
#define LIMIT_NS (HANG_FACTOR * INT64_C(20000000000))

static struct transport_ops ops;
static unsigned asked; /* how often the ranks have agreed on room */
static bool full;      /* this rank has none */

static bool has_room(struct transport *t, const int *peers, unsigned n_peers)
{
    (void)t, (void)peers, (void)n_peers;
    asked++;
    return !full;
}

/* Rank 1 has no room for connections from now on. */
static void refuse(struct rank *r)
{
    struct transport *t = r->ctx->transport;

    ops = *t->ops;
    ops.has_room = has_room;
    t->ops = &ops;
    asked = 0;
    full = r->rank == 1;
}

struct blocks {
    int64_t in[RANKS * COUNT], out[RANKS * COUNT];
};

static struct blocks *blocks_new(void)
{
    struct blocks *b = calloc(1, sizeof *b);

    if (b == NULL)
        abort();
    return b;
}

static void fill(const struct rank *r, struct blocks *b, int round)
{
    for (int q = 0; q < RANKS; q++)
        for (int i = 0; i < COUNT; i++)
            b->in[q * COUNT + i] = round * 1000 + r->rank * 10 + q;
    memset(b->out, 0, sizeof b->out);
}

static bool is_right(const struct rank *r, const struct blocks *b, int round)
{
    for (int q = 0; q < RANKS; q++)
        for (int i = 0; i < COUNT; i++)
            if (b->out[q * COUNT + i] != round * 1000 + q * 10 + r->rank)
                return false;
    return true;
}

/* Even ranks have a persistent request, odd ones make a blocking call. */
static int persistent_and_blocking(struct rank *r)
{
    struct blocks *b = blocks_new();
    ncoll_request *request = NULL;
    unsigned first = 0;

    CHECK_STATUS(ncoll_alltoall_init(r->world, b->in, b->out, COUNT, NCOLL_INT64, &request),
                 NCOLL_OK);
    refuse(r);
    for (int round = 0; round < 5; round++) {
        fill(r, b, round);
        if (r->rank % 2 == 0) {
            CHECK_STATUS(ncoll_start(request), NCOLL_OK);
            CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
        } else {
            CHECK_STATUS(ncoll_alltoall(r->world, b->in, b->out, COUNT, NCOLL_INT64, LIMIT_NS),
                         NCOLL_OK);
        }
        CHECK(is_right(r, b, round));
        first = round == 0 ? asked : first;
        CHECK(first > 0 && asked == first);
    }
    CHECK_STATUS(ncoll_request_free(&request), NCOLL_OK);
    free(b);
    return 0;
}

/* Even ranks start the second call before the first one has been refused, odd ones after that. */
static int started_before(struct rank *r)
{
    struct blocks *b[2] = {blocks_new(), blocks_new()};
    ncoll_request *requests[2];

    refuse(r);
    for (int i = 0; i < 2; i++) {
        fill(r, b[i], i);
        CHECK_STATUS(
            ncoll_alltoall_start(r->world, b[i]->in, b[i]->out, COUNT, NCOLL_INT64, &requests[i]),
            NCOLL_OK);
        if (r->rank % 2 == 1)
            CHECK_STATUS(ncoll_wait(&requests[i], LIMIT_NS), NCOLL_OK);
    }
    for (int i = 0; i < 2 && r->rank % 2 == 0; i++)
        CHECK_STATUS(ncoll_wait(&requests[i], LIMIT_NS), NCOLL_OK);
    for (int i = 0; i < 2; i++) {
        CHECK(is_right(r, b[i], i));
        free(b[i]);
    }
    return 0;
}

static void test_persistent_and_blocking(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 60, persistent_and_blocking, NULL), 0);
}

static void test_started_before(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 60, started_before, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_persistent_and_blocking),
                                       cmocka_unit_test(test_started_before)};

    return cmocka_run_group_tests_name("refused", tests, NULL, NULL);
}
