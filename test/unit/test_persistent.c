/* SPDX-License-Identifier: BSD-3-Clause */
/* Persistent requests: started again and again, several at once, and misused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/support/crew.h"
#include "test/support/hang.h"

#define COUNT    100
#define STARTS   50
#define RANKS    5
#define LIMIT_NS (HANG_FACTOR * INT64_C(20000000000))

static int64_t in[RANKS * COUNT], sum[COUNT], all[RANKS * COUNT], swapped[RANKS * COUNT];

/* Rank q sends p of its own elements to rank p, in an alltoall with counts. */
static int init_alltoallv(struct rank *r, ncoll_request **request)
{
    size_t in_counts[RANKS], out_counts[RANKS];

    for (int q = 0; q < r->ranks; q++) {
        in_counts[q] = (size_t)q;
        out_counts[q] = (size_t)r->rank;
    }
    return ncoll_alltoallv_init(r->world, in, in_counts, NULL, swapped, out_counts, NULL,
                                NCOLL_INT64, request); /* the arrays may go now */
}

static int check_results(const struct rank *r, int round)
{
    for (int i = 0; i < COUNT; i++) {
        CHECK(sum[i] == r->ranks * (int64_t)(round + i) + r->ranks * (r->ranks - 1) / 2 * 1000);
        for (int q = 0; q < r->ranks; q++)
            CHECK(all[q * COUNT + i] == round + i + q * 1000);
    }
    for (int q = 0, at = 0; q < r->ranks; q++)
        for (int i = 0; i < r->rank; i++, at++)
            CHECK(swapped[at] == round + r->rank * (r->rank - 1) / 2 + i + q * 1000);
    return 0;
}

static int start_again(struct rank *r)
{
    ncoll_request *requests[4];

    CHECK_STATUS(
        ncoll_allreduce_init(r->world, in, sum, COUNT, NCOLL_INT64, NCOLL_SUM, &requests[0]),
        NCOLL_OK);
    CHECK_STATUS(ncoll_allgather_init(r->world, in, all, COUNT, NCOLL_INT64, &requests[1]),
                 NCOLL_OK);
    CHECK_STATUS(init_alltoallv(r, &requests[2]), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier_init(r->world, &requests[3]), NCOLL_OK);
    for (int round = 0; round < STARTS; round++) {
        for (int i = 0; i < RANKS * COUNT; i++)
            in[i] = round + i + r->rank * 1000;
        for (int i = 0; i < 4; i++)
            CHECK_STATUS(ncoll_start(requests[i]), NCOLL_OK);
        for (int i = 4; i-- > 0;)
            CHECK_STATUS(ncoll_wait(&requests[i], LIMIT_NS), NCOLL_OK);
        CHECK(check_results(r, round) == 0);
        /* calls that are not persistent come in between */
        CHECK_STATUS(ncoll_allreduce(r->world, in, sum, 1, NCOLL_INT64, NCOLL_MAX, LIMIT_NS),
                     NCOLL_OK);
    }
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(ncoll_request_free(&requests[i]), NCOLL_OK);
        CHECK(requests[i] == NULL);
    }
    return 0;
}

static int misuse(struct rank *r)
{
    ncoll_request *request, *other, *stale;

    CHECK_STATUS(ncoll_barrier_init(r->world, &request), NCOLL_OK);
    CHECK_STATUS(ncoll_test(&request), NCOLL_OK); /* not started: nothing to wait for */
    CHECK(request != NULL);
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_start(request), NCOLL_OK);
        CHECK_STATUS(ncoll_start(request), NCOLL_ERR_BUSY);
        CHECK(strstr(ncoll_last_error(r->ctx)->text, "barrier") != NULL);
        CHECK_STATUS(ncoll_request_free(&request), NCOLL_ERR_BUSY);
    }
    CHECK_STATUS(ncoll_barrier_start(r->world, &other), NCOLL_OK);
    CHECK_STATUS(ncoll_start(other), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_request_free(&other), NCOLL_ERR_HANDLE);
    if (r->rank != 0) /* the first of rank 0's is the first of all */
        CHECK_STATUS(ncoll_start(request), NCOLL_OK);
    CHECK_STATUS(ncoll_wait(&other, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
    stale = request;
    CHECK_STATUS(ncoll_request_free(&request), NCOLL_OK);
    CHECK_STATUS(ncoll_start(stale), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_start(NULL), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_request_free(&request), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_bcast_init(r->world, in, 1, NCOLL_INT64, r->ranks, &request),
                 NCOLL_ERR_ARGUMENT);
    /* one that nobody frees goes with the context */
    CHECK_STATUS(ncoll_bcast_init(r->world, in, 1, NCOLL_INT64, 0, &request), NCOLL_OK);
    return 0;
}

static void run(crew_body body)
{
    for (int ranks = 2; ranks <= RANKS; ranks += 3)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 60, body, NULL), 0);
}

static void test_start_again(void **state)
{
    (void)state;
    run(start_again);
}

static void test_misuse(void **state)
{
    (void)state;
    run(misuse);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start_again),
        cmocka_unit_test(test_misuse),
    };

    return cmocka_run_group_tests_name("persistent", tests, NULL, NULL);
}
