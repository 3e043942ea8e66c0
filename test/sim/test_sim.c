/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real contexts under virtual time: every algorithm gives the right result, whatever the order in
 * which messages of different connections arrive, and a seed gives the same events again.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algos/schedule.h"
#include "lib/base/group.h"
#include "lib/base/names.h"
#include "lib/base/settings.h"
#include "ncoll.h"
#include "test/support/hang.h"
#include "test/support/seed.h"
#include "transport/sim/sim.h"

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d of %d: %s\n", __FILE__, __LINE__, params->rank,        \
                    params->ranks, #condition);                                                    \
            goto out;                                                                              \
        }                                                                                          \
    } while (0)

#define CHECK_OK(call)                                                                             \
    do {                                                                                           \
        int status_ = (call);                                                                      \
        if (status_ == NCOLL_ERR_UNSUPPORTED) {                                                    \
            calls->not_there++;                                                                    \
        } else if (status_ != NCOLL_OK) {                                                          \
            fprintf(stderr, "%s:%d: rank %d of %d: %s gave %d (%s)\n", __FILE__, __LINE__,         \
                    params->rank, params->ranks, #call, status_, ncoll_last_error(ctx)->text);     \
            goto out;                                                                              \
        }                                                                                          \
    } while (0)

#define ELEMENTS_MAX 5000u

/* The calls of a job. */
struct calls {
    unsigned times;
    size_t elements;    /* of a vector */
    size_t block;       /* of an alltoall */
    ncoll_op op;        /* of an allreduce: sum, or maximum */
    unsigned not_there; /* calls for which the algorithm that was asked for does not exist */
    uint64_t entered;   /* ranks that have entered the barrier that is going on, */
    bool wrong;         /* and whether one was left too early */
};

static int64_t value(int rank, size_t i)
{
    return (int64_t)i * 7 + (int64_t)rank * 1000003;
}

static int64_t combined(ncoll_op op, int ranks, size_t i)
{
    if (op == NCOLL_MAX)
        return value(ranks - 1, i);
    return (int64_t)i * 7 * ranks + (int64_t)ranks * (ranks - 1) / 2 * 1000003;
}

static bool combines(ncoll_group *world, const ncoll_params *params, ncoll_op op, size_t n,
                     int64_t *in, int64_t *out, int *status)
{
    for (size_t i = 0; i < n; i++)
        in[i] = value(params->rank, i);
    memset(out, 0xff, n * sizeof *out);
    *status = ncoll_allreduce(world, in, out, n, NCOLL_INT64, op, NCOLL_BLOCK);
    for (size_t i = 0; *status == NCOLL_OK && i < n; i++)
        if (out[i] != combined(op, params->ranks, i))
            return false;
    return true;
}

static bool broadcasts(ncoll_group *world, const ncoll_params *params, int root, size_t n,
                       int64_t *vector, int *status)
{
    for (size_t i = 0; i < n; i++)
        vector[i] = params->rank == root ? value(root, i) : -1;
    *status = ncoll_bcast(world, vector, n, NCOLL_INT64, root, NCOLL_BLOCK);
    for (size_t i = 0; *status == NCOLL_OK && i < n; i++)
        if (vector[i] != value(root, i))
            return false;
    return true;
}

static bool exchanges(ncoll_group *world, const ncoll_params *params, size_t n, int64_t *in,
                      int64_t *out, int *status)
{
    size_t ranks = (size_t)params->ranks;

    for (size_t i = 0; i < ranks * n; i++)
        in[i] = value(params->rank, i);
    memset(out, 0xff, ranks * n * sizeof *out);
    *status = ncoll_alltoall(world, in, out, n, NCOLL_INT64, NCOLL_BLOCK);
    for (size_t i = 0; *status == NCOLL_OK && i < ranks * n; i++)
        if (out[i] != value((int)(i / n), (size_t)params->rank * n + i % n))
            return false;
    return true;
}

/* Nobody leaves a barrier that somebody has not entered. The calls of one rank are far enough apart
 * for the counts not to mix: a rank enters the next barrier after another collective. */
static int rank_calls(const ncoll_params *params, void *arg)
{
    struct calls *calls = arg;
    size_t room = calls->block * (size_t)params->ranks;
    int64_t *in = calloc(room > calls->elements ? room : calls->elements, sizeof *in);
    int64_t *out = calloc(room > calls->elements ? room : calls->elements, sizeof *out);
    ncoll_context *ctx = NULL;
    ncoll_error error;
    int code = 1, status = NCOLL_OK;

    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        goto out;
    }
    ncoll_group *world = ncoll_world(ctx);
    for (unsigned time = 1; time <= calls->times; time++) {
        calls->entered++;
        status = ncoll_barrier(world, NCOLL_BLOCK);
        CHECK(status != NCOLL_OK || calls->entered >= (uint64_t)time * (uint64_t)params->ranks);
        CHECK_OK(status);
        CHECK(combines(world, params, calls->op, calls->elements, in, out, &status));
        CHECK_OK(status);
        CHECK(broadcasts(world, params, (int)time % params->ranks, calls->elements, out, &status));
        CHECK_OK(status);
        CHECK(exchanges(world, params, calls->block, in, out, &status));
        CHECK_OK(status);
    }
    code = 0;
out:
    ncoll_context_destroy(ctx);
    free(in);
    free(out);
    return code;
}

