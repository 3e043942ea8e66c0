/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for several requests that go wrong: ranks that leave, a codec that fails, ranks that wait for
 * each other in a circle, and misuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/support/compressed.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define RANKS    4
#define COUNT    50
#define LIMIT_NS (HANG_FACTOR * INT64_C(20000000000))

struct scene {
    _Atomic int step;
};

static int64_t in[COUNT], sum[COUNT];

static void await(struct rank *r, int step)
{
    const struct scene *scene = r->shared;

    while (atomic_load(&scene->step) < step)
        usleep(100);
}

static void reach(struct rank *r, int step)
{
    atomic_store(&((struct scene *)r->shared)->step, step);
}

static void run(int ranks, crew_body body)
{
    struct scene *scene = crew_share(sizeof *scene);

    assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 60, body, scene), 0);
    crew_unshare(scene, sizeof *scene);
}

/* ------------------------------------------------------------------ failures ------------------ */

/* The last rank leaves, and does not come to the requests 2 and 4. */
static int lose_a_rank(struct rank *r)
{
    ncoll_request *requests[5] = {NULL};
    size_t indices[5], failed, n;

    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier_start(r->world, &requests[1]), NCOLL_OK);
    if (r->rank == r->ranks - 1) {
        CHECK_STATUS(ncoll_wait(&requests[1], LIMIT_NS), NCOLL_OK);
        await(r, r->ranks - 1);
        ncoll_context_destroy(r->ctx);
        r->ctx = NULL;
        return 0;
    }
    CHECK_STATUS(
        ncoll_allreduce_start(r->world, in, sum, COUNT, NCOLL_INT64, NCOLL_SUM, &requests[2]),
        NCOLL_OK);
    CHECK_STATUS(ncoll_barrier_start(r->world, &requests[4]), NCOLL_OK);
    while (ncoll_wait_all(&requests[1], 1, &failed, NCOLL_TEST) == NCOLL_TIMEOUT)
        ;
    CHECK(requests[1] == NULL);
    atomic_fetch_add(&((struct scene *)r->shared)->step, 1);
    if (r->rank % 2 == 0) {
        CHECK_STATUS(ncoll_wait_all(requests, 5, &failed, LIMIT_NS), NCOLL_ERR_PEER);
        CHECK(failed == 2 && requests[2] == NULL && requests[4] != NULL);
        CHECK(ncoll_last_error(r->ctx)->peer == r->ranks - 1);
    } else {
        CHECK_STATUS(ncoll_wait_some(requests, 5, indices, &n, LIMIT_NS), NCOLL_ERR_PEER);
        CHECK(n == 1 && indices[0] == 2 && requests[2] == NULL && requests[4] != NULL);
    }
    CHECK_STATUS(ncoll_wait_any(requests, 5, &failed, LIMIT_NS), NCOLL_ERR_PEER);
    CHECK(failed == 4 && requests[4] == NULL);
    CHECK(ncoll_last_error(r->ctx)->peer == r->ranks - 1);
    CHECK_STATUS(ncoll_wait_all(requests, 5, &failed, LIMIT_NS), NCOLL_OK);
    return 0;
}

static void test_lost(void **state)
{
    (void)state;
    run(2, lose_a_rank);
    run(RANKS, lose_a_rank);
}

