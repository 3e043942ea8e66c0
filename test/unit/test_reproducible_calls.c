/* SPDX-License-Identifier: BSD-3-Clause */
/* Reproducible sums: the same bits for every number of ranks, algorithm and collective. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/inspect.h"
#include "lib/compute/reproducible.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define RANKS    6
#define COUNT    50
#define LIMIT_NS (HANG_FACTOR * INT64_C(20000000000))

static double parts[RANKS][COUNT]; /* a vector for each rank */

/* Wide apart and of both signs, so that every order rounds in another way. */
static void make(void)
{
    struct random random = random_stream(test_seed(), 0);

    for (int q = 0; q < RANKS; q++)
        for (int i = 0; i < COUNT; i++) {
            double x = (double)random_next(&random) * (random_below(&random, 2) ? 1.0 : -1.0);
            parts[q][i] = x / (double)(UINT64_C(1) << random_below(&random, 40));
        }
}

/* The sum of the first summands, one a rank. */
static void sum_serially(int ranks, int at, int count, double *out)
{
    struct reproducible sums[COUNT], one[COUNT];

    for (int q = 0; q < ranks; q++) {
        ncoll__reproducible_open(q == 0 ? sums : one, &parts[q][at], (size_t)count, NCOLL_DOUBLE);
        if (q > 0)
            ncoll__reproducible_combine(sums, sums, one, (size_t)count, NCOLL_DOUBLE, NULL);
    }
    ncoll__reproducible_close(out, sums, (size_t)count, NCOLL_DOUBLE);
}

static int by_every_algorithm(struct rank *r)
{
    static const char *const names[] = {"two-window", "gather",    "multiply", "tree",
                                        "ring",       "circulant", "early",    NULL};
    double out[COUNT], serial[COUNT];

    sum_serially(r->ranks, 0, COUNT, serial);
    for (int i = 0; names[i] != NULL; i++) {
        CHECK_STATUS(ncoll__group_force(r->world, COLL_ALLREDUCE, names[i], 1), NCOLL_OK);
        CHECK_STATUS(ncoll_allreduce(r->world, parts[r->rank], out, COUNT, NCOLL_DOUBLE,
                                     NCOLL_SUM_REPRODUCIBLE, LIMIT_NS),
                     NCOLL_OK);
        CHECK(memcmp(out, serial, sizeof out) == 0);
    }
    return 0;
}

/* Blocks, prefixes in place, a type that it is not for, and a persistent request. */
static int by_other_collectives(struct rank *r)
{
    double out = -1, prefix[COUNT], serial[COUNT], total[COUNT];
    int32_t integers[2] = {1, 2};
    ncoll_request *request;

    CHECK_STATUS(ncoll_reduce_scatter_block(r->world, parts[r->rank], &out, 1, NCOLL_DOUBLE,
                                            NCOLL_SUM_REPRODUCIBLE, LIMIT_NS),
                 NCOLL_OK);
    sum_serially(r->ranks, r->rank, 1, serial);
    CHECK(memcmp(&out, serial, sizeof out) == 0);

    memcpy(prefix, parts[r->rank], sizeof prefix);
    CHECK_STATUS(
        ncoll_scan(r->world, prefix, prefix, COUNT, NCOLL_DOUBLE, NCOLL_SUM_REPRODUCIBLE, LIMIT_NS),
        NCOLL_OK);
    sum_serially(r->rank + 1, 0, COUNT, serial);
    CHECK(memcmp(prefix, serial, sizeof serial) == 0);

    CHECK_STATUS(ncoll_allreduce(r->world, integers, integers, 2, NCOLL_INT32,
                                 NCOLL_SUM_REPRODUCIBLE, LIMIT_NS),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_reduce_init(r->world, parts[r->rank], total, COUNT, NCOLL_DOUBLE,
                                   NCOLL_SUM_REPRODUCIBLE, r->ranks - 1, &request),
                 NCOLL_OK);
    sum_serially(r->ranks, 0, COUNT, serial);
    for (int i = 0; i < 3; i++) {
        memset(total, 0, sizeof total);
        CHECK_STATUS(ncoll_start(request), NCOLL_OK);
        CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
        CHECK(r->rank < r->ranks - 1 || memcmp(total, serial, sizeof serial) == 0);
    }
    CHECK_STATUS(ncoll_request_free(&request), NCOLL_OK);
    return 0;
}

static void run(crew_body body)
{
    make();
    for (int ranks = 1; ranks <= RANKS; ranks++)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 60, body, NULL), 0);
}

static void test_every_algorithm(void **state)
{
    (void)state;
    run(by_every_algorithm);
}

static void test_other_collectives(void **state)
{
    (void)state;
    run(by_other_collectives);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_algorithm),
        cmocka_unit_test(test_other_collectives),
    };

    return cmocka_run_group_tests_name("reproducible_calls", tests, NULL, NULL);
}
