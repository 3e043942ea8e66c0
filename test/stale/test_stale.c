/* SPDX-License-Identifier: BSD-3-Clause */
/* Stale-synchronous and partial allreduces on forked ranks, in shared memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* Requests that are started together, with slack and without, are carried out one after the other. */
static int mixed_requests(struct rank *r)
{
    static const int slacks[] = {0, 2, 0, 1, 2, 0, 0, 1};
    enum { REQUESTS = sizeof slacks / sizeof slacks[0] };
    const ncoll_stale_params params = {.size = sizeof params, .max_slack = 2};
    ncoll_request *requests[REQUESTS];
    int64_t in = 1, outs[REQUESTS];
    ncoll_stale *s = NULL;

    CHECK_STATUS(ncoll_stale_create(r->world, &params, 1, NCOLL_INT64, NCOLL_SUM, &s, NCOLL_BLOCK),
                 NCOLL_OK);
    for (int k = 0; k < 20; k++) {
        for (int i = 0; i < REQUESTS; i++)
            CHECK_STATUS(ncoll_allreduce_ssp_start(s, &in, &outs[i], 1, NCOLL_INT64, NCOLL_SUM,
                                                   slacks[(i + k) % REQUESTS], NULL, &requests[i]),
                         NCOLL_OK);
        for (int i = 0; i < REQUESTS; i++)
            CHECK_STATUS(ncoll_wait(&requests[i], NCOLL_BLOCK), NCOLL_OK);
        for (int i = 0; i < REQUESTS; i++)
            CHECK(outs[i] == r->ranks);
    }
    CHECK_STATUS(ncoll_stale_free(&s, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static void test_mixed_requests(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 4; ranks++)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, LIMIT_S, mixed_requests, NULL), 0);
}

/* A call with slack 0 runs beside an earlier one with slack. Its clocks are its own, whatever ends first. */
static int clocks_of_two(struct rank *r)
{
    const ncoll_stale_params params = {
        .size = sizeof params, .max_slack = 3, .algorithm = NCOLL_STALE_RING, .clocks = 1};
    double in[8] = {1}, out[2][8];
    ncoll_stale *s = NULL;

    CHECK_STATUS(ncoll_stale_create(r->world, &params, 8, NCOLL_DOUBLE, NCOLL_SUM, &s, NCOLL_BLOCK),
                 NCOLL_OK);
    for (int i = 0; i < 200; i++) {
        ncoll_stale_result results[2] = {{.size = sizeof *results}, {.size = sizeof *results}};
        ncoll_request *requests[2];
        for (int k = 0; k < 2; k++)
            CHECK_STATUS(ncoll_allreduce_ssp_start(s, in, out[k], 8, NCOLL_DOUBLE, NCOLL_SUM,
                                                   k == 0 ? 3 : 0, &results[k], &requests[k]),
                         NCOLL_OK);
        for (int k = 0; k < 2; k++)
            CHECK_STATUS(ncoll_wait(&requests[k], NCOLL_BLOCK), NCOLL_OK);
        CHECK(results[1].clock == (uint64_t)(2 * i + 2) &&
              results[1].min_clock == results[1].clock);
        for (int q = 0; q < r->ranks; q++)
            CHECK(results[1].clocks[q] == results[1].clock);
    }
    CHECK_STATUS(ncoll_stale_free(&s, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static void test_clocks_of_two(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 4; ranks++)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, LIMIT_S, clocks_of_two, NULL), 0);
}

/* Ranks in lockstep, by other means than the library. What came long before a call is in its result, though
 * the call need not wait for it. */
struct lockstep {
    ncoll_stale_algorithm algorithm; /* AUTO: a partial allreduce */
    atomic_int made;                 /* calls of all ranks */
};