/* The peer that a rank waits for on the second group leaves; the first group goes on for ever. */
static int lose_a_rank_of_another_group(struct rank *r)
{
    ncoll_request *requests[2];
    ncoll_group *halves, *other;
    size_t index;

    /* ranks 0, 1 and 0, 2 */
    CHECK_STATUS(ncoll_group_split(r->world, r->rank < 2 ? 0 : 1, 0, &halves, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_group_split(r->world, r->rank != 1 ? 0 : 1, 0, &other, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(halves, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(other, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    if (r->rank == 1) {
        await(r, 1); /* it does not come to rank 0's barrier before that has failed */
        return 0;
    }
    if (r->rank == 2) {
        ncoll_context_destroy(r->ctx);
        r->ctx = NULL;
        return 0;
    }
    CHECK_STATUS(ncoll_barrier_start(halves, &requests[0]), NCOLL_OK);
    int rc = ncoll_barrier_start(other, &requests[1]);
    if (rc == NCOLL_OK)
        rc = ncoll_wait_any(requests, 2, &index, NCOLL_BLOCK);
    CHECK_STATUS(rc, NCOLL_ERR_PEER);
    CHECK(ncoll_last_error(r->ctx)->peer == 2);
    reach(r, 1);
    return 0;
}

static void test_lost_elsewhere(void **state)
{
    (void)state;
    run(3, lose_a_rank_of_another_group);
}

/* A codec that fails ends its own request on all ranks; those beside it end well. */
static int fail_one(struct rank *r)
{
    static float from[COUNT], to[COUNT];
    struct eighths e = {.mood = r->rank == 0 ? EIGHTHS_CANNOT_ENCODE : EIGHTHS_WELL};
    const ncoll_codec codec = eighths_codec(0, &e);
    ncoll_compressor *compressor;
    ncoll_request *requests[3];
    size_t index, indices[3], n;

    for (int i = 0; i < COUNT; i++)
        from[i] = (float)(8 * i);
    CHECK_STATUS(ncoll_compressor_create(r->world, &codec, COUNT, NCOLL_FLOAT, 0, &compressor),
                 NCOLL_OK);
    for (int way = 0; way < 3; way++) {
        CHECK_STATUS(ncoll_barrier_start(r->world, &requests[0]), NCOLL_OK);
        CHECK_STATUS(ncoll_allreduce_compressed_start(r->world, compressor, from, to, COUNT,
                                                      NCOLL_FLOAT, NCOLL_SUM, &requests[1]),
                     NCOLL_OK);
        CHECK_STATUS(ncoll_barrier_start(r->world, &requests[2]), NCOLL_OK);
        if (way == 0) {
            CHECK_STATUS(ncoll_wait_all(requests, 3, &index, LIMIT_NS), NCOLL_ERR_CODEC);
            CHECK(index == 1 && requests[0] != NULL && requests[2] != NULL);
            CHECK(strstr(ncoll_last_error(r->ctx)->text, "could not encode") != NULL);
        }
        for (int left = 3 - (way == 0); way < 2 && left > 0; left--) {
            int rc = ncoll_wait_any(requests, 3, &index, LIMIT_NS);
            CHECK_STATUS(rc, index == 1 ? NCOLL_ERR_CODEC : NCOLL_OK);
            CHECK(index < 3 && requests[index] == NULL);
        }
        for (size_t left = 3; way == 2 && left > 0; left -= n) {
            int rc = ncoll_wait_some(requests, 3, indices, &n, LIMIT_NS);
            CHECK(n > 0 && n <= left);
            CHECK_STATUS(rc, indices[n - 1] == 1 ? NCOLL_ERR_CODEC : NCOLL_OK);
        }
        CHECK_STATUS(ncoll_wait_all(requests, 3, &index, LIMIT_NS), NCOLL_OK);
    }
    CHECK_STATUS(ncoll_compressor_free(&compressor), NCOLL_OK);
    return 0;
}

static void test_codec(void **state)
{
    (void)state;
    run(2, fail_one);
    run(3, fail_one);
}

/* Rank 0 waits for all of its requests, one of them on a group to which rank 1 comes only after
 * another group's barrier, for which it waits in vain. */
static int go_round(struct rank *r)
{
    ncoll_request *requests[3] = {NULL};
    ncoll_group *other;
    size_t index;
    int rc;

    CHECK_STATUS(ncoll_group_dup(r->world, &other, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(other, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier_start(r->world, &requests[0]), NCOLL_OK);
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_barrier_start(r->world, &requests[2]), NCOLL_OK);
        rc = ncoll_wait_any(requests, 1, &index, NCOLL_BLOCK);
        CHECK_STATUS(rc, NCOLL_OK);
        rc = ncoll_wait_all(requests, 3, &index, NCOLL_BLOCK);
        CHECK(index == 2);
    } else {
        CHECK_STATUS(ncoll_wait(&requests[0], LIMIT_NS), NCOLL_OK);
        rc = ncoll_barrier(other, NCOLL_BLOCK);
    }
    CHECK_STATUS(rc, NCOLL_ERR_MISMATCH);
    return 0;
}

static void test_circle(void **state)
{
    (void)state;
    run(2, go_round);
}

/* ------------------------------------------------------------------ misuse -------------------- */

static int misuse(struct rank *r)
{
    ncoll_params params = {0};
    ncoll_request *requests[3] = {NULL}, *over, *foreign;
    ncoll_context *own;
    size_t index = 77, n = 77;

    CHECK_STATUS(ncoll_wait_all(NULL, 0, NULL, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_wait_some(NULL, 0, NULL, &n, LIMIT_NS), NCOLL_OK);
    CHECK(n == 0);
    CHECK_STATUS(ncoll_wait_all(NULL, 1, NULL, LIMIT_NS), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_wait_all(requests, 3, NULL, -1), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_wait_any(requests, 3, NULL, LIMIT_NS), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_wait_some(requests, 3, NULL, &n, LIMIT_NS), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_wait_some(requests, 3, &index, NULL, LIMIT_NS), NCOLL_ERR_ARGUMENT);

    CHECK_STATUS(ncoll_barrier_start(r->world, &over), NCOLL_OK);
    requests[0] = over;
    CHECK_STATUS(ncoll_wait(&requests[0], LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier_start(r->world, &requests[0]), NCOLL_OK);
    requests[1] = over;
    CHECK_STATUS(ncoll_wait_all(requests, 3, NULL, LIMIT_NS), NCOLL_ERR_HANDLE);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "entry 1") != NULL);
    requests[1] = requests[0];
    CHECK_STATUS(ncoll_wait_any(requests, 3, &index, LIMIT_NS), NCOLL_ERR_ARGUMENT);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "earlier") != NULL && index == 77);
    requests[1] = NULL;
    CHECK_STATUS(ncoll_wait_all(requests, 3, NULL, -1), NCOLL_ERR_ARGUMENT);
    CHECK(ncoll_last_error(r->ctx)->status == NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_wait_any(requests, 3, NULL, LIMIT_NS), NCOLL_ERR_ARGUMENT);

    CHECK_STATUS(ncoll_params_init(&params, sizeof params), NCOLL_OK);
    params.bootstrap = NCOLL_BOOTSTRAP_SELF;
    CHECK_STATUS(ncoll_context_create(&params, &own, NULL), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier_start(ncoll_world(own), &foreign), NCOLL_OK);
    requests[2] = foreign;
    CHECK_STATUS(ncoll_wait_all(requests, 3, &index, LIMIT_NS), NCOLL_ERR_ARGUMENT);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "another context") != NULL && index == 77);
    CHECK(requests[0] != NULL && requests[2] == foreign);
    CHECK_STATUS(ncoll_wait_all(&requests[2], 1, &index, LIMIT_NS), NCOLL_OK);
    ncoll_context_destroy(own);
    CHECK_STATUS(ncoll_wait_all(requests, 3, &index, LIMIT_NS), NCOLL_OK); /* all is well still */
    CHECK(index == NCOLL_NO_INDEX && requests[0] == NULL);
    return 0;
}

static void test_misuse(void **state)
{
    (void)state;
    run(2, misuse);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost),   cmocka_unit_test(test_lost_elsewhere),
        cmocka_unit_test(test_codec),  cmocka_unit_test(test_circle),
        cmocka_unit_test(test_misuse),
    };

    return cmocka_run_group_tests_name("several_wrong", tests, NULL, NULL);
}
