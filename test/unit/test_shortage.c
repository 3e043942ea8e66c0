/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank's allocator gives nothing, once, at every place in turn. Either the call can be made
 * again, as if nothing had happened, or the job has failed, and all ranks are told; nobody waits
 * for ever, or gets wrong data.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ncoll_eventual.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define RANKS 3
#define POOR  1 /* the rank without memory */
#define LIMIT 30
#define TRIES 3

/* The task of the allocator; forked along. */
static struct {
    unsigned count, fail_at; /* 0: never */
} heap;
static struct {
    unsigned fail_at;
    int (*calls)(struct rank *);
} plan;

/* Shared: the poor rank has come to the end without having asked for more. */
struct result {
    bool all_given;
};

static void *allocate(void *arg, size_t bytes)
{
    (void)arg;
    return heap.fail_at != 0 && ++heap.count == heap.fail_at ? NULL : malloc(bytes);
}

static void release(void *arg, void *memory)
{
    (void)arg;
    free(memory);
}

/* Calls again what had no memory. */
#define AGAIN(rc, call)                                                                            \
    do {                                                                                           \
        for (int try_ = 0; try_ < TRIES; try_++)                                                   \
            if (((rc) = (call)) != NCOLL_ERR_MEMORY)                                               \
                break;                                                                             \
    } while (0)

/* The end of a rank whose call gave an error: the one without memory, or one that was told. */
static int gave_up(struct rank *r, int rc)
{
    const ncoll_error *e = ncoll_last_error(r->ctx);

    if (r->rank == POOR) {
        CHECK_STATUS(rc, NCOLL_ERR_MEMORY);
        CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_ERR_MEMORY);
        return 0;
    }
    CHECK_STATUS(rc, NCOLL_ERR_PEER);
    CHECK(e->peer == POOR);
    return 0;
}

struct vectors {
    int64_t in[RANKS], out[RANKS];
    double number, sum;
    size_t ones[RANKS];
};

static int exchange(ncoll_group *g, struct vectors *v)
{
    int rc, rank = ncoll_group_rank(g), size = ncoll_group_size(g);

    for (int q = 0; q < size; q++)
        v->in[q] = 10 * rank + q;
    AGAIN(rc,
          ncoll_alltoallv(g, v->in, v->ones, NULL, v->in, v->ones, NULL, NCOLL_INT64, NCOLL_BLOCK));
    for (int q = 0; q < size && rc == NCOLL_OK; q++)
        rc = v->in[q] == 10 * q + rank ? NCOLL_OK : NCOLL_ERR_INTERNAL;
    return rc;
}

static int add(ncoll_group *g, struct vectors *v)
{
    ncoll_request *request;
    int rc;

    v->number = 1;
    AGAIN(rc, ncoll_allreduce_init(g, &v->number, &v->sum, 1, NCOLL_DOUBLE, NCOLL_SUM_REPRODUCIBLE,
                                   &request));
    for (int i = 0; i < 2 && rc == NCOLL_OK; i++) {
        v->sum = 0;
        AGAIN(rc, ncoll_start(request));
        if (rc == NCOLL_OK)
            rc = ncoll_wait(&request, NCOLL_BLOCK);
        if (rc == NCOLL_OK && v->sum != ncoll_group_size(g))
            rc = NCOLL_ERR_INTERNAL;
    }
    return rc == NCOLL_OK ? ncoll_request_free(&request) : rc;
}

static int several(ncoll_group *g, struct vectors *v)
{
    ncoll_request *requests[2] = {NULL};
    int rc, rank = ncoll_group_rank(g), size = ncoll_group_size(g);

    v->in[0] = rank;
    AGAIN(rc, ncoll_allgather_start(g, v->in, v->out, 1, NCOLL_INT64, &requests[0]));
    if (rc == NCOLL_OK)
        AGAIN(rc, ncoll_barrier_start(g, &requests[1]));
    for (int i = 0; i < 2 && rc == NCOLL_OK; i++)
        rc = ncoll_wait(&requests[i], NCOLL_BLOCK);
    for (int q = 0; q < size && rc == NCOLL_OK; q++)
        rc = v->out[q] == q ? NCOLL_OK : NCOLL_ERR_INTERNAL;
    return rc;
}

static int calls(ncoll_group *g)
{
    struct vectors v = {.ones = {1, 1, 1}};
    int rc = exchange(g, &v);

    if (rc == NCOLL_OK)
        rc = add(g, &v);
    return rc == NCOLL_OK ? several(g, &v) : rc;
}

static int call_all(struct rank *r)
{
    ncoll_group *g = NULL;
    int rc;

    AGAIN(rc, ncoll_group_dup(r->world, &g, NCOLL_BLOCK));
    if (rc == NCOLL_OK)
        rc = calls(g);
    if (rc == NCOLL_OK)
        rc = ncoll_group_set_sync(g, NCOLL_STRICT);
    if (rc == NCOLL_OK)
        rc = calls(g);
    if (rc == NCOLL_OK)
        AGAIN(rc, ncoll_group_free(&g, NCOLL_BLOCK));
    return rc;
}

/* ------------------------------------------------------------------ calls with slack --------- */

