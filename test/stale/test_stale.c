/* SPDX-License-Identifier: BSD-3-Clause */
/* Stale-synchronous and partial allreduces on forked ranks, in shared memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ncoll_eventual.h"
#include "test/support/crew.h"

#define LIMIT_S 60u

/* ------------------------------------------------------------------ slack 0 ------------------ */

#define MOST 40000u

/* Without slack all ranks get the bits of an allreduce, whatever calls come between. */
static int same_bits(struct rank *r)
{
    static const size_t counts[] = {1, 7, 300, MOST};
    static double in[MOST], out[2][MOST];
    ncoll_stale_params params = {.size = sizeof params, .max_slack = 3};
    ncoll_stale_result result = {.size = sizeof result};

    for (unsigned c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        size_t n = counts[c];
        ncoll_stale *stale = NULL;
        CHECK_STATUS(
            ncoll_stale_create(r->world, &params, n, NCOLL_DOUBLE, NCOLL_SUM, &stale, NCOLL_BLOCK),
            NCOLL_OK);
        for (unsigned k = 1, calls = n < MOST ? 30 : 8; k <= calls; k++) {
            int slack = random_below(&r->common, 3) == 0 ? 3 : 0;
            for (size_t i = 0; i < n; i++)
                in[i] = (double)random_below(&r->own, 1u << 30) / 3 - 1e8;
            CHECK_STATUS(ncoll_allreduce_ssp(stale, in, out[0], n, NCOLL_DOUBLE, NCOLL_SUM, slack,
                                             &result, NCOLL_BLOCK),
                         NCOLL_OK);
            CHECK(result.clock == k);
            if (slack > 0)
                continue;
            CHECK(result.min_clock == k && result.fresh == r->ranks);
            CHECK_STATUS(
                ncoll_allreduce(r->world, in, out[1], n, NCOLL_DOUBLE, NCOLL_SUM, NCOLL_BLOCK),
                NCOLL_OK);
            CHECK(memcmp(out[0], out[1], n * sizeof out[0][0]) == 0);
        }
        CHECK_STATUS(ncoll_stale_free(&stale, NCOLL_BLOCK), NCOLL_OK);
        CHECK(stale == NULL);
    }
    return 0;
}

static void test_same_bits(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 5; ranks++)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, LIMIT_S, same_bits, NULL), 0);
}

/* ------------------------------------------------------------------ bad input ---------------- */

static int wrong_parameters(struct rank *r)
{
    ncoll_stale_params params = {.size = sizeof params, .max_slack = -1};
    ncoll_stale *s = NULL;

    CHECK_STATUS(ncoll_stale_create(r->world, &params, 1, NCOLL_INT64, NCOLL_SUM, &s, NCOLL_BLOCK),
                 NCOLL_ERR_ARGUMENT);
    params.max_slack = 65536;
    CHECK_STATUS(ncoll_stale_create(r->world, &params, 1, NCOLL_INT64, NCOLL_SUM, &s, NCOLL_BLOCK),
                 NCOLL_ERR_ARGUMENT);
    params = (ncoll_stale_params){.size = sizeof params, .max_slack = 4, .algorithm = 9};
    CHECK_STATUS(ncoll_stale_create(r->world, &params, 1, NCOLL_INT64, NCOLL_SUM, &s, NCOLL_BLOCK),
                 NCOLL_ERR_ARGUMENT);
    params.algorithm = NCOLL_STALE_AUTO;
    CHECK_STATUS(ncoll_stale_create(r->world, &params, 1, NCOLL_DOUBLE, NCOLL_SUM_REPRODUCIBLE, &s,
                                    NCOLL_BLOCK),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(
        ncoll_stale_create(r->world, &params, 1, NCOLL_INT64, NCOLL_SUM, NULL, NCOLL_BLOCK),
        NCOLL_ERR_ARGUMENT);
    params.size = 0;
    CHECK_STATUS(ncoll_stale_create(r->world, &params, 1, NCOLL_INT64, NCOLL_SUM, &s, NCOLL_BLOCK),
                 NCOLL_ERR_ARGUMENT);
    CHECK(s == NULL);
    return 0;
}

/* A result without its size is refused, also by the short path of repeated calls with slack 0. */
static int wrong_result(struct rank *r, ncoll_stale *s)
{
    ncoll_stale_result no_size = {0};
    int64_t in = 1, out = 0;

    for (int k = 0; k < 3; k++)
        CHECK_STATUS(
            ncoll_allreduce_ssp(s, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, 0, NULL, NCOLL_BLOCK),
            NCOLL_OK);
    for (int slack = 0; slack < 2; slack++)
        CHECK_STATUS(ncoll_allreduce_ssp(s, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, slack, &no_size,
                                         NCOLL_BLOCK),
                     NCOLL_ERR_ARGUMENT);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "size") != NULL);
    return 0;
}