static struct sim_config rough(int ranks, uint64_t seed)
{
    struct random random = random_stream(seed, (uint64_t)ranks);

    return (struct sim_config){
        .ranks = ranks,
        .node_ranks = 1 + (int)random_below(&random, 4),
        .seed = seed,
        .jitter_ns = random_below(&random, 3) * 5000,
        .slow_one_in = random_below(&random, 2) > 0 ? 8 : 0,
        .slow_ns = 20000,
        .pause_one_in = random_below(&random, 2) > 0 ? 500 : 0,
        .pause_ns = 100000,
        .refuse_one_in = random_below(&random, 2) > 0 ? 20 : 0,
        .depth = random_below(&random, 2) > 0 ? 2 : 0,
    };
}

static bool run(const struct sim_config *config, const ncoll_params *base, struct calls *calls,
                struct sim_report *report)
{
    bool well = sim_run(config, base, rank_calls, calls, report);

    if (!well)
        fprintf(stderr, "%d ranks, seed %" PRIu64 ": FAILED\n", config->ranks, config->seed);
    return well;
}

/* ------------------------------------------------------------------ tests --------------------- */

static void test_choices(void **state)
{
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 64};

    (void)state;
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct sim_config config = rough(sizes[i], test_seed() + i);
        struct calls few = {.times = 4, .elements = 1, .block = 1, .op = NCOLL_SUM};
        struct calls many = {.times = 2, .elements = 5000, .block = 100, .op = NCOLL_SUM};
        assert_true(run(&config, NULL, &few, NULL) && run(&config, NULL, &many, NULL));
        assert_true(few.not_there == 0 && many.not_there == 0);
    }
}

/* Returns the number of calls that were made by the algorithm. */
static unsigned with_algorithm(const struct algorithm *algorithm, enum collective collective,
                               int ranks, int node_ranks, uint64_t seed)
{
    struct sim_config config = rough(ranks, seed);
    unsigned made = 0;
    ncoll_params base;

    config.node_ranks = node_ranks;
    ncoll_params_init(&base, sizeof base);
    *ncoll__algorithm_setting(&base, collective) = algorithm->name;
    for (size_t elements = 1; elements <= 3000; elements += 2999) {
        struct calls calls = {.times = 2, .elements = elements, .block = elements == 1 ? 1 : 60};
        calls.op = algorithm->properties & NEEDS_IDEMPOTENT ? NCOLL_MAX : NCOLL_SUM;
        if (!run(&config, &base, &calls, NULL))
            fail_msg("%s of %zu elements by %s", ncoll__collective_name(collective), elements,
                     algorithm->name);
        assert_true(calls.not_there % (unsigned)ranks == 0); /* ranks agree on that */
        made += calls.times - calls.not_there / (unsigned)ranks;
    }
    return made;
}