static int lockstep(struct rank *r)
{
    struct lockstep *l = r->shared;
    bool partial = l->algorithm == NCOLL_STALE_AUTO;
    const ncoll_stale_params params = {
        .size = sizeof params, .max_slack = 20, .algorithm = l->algorithm, .partial = partial};
    int64_t in[8] = {0}, out[8];
    /* a contribution is passed on at most 2 P - 3 times, in a call each */
    uint64_t most = partial ? 1 : 2 * (uint64_t)r->ranks - 2;
    ncoll_stale *s = NULL;

    CHECK_STATUS(ncoll_stale_create(r->world, &params, 8, NCOLL_INT64, NCOLL_SUM, &s, NCOLL_BLOCK),
                 NCOLL_OK);
    for (int c = 1; c <= 40; c++) {
        ncoll_stale_result result = {.size = sizeof result};
        CHECK_STATUS(partial ? ncoll_allreduce_partial(s, in, out, 8, NCOLL_INT64, NCOLL_SUM,
                                                       NCOLL_SOLO, &result, NCOLL_BLOCK)
                             : ncoll_allreduce_ssp(s, in, out, 8, NCOLL_INT64, NCOLL_SUM, 20,
                                                   &result, NCOLL_BLOCK),
                     NCOLL_OK);
        CHECK(result.clock - result.min_clock <= most);
        atomic_fetch_add(&l->made, 1);
        while (atomic_load(&l->made) < c * r->ranks)
            usleep(100);
    }
    CHECK_STATUS(ncoll_stale_free(&s, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static void test_fresh(void **state)
{
    struct lockstep *l =
        mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(l != MAP_FAILED);
    for (int ranks = 2; ranks <= 4; ranks++)
        for (int a = NCOLL_STALE_AUTO; a <= NCOLL_STALE_RING; a++) {
            l->algorithm = (ncoll_stale_algorithm)a;
            l->made = 0;
            assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, LIMIT_S, lockstep, l), 0);
        }
    munmap(l, sizeof *l);
}

/* A partial allreduce needs as many ranks as its quorum, whoever they are. The last rank leaves. */
static int quorum_without_one(struct rank *r)
{
    const ncoll_stale_params params = {.size = sizeof params, .partial = 1};
    int quorum = *(const int *)r->shared, rc = NCOLL_OK;
    double in = 1, out;
    ncoll_stale *s = NULL;

    CHECK_STATUS(ncoll_stale_create(r->world, &params, 1, NCOLL_DOUBLE, NCOLL_SUM, &s, NCOLL_BLOCK),
                 NCOLL_OK);
    CHECK_STATUS(ncoll_allreduce_partial(s, &in, &out, 1, NCOLL_DOUBLE, NCOLL_SUM, r->ranks, NULL,
                                         NCOLL_BLOCK),
                 NCOLL_OK);
    for (int i = 0; i < 20 && r->rank < r->ranks - 1 && rc == NCOLL_OK; i++) {
        usleep(r->rank > 0 ? 2000 : 0);
        rc = ncoll_allreduce_partial(s, &in, &out, 1, NCOLL_DOUBLE, NCOLL_SUM, quorum, NULL,
                                     NCOLL_BLOCK);
    }
    if (r->rank < r->ranks - 1)
        CHECK(rc == (quorum < r->ranks ? NCOLL_OK : NCOLL_ERR_PEER));
    return 0;
}

static void test_quorum(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.log_level = NCOLL_LOG_NONE;
    for (int ranks = 3; ranks <= 4; ranks++)
        for (int quorum = 1; quorum <= ranks; quorum++)
            assert_int_equal(
                crew_run(CREW_PROCESSES, ranks, &params, LIMIT_S, quorum_without_one, &quorum), 0);
}

/* A rank whose memory ends where an object is made tells the others, and the group goes on. */
static size_t most_bytes;

static long allocations_left; /* the last of so many fails; 0: none */

static void *take(void *arg, size_t bytes)
{
    if (allocations_left > 0 && --allocations_left == 0)
        return NULL;
    (void)arg;
    return bytes > most_bytes ? NULL : malloc(bytes);
}

static void give(void *arg, void *memory)
{
    (void)arg;
    free(memory);
}

static int no_memory(struct rank *r)
{
    ncoll_stale_params params = {.size = sizeof params, .max_slack = 60000};
    ncoll_stale *s = NULL;
    int64_t in = 1, out = 0;

    /* it does not have room for so many calls */
    most_bytes = r->rank == 1 ? 1 << 20 : SIZE_MAX;
    CHECK_STATUS(ncoll_stale_create(r->world, &params, 1, NCOLL_INT64, NCOLL_SUM, &s, NCOLL_BLOCK),
                 NCOLL_ERR_MEMORY);
    CHECK(ncoll_last_error(r->ctx)->peer == 1 || r->rank == 1);
    CHECK_STATUS(ncoll_allreduce(r->world, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
                 NCOLL_OK);
    CHECK(out == r->ranks);
    params.max_slack = 4;
    CHECK_STATUS(ncoll_stale_create(r->world, &params, 1, NCOLL_INT64, NCOLL_SUM, &s, NCOLL_BLOCK),
                 NCOLL_OK);
    CHECK_STATUS(ncoll_stale_free(&s, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static void test_no_memory(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.allocate = take;
    params.release = give;
    most_bytes = SIZE_MAX;
    for (int ranks = 2; ranks <= 3; ranks++)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, &params, LIMIT_S, no_memory, NULL), 0);
}

/* Two objects in another order on one rank: the ranks wait for each other in a circle. */
static int circle(struct rank *r)
{
    ncoll_stale_params params = {.size = sizeof params, .max_slack = 2};
    ncoll_stale *objects[2] = {NULL, NULL};
    int64_t in = 1, out;

    params.algorithm = *(const ncoll_stale_algorithm *)r->shared;
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(ncoll_stale_create(r->world, &params, 1, NCOLL_INT64, NCOLL_SUM, &objects[i],
                                        NCOLL_BLOCK),
                     NCOLL_OK);
    CHECK_STATUS(ncoll_allreduce_ssp(objects[r->rank == r->ranks - 1], &in, &out, 1, NCOLL_INT64,
                                     NCOLL_SUM, 2, NULL, NCOLL_BLOCK),
                 NCOLL_ERR_MISMATCH);
    return 0;
}

static void test_circle(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.log_level = NCOLL_LOG_NONE;
    for (int ranks = 2; ranks <= 8; ranks += ranks < 4 ? 1 : 4)
        for (int a = NCOLL_STALE_HYPERCUBE; a <= NCOLL_STALE_RING; a++) {
            ncoll_stale_algorithm algorithm = (ncoll_stale_algorithm)a;
            assert_int_equal(crew_run(CREW_PROCESSES, ranks, &params, LIMIT_S, circle, &algorithm),
                             0);
        }
}

/* The last rank is in a call on another group. */
static int plain_circle(struct rank *r)
{
    ncoll_group *copy = NULL;

    CHECK_STATUS(ncoll_group_dup(r->world, &copy, NCOLL_BLOCK), NCOLL_OK);
    for (int i = 0; i < 5; i++)
        CHECK_STATUS(ncoll_barrier(copy, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->rank == r->ranks - 1 ? r->world : copy, NCOLL_BLOCK),
                 NCOLL_ERR_MISMATCH);
    return 0;
}

static void test_plain_circle(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.log_level = NCOLL_LOG_NONE;
    for (int i = 0; i < 3; i++)
        assert_int_equal(crew_run(CREW_PROCESSES, 8, &params, LIMIT_S, plain_circle, NULL), 0);
}

/* A free that fails for lack of memory has told nobody that mailboxes may be overwritten: the object goes on.
 * Vectors are so long that mailboxes have fewer places than the slack takes. */
#define TOO_LONG ((size_t)1 << 20)

static int free_without_memory(struct rank *r)
{
    const ncoll_stale_params params = {
        .size = sizeof params, .max_slack = 100, .algorithm = NCOLL_STALE_SLICES};
    double *in = malloc(TOO_LONG * sizeof *in), *out = malloc(TOO_LONG * sizeof *out);
    ncoll_stale *s = NULL;

    CHECK(in != NULL && out != NULL);
    CHECK_STATUS(
        ncoll_stale_create(r->world, &params, TOO_LONG, NCOLL_DOUBLE, NCOLL_SUM, &s, NCOLL_BLOCK),
        NCOLL_OK);
    for (int fail = 1; fail <= 3; fail++) {
        if (r->rank == 1) {
            allocations_left = fail;
            CHECK_STATUS(ncoll_stale_free(&s, NCOLL_TEST), NCOLL_ERR_MEMORY);
            allocations_left = 0;
        }
        for (int c = 0; c < 12; c++) {
            if (r->rank == 1)
                usleep(5000);
            for (size_t i = 0; i < TOO_LONG; i++)
                in[i] = c;
            CHECK_STATUS(ncoll_allreduce_ssp(s, in, out, TOO_LONG, NCOLL_DOUBLE, NCOLL_SUM, 100,
                                             NULL, NCOLL_BLOCK),
                         NCOLL_OK);
            for (size_t i = 1; i < TOO_LONG; i++)
                CHECK(out[i] == out[i < TOO_LONG / 2 ? 0 : TOO_LONG / 2]);
        }
    }
    CHECK_STATUS(ncoll_stale_free(&s, NCOLL_BLOCK), NCOLL_OK);
    free(in);
    free(out);
    return 0;
}

static void test_free_without_memory(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.allocate = take;
    params.release = give;
    params.log_level = NCOLL_LOG_NONE;
    most_bytes = SIZE_MAX;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, LIMIT_S, free_without_memory, NULL), 0);
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
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_many_requests),
        cmocka_unit_test(test_mixed_requests),
        cmocka_unit_test(test_clocks_of_two),
        cmocka_unit_test(test_fresh),
        cmocka_unit_test(test_quorum),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_free_without_memory),
        cmocka_unit_test(test_circle),
        cmocka_unit_test(test_plain_circle),
        cmocka_unit_test(test_many_objects),
        cmocka_unit_test(test_free_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