static int wrong_arguments(struct rank *r)
{
    ncoll_stale_params params = {.size = sizeof params, .max_slack = 4};
    ncoll_stale *s = NULL, *p = NULL;
    int64_t in = 1, out = 0;
    ncoll_request *request;

    CHECK(wrong_parameters(r) == 0);
    CHECK_STATUS(ncoll_stale_create(r->world, &params, 1, NCOLL_INT64, NCOLL_SUM, &s, NCOLL_BLOCK),
                 NCOLL_OK);
    params.partial = 1;
    CHECK_STATUS(ncoll_stale_create(r->world, &params, 1, NCOLL_INT64, NCOLL_SUM, &p, NCOLL_BLOCK),
                 NCOLL_OK);
    CHECK_STATUS(ncoll_allreduce_ssp(s, &in, &out, 2, NCOLL_INT64, NCOLL_SUM, 1, NULL, NCOLL_BLOCK),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(
        ncoll_allreduce_ssp(s, &in, &out, 1, NCOLL_DOUBLE, NCOLL_SUM, 1, NULL, NCOLL_BLOCK),
        NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_allreduce_ssp(s, &in, &out, 1, NCOLL_INT64, NCOLL_MAX, 1, NULL, NCOLL_BLOCK),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_allreduce_ssp(s, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, 5, NULL, NCOLL_BLOCK),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(
        ncoll_allreduce_ssp(s, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, -1, NULL, NCOLL_BLOCK),
        NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(
        ncoll_allreduce_ssp(s, NULL, &out, 1, NCOLL_INT64, NCOLL_SUM, 1, NULL, NCOLL_BLOCK),
        NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_allreduce_ssp(s, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, 1, NULL, -1),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_allreduce_ssp(p, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, 1, NULL, NCOLL_BLOCK),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(
        ncoll_allreduce_partial(s, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, 1, NULL, NCOLL_BLOCK),
        NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_allreduce_partial(p, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, r->ranks + 1,
                                         NULL, NCOLL_BLOCK),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(
        ncoll_allreduce_ssp(NULL, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, 1, NULL, NCOLL_BLOCK),
        NCOLL_ERR_HANDLE);
    /* none of these was a call: all ranks have clock 1 now */
    ncoll_stale_result result = {.size = sizeof result};
    CHECK_STATUS(
        ncoll_allreduce_ssp(s, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, 2, &result, NCOLL_BLOCK),
        NCOLL_OK);
    CHECK(result.clock == 1 && out == r->ranks);
    CHECK(wrong_result(r, s) == 0);
    /* an object with an unfinished call is not freed */
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(
        ncoll_allreduce_ssp_start(s, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, 0, NULL, &request),
        NCOLL_OK);
    CHECK_STATUS(ncoll_stale_free(&s, NCOLL_BLOCK), NCOLL_ERR_BUSY);
    CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_stale_free(&p, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_stale_free(&s, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_stale_free(&s, NCOLL_BLOCK), NCOLL_ERR_HANDLE);
    return 0;
}

static void test_wrong_arguments(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 3, NULL, LIMIT_S, wrong_arguments, NULL), 0);
}

/* One rank starts more requests than an object remembers calls; the others make the calls one by one,
 * and compare what they have called. */
static int many_requests(struct rank *r)
{
    enum { REQUESTS = 60 };
    const ncoll_stale_params params = {.size = sizeof params, .max_slack = 1};
    ncoll_request *requests[REQUESTS] = {NULL};
    int64_t in = 1, outs[REQUESTS];
    ncoll_stale *s = NULL;

    CHECK_STATUS(ncoll_stale_create(r->world, &params, 1, NCOLL_INT64, NCOLL_SUM, &s, NCOLL_BLOCK),
                 NCOLL_OK);
    for (int i = 0; i < REQUESTS && r->rank == 0; i++)
        CHECK_STATUS(ncoll_allreduce_ssp_start(s, &in, &outs[i], 1, NCOLL_INT64, NCOLL_SUM, 1, NULL,
                                               &requests[i]),
                     NCOLL_OK);
    for (int i = 0; i < REQUESTS; i++) {
        CHECK_STATUS(r->rank == 0 ? ncoll_wait(&requests[i], NCOLL_BLOCK)
                                  : ncoll_allreduce_ssp(s, &in, &outs[i], 1, NCOLL_INT64, NCOLL_SUM,
                                                        1, NULL, NCOLL_BLOCK),
                     NCOLL_OK);
        CHECK(outs[i] == r->ranks);
    }
    CHECK_STATUS(ncoll_stale_free(&s, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static void test_many_requests(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 3; ranks++)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, LIMIT_S, many_requests, NULL), 0);
}

/* Objects are made and freed many times, step by step. */
static int many_objects(struct rank *r)
{
    ncoll_stale_params params = {.size = sizeof params, .max_slack = 4};

    for (int i = 0; i < 40; i++) {
        ncoll_stale *s = NULL;
        int64_t in = r->rank, out = 0;
        int rc = NCOLL_TIMEOUT;
        params.algorithm = (ncoll_stale_algorithm)(1 + i % 3);
        params.partial = i % 4 == 3;
        while (rc == NCOLL_TIMEOUT)
            rc = ncoll_stale_create(r->world, &params, 1, NCOLL_INT64, NCOLL_SUM, &s, NCOLL_TEST);
        CHECK_STATUS(rc, NCOLL_OK);
        for (int k = 0; k < 3; k++)
            CHECK_STATUS(params.partial
                             ? ncoll_allreduce_partial(s, &in, &out, 1, NCOLL_INT64, NCOLL_SUM,
                                                       NCOLL_SOLO, NULL, NCOLL_BLOCK)
                             : ncoll_allreduce_ssp(s, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, 2, NULL,
                                                   NCOLL_BLOCK),
                         NCOLL_OK);
        for (rc = NCOLL_TIMEOUT; rc == NCOLL_TIMEOUT;)
            rc = ncoll_stale_free(&s, NCOLL_TEST);
        CHECK_STATUS(rc, NCOLL_OK);
    }
    return 0;
}

static void test_many_objects(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 4, NULL, LIMIT_S, many_objects, NULL), 0);
    assert_int_equal(crew_run(CREW_THREADS, 3, NULL, LIMIT_S, many_objects, NULL), 0);
}

/* A group is not freed while an object is being made from it. */
static int free_meanwhile(struct rank *r)
{
    const ncoll_stale_params params = {.size = sizeof params, .max_slack = 4};
    ncoll_group *copy = NULL;
    ncoll_stale *s = NULL;
    int rc;

    CHECK_STATUS(ncoll_group_dup(r->world, &copy, NCOLL_BLOCK), NCOLL_OK);
    while ((rc = ncoll_stale_create(copy, &params, 1, NCOLL_INT64, NCOLL_SUM, &s, NCOLL_TEST)) ==
           NCOLL_TIMEOUT)
        CHECK_STATUS(ncoll_group_free(&copy, NCOLL_TEST), NCOLL_ERR_BUSY);
    CHECK_STATUS(rc, NCOLL_OK);
    CHECK_STATUS(ncoll_stale_free(&s, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_group_free(&copy, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static void test_free_meanwhile(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 3, NULL, LIMIT_S, free_meanwhile, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),      cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_many_requests),  cmocka_unit_test(test_many_objects),
        cmocka_unit_test(test_free_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