static void test_algorithms(void **state)
{
    static const int sizes[] = {2, 3, 6, 8, 15};
    static const enum collective collectives[] = {COLL_BARRIER, COLL_ALLREDUCE, COLL_BCAST,
                                                  COLL_ALLTOALL};
    uint64_t seed = test_seed();

    (void)state;
    for (unsigned a = 0; ncoll__algorithms[a] != NULL; a++)
        for (unsigned c = 0; c < 4; c++) {
            unsigned made = 0;
            if (!(ncoll__algorithms[a]->collectives & 1u << collectives[c]) ||
                ncoll__algorithms[a]->properties & TAKES_PLACES) /* the programs have those */
                continue;
            for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
                for (int node_ranks = 1; node_ranks <= 3; node_ranks++)
                    made += with_algorithm(ncoll__algorithms[a], collectives[c], sizes[i],
                                           node_ranks, seed++);
            if (made == 0)
                fail_msg("never: %s by %s", ncoll__collective_name(collectives[c]),
                         ncoll__algorithms[a]->name);
        }
}

/* The same seed gives the same events, another seed others. */
static void test_replay(void **state)
{
    struct sim_report first, again, other;

    (void)state;
    for (uint64_t i = 0; i < 10; i++) {
        struct sim_config config = rough(2 + (int)i * 2, test_seed() + i);
        struct calls calls[3];
        config.jitter_ns = 5000;
        for (unsigned t = 0; t < 3; t++)
            calls[t] = (struct calls){.times = 3, .elements = 700, .block = 40, .op = NCOLL_SUM};
        void *moved = malloc(100000 + i * 5000); /* other addresses for what follows */
        assert_true(run(&config, NULL, &calls[0], &first));
        free(moved);
        assert_true(run(&config, NULL, &calls[1], &again));
        assert_true(first.hash == again.hash && first.events == again.events &&
                    first.end_ns == again.end_ns);
        config.seed++;
        assert_true(run(&config, NULL, &calls[2], &other));
        assert_true(first.hash != other.hash);
    }
}

/* ------------------------------------------------------------------ what must be found ------- */

/* Rank 0 believes that all others have finished, and sends to them without end. */
static int rank_runs_ahead(const ncoll_params *params, void *arg)
{
    ncoll_context *ctx;
    int64_t word = 1;

    (void)arg;
    if (ncoll_context_create(params, &ctx, NULL) != NCOLL_OK)
        return 1;
    ncoll_group *world = ncoll_world(ctx);
    for (int r = 0; params->rank == 0 && r < params->ranks; r++)
        if (ncoll__credits_reach(world, (unsigned)r))
            ncoll__credit_of(&world->credits, (unsigned)r)->heard = UINT64_MAX / 2;
    for (unsigned time = 0; time < 50; time++) {
        if (params->rank != 0 && time == 1) /* in the first call they have let rank 0 put */
            sim_sleep(10000000);
        if (ncoll_bcast(world, &word, 1, NCOLL_INT64, 0, NCOLL_BLOCK) != NCOLL_OK)
            break;
    }
    ncoll_context_destroy(ctx);
    return 0;
}

static void test_violation(void **state)
{
    struct sim_config config = {.ranks = 4, .seed = test_seed(), .limit_ns = 10000000000};
    struct sim_report report;

    (void)state;
    assert_false(sim_run(&config, NULL, rank_runs_ahead, NULL, &report));
    assert_true(report.violations > 0);
}

/* The last rank does something else for longer than the job may take. */
static int rank_is_missed(const ncoll_params *params, void *arg)
{
    ncoll_context *ctx;

    (void)arg;
    if (ncoll_context_create(params, &ctx, NULL) != NCOLL_OK)
        return 1;
    if (params->rank == params->ranks - 1)
        sim_sleep(3000000000);
    int rc = ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK);
    ncoll_context_destroy(ctx);
    return rc != NCOLL_OK;
}

static void test_hang(void **state)
{
    struct sim_config config = {.ranks = 5, .seed = test_seed(), .limit_ns = 2000000000};
    struct sim_report report;

    (void)state;
    assert_false(sim_run(&config, NULL, rank_is_missed, NULL, &report));
    assert_true(report.hangs);
    config.limit_ns = 4000000000;
    assert_true(sim_run(&config, NULL, rank_is_missed, NULL, &report));
    assert_false(report.hangs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices), cmocka_unit_test(test_algorithms),
        cmocka_unit_test(test_replay),  cmocka_unit_test(test_violation),
        cmocka_unit_test(test_hang),
    };

    hang_after(120);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