/* A call that could not begin has not been counted: the clocks of all ranks stay the same. */
static int call_stale(ncoll_stale *stale)
{
    static const int slacks[] = {0, 1, 0, 0, 2, 1};
    ncoll_stale_result result = {.size = sizeof result};
    int64_t in = 1, out;
    int rc = NCOLL_OK;

    for (unsigned k = 0; k < sizeof slacks / sizeof slacks[0] && rc == NCOLL_OK; k++) {
        AGAIN(rc, ncoll_allreduce_ssp(stale, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, slacks[k],
                                      &result, NCOLL_BLOCK));
        if (rc == NCOLL_OK && (out != RANKS || result.clock != k + 1))
            rc = NCOLL_ERR_INTERNAL;
    }
    return rc;
}

static int request_stale(ncoll_stale *stale)
{
    ncoll_stale_result result = {.size = sizeof result};
    ncoll_request *request;
    int64_t in = 1, out;
    int rc = NCOLL_OK;

    for (unsigned k = 0; k < 2 && rc == NCOLL_OK; k++) {
        AGAIN(rc, ncoll_allreduce_ssp_start(stale, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, (int)k,
                                            &result, &request));
        if (rc == NCOLL_OK)
            rc = ncoll_wait(&request, NCOLL_BLOCK);
        if (rc == NCOLL_OK && (out != RANKS || result.clock != 7 + k))
            rc = NCOLL_ERR_INTERNAL;
    }
    return rc;
}

static int make_stale(struct rank *r)
{
    ncoll_stale_params params = {.size = sizeof params, .max_slack = 2, .clocks = true};
    ncoll_stale *stale = NULL;
    int rc;

    AGAIN(rc,
          ncoll_stale_create(r->world, &params, 1, NCOLL_INT64, NCOLL_SUM, &stale, NCOLL_BLOCK));
    if (rc == NCOLL_OK)
        rc = call_stale(stale);
    if (rc == NCOLL_OK)
        rc = request_stale(stale);
    if (rc == NCOLL_OK)
        AGAIN(rc, ncoll_stale_free(&stale, NCOLL_BLOCK));
    return rc;
}

/* ------------------------------------------------------------------ running short ------------ */

static int run_short(struct rank *r)
{
    struct result *result = r->shared;

    heap.count = 0;
    heap.fail_at = r->rank == POOR ? plan.fail_at : 0;
    int rc = plan.calls(r);
    if (rc != NCOLL_OK)
        return gave_up(r, rc);
    if (r->rank == POOR)
        result->all_given = heap.count < plan.fail_at;
    return 0;
}

static void run_out_everywhere(int (*all_calls)(struct rank *), bool trial)
{
    struct result *result = crew_share(sizeof *result);
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.allocate = allocate;
    params.release = release;
    params.tune = trial ? NCOLL_TUNE_TRIAL : NCOLL_TUNE_TABLE;
    params.log_level = 0;
    plan.calls = all_calls;
    for (plan.fail_at = 1; !result->all_given; plan.fail_at++)
        if (crew_run(CREW_PROCESSES, RANKS, &params, LIMIT, run_short, result) != 0)
            fail_msg("allocation %u, trial %d", plan.fail_at, trial);
    crew_unshare(result, sizeof *result);
}

static void test_each_allocation(void **state)
{
    (void)state;
    run_out_everywhere(call_all, false);
}

static void test_each_allocation_of_a_trial(void **state)
{
    (void)state;
    run_out_everywhere(call_all, true);
}

static void test_each_allocation_of_a_stale_object(void **state)
{
    (void)state;
    run_out_everywhere(make_stale, false);
}

/* ------------------------------------------------------------------ joining ------------------ */

/* A rank that gets no context is missed by the others: in theirs, or in the first call of one that
 * has been told of it too late. They say that it has failed, not that it has left them. */
static int join_short(const ncoll_params *given, void *arg)
{
    struct result *result = arg;
    ncoll_params params = *given;
    ncoll_context *ctx = NULL;
    ncoll_error error;

    hang_after(LIMIT);
    heap.count = 0;
    heap.fail_at = given->rank == POOR ? plan.fail_at : 0;
    int rc = ncoll_context_create(&params, &ctx, &error);
    heap.fail_at = 0;
    if (given->rank == POOR && rc != NCOLL_OK)
        return rc != NCOLL_ERR_MEMORY || error.status != rc;
    if (rc == NCOLL_OK) {
        rc = ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK);
        error = *ncoll_last_error(ctx);
        ncoll_context_destroy(ctx);
    }
    if (given->rank == POOR) {
        result->all_given = true;
        return rc != NCOLL_OK;
    }
    if (rc == NCOLL_OK ||
        (rc == NCOLL_ERR_PEER && error.peer == POOR && strstr(error.text, "same calls") == NULL))
        return 0;
    fprintf(stderr, "%s\n", error.text);
    return 1;
}

static void test_each_allocation_of_a_context(void **state)
{
    struct result *result = crew_share(sizeof *result);
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.allocate = allocate;
    params.release = release;
    for (plan.fail_at = 1; !result->all_given; plan.fail_at++)
        if (ncoll_fork_ranks(RANKS, &params, join_short, result, NULL) != NCOLL_OK)
            fail_msg("allocation %u", plan.fail_at);
    crew_unshare(result, sizeof *result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_allocation),
        cmocka_unit_test(test_each_allocation_of_a_trial),
        cmocka_unit_test(test_each_allocation_of_a_stale_object),
        cmocka_unit_test(test_each_allocation_of_a_context),
    };

    return cmocka_run_group_tests_name("shortage", tests, NULL, NULL);
}
