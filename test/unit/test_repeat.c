/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that are the same as the last one take a shorter way. Whatever comes between them, they do
 * the same: random rows of calls that repeat, with other data each time, while now and then
 * something else changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/inspect.h"
#include "test/support/crew.h"

#define STEPS   400
#define KINDS   4
#define COUNT   16
#define MANY    80 /* more kinds of calls than plans are kept */
#define LATE_US 300

enum event {
    REPEAT,
    OTHER_KIND,
    POLL,
    BESIDE_REQUEST, /* that is under way on the same group, */
    BESIDE_OTHER_GROUP /* and on another one */,
    STRICT,
    LOOSE,
    FORCE,
    MANY_PLANS,
    EVENTS
};

struct job {
    ncoll_group *groups[2];
    int64_t in[COUNT], out[COUNT];
    unsigned kind, step;
};

static size_t count_of(unsigned kind)
{
    static const size_t counts[KINDS] = {0, 1, 2, COUNT}; /* 0: a barrier */

    return counts[kind];
}

static int call(struct job *j, ncoll_group *g, int64_t timeout_ns)
{
    return count_of(j->kind) == 0 ? ncoll_barrier(g, timeout_ns)
                                  : ncoll_allreduce(g, j->in, j->out, count_of(j->kind),
                                                    NCOLL_INT64, NCOLL_SUM, timeout_ns);
}

static int call_and_check(struct rank *r, struct job *j, int64_t timeout_ns)
{
    int rc;

    for (size_t i = 0; i < COUNT; i++)
        j->in[i] = (int64_t)(j->step * 100 + i) * (r->rank + 1);
    if (random_below(&r->own, 8) == 0)
        usleep((useconds_t)random_below(&r->own, LATE_US));
    do
        rc = call(j, j->groups[0], timeout_ns);
    while (rc == NCOLL_TIMEOUT);
    CHECK_STATUS(rc, NCOLL_OK);
    for (size_t i = 0; i < count_of(j->kind); i++)
        CHECK(j->out[i] == (int64_t)(j->step * 100 + i) * r->ranks * (r->ranks + 1) / 2);
    return 0;
}

static int beside(struct rank *r, struct job *j, ncoll_group *g)
{
    int64_t one = 1, all = 0;
    ncoll_request *request;

    CHECK_STATUS(ncoll_allreduce_start(g, &one, &all, 1, NCOLL_INT64, NCOLL_SUM, &request),
                 NCOLL_OK);
    if (call_and_check(r, j, NCOLL_BLOCK) != 0)
        return 1;
    CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_OK);
    CHECK(all == r->ranks);
    return 0;
}

static int make_many(struct rank *r, struct job *j)
{
    char in[MANY] = {0}, out[MANY];

    for (size_t n = 1; n <= MANY; n++)
        CHECK_STATUS(ncoll_allreduce(j->groups[0], in, out, n, NCOLL_INT8, NCOLL_SUM, NCOLL_BLOCK),
                     NCOLL_OK);
    return 0;
}

static int happen(struct rank *r, struct job *j, enum event event)
{
    switch (event) {
    case OTHER_KIND:
        j->kind = (unsigned)random_below(&r->common, KINDS);
        break;
    case POLL:
        return call_and_check(r, j, NCOLL_TEST);
    case BESIDE_REQUEST:
        return beside(r, j, j->groups[0]);
    case BESIDE_OTHER_GROUP:
        return beside(r, j, j->groups[1]);
    case STRICT:
        CHECK_STATUS(ncoll_group_set_sync(j->groups[0], NCOLL_STRICT_EXIT), NCOLL_OK);
        break;
    case LOOSE:
        CHECK_STATUS(ncoll_group_set_sync(j->groups[0], NCOLL_LOOSE), NCOLL_OK);
        break;
    case FORCE:
        CHECK_STATUS(ncoll__group_force(j->groups[0], COLL_ALLREDUCE, NULL,
                                        1 + (unsigned)random_below(&r->common, 3)),
                     NCOLL_OK);
        break;
    case MANY_PLANS:
        return make_many(r, j);
    default:
        break;
    }
    return call_and_check(r, j, random_below(&r->common, 2) == 0 ? NCOLL_BLOCK : 20000);
}

static int repeat(struct rank *r)
{
    struct job j = {.groups = {r->world}};

    CHECK_STATUS(ncoll_group_dup(r->world, &j.groups[1], NCOLL_BLOCK), NCOLL_OK);
    for (j.step = 0; j.step < STEPS; j.step++) {
        unsigned draw = (unsigned)random_below(&r->common, 3 * EVENTS);
        if (happen(r, &j, draw < EVENTS ? (enum event)draw : REPEAT) != 0)
            return 1;
    }
    CHECK_STATUS(ncoll_group_free(&j.groups[1], NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

#define LONG_COUNT 300000 /* many segments */

#define BRIEF_CALLS 3000 /* between two looks at the long call */
#define LOOKS       10   /* far fewer than the long call has steps, since a look makes one, too */

/* A long call on one group gets on while this rank is busy with short ones on another. How many of
 * these it takes depends on how often the ranks of a busy machine are interrupted. */
static int do_not_starve(struct rank *r)
{
    int64_t *in = calloc(LONG_COUNT, sizeof *in), *out = calloc(LONG_COUNT, sizeof *out);
    ncoll_request *request, *brief;
    ncoll_status status = NCOLL_TIMEOUT;
    ncoll_group *other;
    int32_t all_ended = 0;

    CHECK(in != NULL && out != NULL);
    CHECK_STATUS(ncoll_group_dup(r->world, &other, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(other, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(
        ncoll_allreduce_start(other, in, out, LONG_COUNT, NCOLL_INT64, NCOLL_SUM, &request),
        NCOLL_OK);
    CHECK_STATUS(ncoll_barrier_init(r->world, &brief), NCOLL_OK);
    for (int look = 0; look < LOOKS && !all_ended; look++) {
        for (int i = 0; i < BRIEF_CALLS; i++) {
            CHECK_STATUS(ncoll_start(brief), NCOLL_OK);
            CHECK_STATUS(ncoll_wait(&brief, NCOLL_BLOCK), NCOLL_OK);
        }
        if (status != NCOLL_OK)
            status = ncoll_test(&request);
        const int32_t ended = status == NCOLL_OK;

        CHECK_STATUS(
            ncoll_allreduce(r->world, &ended, &all_ended, 1, NCOLL_INT32, NCOLL_MIN, NCOLL_BLOCK),
            NCOLL_OK);
    }
    CHECK(all_ended);
    CHECK_STATUS(ncoll_request_free(&brief), NCOLL_OK);
    free(in);
    free(out);
    return 0;
}

static void test_beside_a_long_call(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 3; ranks++)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 60, do_not_starve, NULL), 0);
}

static void test_repeat(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 5; ranks++)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 60, repeat, NULL), 0);
}

/* Ranks look after each yield here. */
static void test_without_spinning(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.spin_ns = 0;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, 60, repeat, NULL), 0);
}

static void test_threads(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_THREADS, 3, NULL, 60, repeat, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeat),
        cmocka_unit_test(test_beside_a_long_call),
        cmocka_unit_test(test_without_spinning),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests_name("repeat", tests, NULL, NULL);
}
