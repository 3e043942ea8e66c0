/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stale-synchronous and partial allreduces under virtual time, in the cases that random jobs do not
 * have: ranks that stop, leave, are killed or call something else, and contributions that are
 * withheld.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/stale/stale.h"
#include "test/stale/sim_job.h"

#define CALLS_MAX 400
#define SECOND    UINT64_C(1000000000)

/* The mistake of a rank, and when it makes it. */
enum fault {
    LEAVES, /* it destroys its context */
    HAS_OTHER_SLACK,
    HAS_NO_SLACK,
    IS_SLOW,
    NOTHING,
};

struct scene {
    int ranks, calls, slack, faulty, fault_call;
    enum fault fault;
    ncoll_stale_params params;
    uint64_t seed, pause_ns;
    uint64_t slower; /* the faulty rank pauses so many times as long */
    uint64_t nap_ns; /* pause of the last rank before its call 2 and of rank 1 in the middle */
    size_t count;
    int64_t *vectors[64];
    int made[64], status[64];
    uint64_t min[64]; /* of the last result */
    bool told[64];    /* the error names the faulty rank and both calls */
    uint64_t withheld;
    unsigned places; /* of the mailbox that has used the most */
    int unbounded;   /* results with a contribution that was too old */
};

static int64_t value(int rank, int clock)
{
    return (int64_t)clock << 8 | rank;
}

static void free_vectors(struct scene *s)
{
    for (int r = 0; r < s->ranks; r++)
        free(s->vectors[r]);
}

/* ------------------------------------------------------------------ a rank ------------------- */

static int call(struct scene *s, ncoll_context *ctx, ncoll_stale *stale, int rank, int slack,
                int64_t timeout_ns)
{
    ncoll_stale_result result = {.size = sizeof result};
    int clock = s->made[rank] + 1;

    if (s->vectors[rank] == NULL)
        s->vectors[rank] = calloc(s->count, sizeof(int64_t));
    int64_t *vector = s->vectors[rank];
    for (size_t i = 0; i < s->count && s->status[rank] != NCOLL_TIMEOUT; i++)
        vector[i] = value(rank, clock);
    int rc = s->params.partial
                 ? ncoll_allreduce_partial(stale, vector, vector, s->count, NCOLL_INT64, NCOLL_MIN,
                                           slack, &result, timeout_ns)
                 : ncoll_allreduce_ssp(stale, vector, vector, s->count, NCOLL_INT64, NCOLL_MIN,
                                       slack, &result, timeout_ns);
    s->status[rank] = rc;
    if (rc == NCOLL_OK) {
        s->made[rank] = clock;
        s->min[rank] = result.min_clock;
        /* the minimum is that of the oldest contribution */
        for (size_t i = 0; i < s->count && !s->params.partial; i++)
            if (vector[i] >> 8 < clock - slack && vector[i] >> 8 < (int64_t)result.min_clock)
                s->unbounded++;
    } else if (rc == NCOLL_ERR_MISMATCH) {
        const char *text = ncoll_last_error(ctx)->text;
        s->told[rank] = strstr(text, "slack") != NULL;
    }
    s->withheld += stale->n_withheld;
    for (unsigned i = 0; i < stale->n_outs; i++) {
        unsigned used = 0;
        for (unsigned p = 0; p < stale->D; p++)
            used += stale->outs[i].numbers[p] != 0;
        s->places = used > s->places ? used : s->places;
    }
    return rc;
}

static int body(const ncoll_params *params, void *arg)
{
    struct scene *s = arg;
    struct random random = random_stream(s->seed, (uint64_t)params->rank);
    int rank = params->rank, rc;
    bool faulty = rank == s->faulty;
    ncoll_context *ctx = NULL;
    ncoll_stale *stale = NULL;
    ncoll_error error;

    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK)
        return 1;
    rc = ncoll_stale_create(ncoll_world(ctx), &s->params, s->count, NCOLL_INT64, NCOLL_MIN, &stale,
                            NCOLL_BLOCK);
    while (rc == NCOLL_OK && s->made[rank] < s->calls) {
        int slack = s->slack;
        if (faulty && s->made[rank] + 1 == s->fault_call) {
            if (s->fault == LEAVES)
                break;
            slack = s->fault == HAS_OTHER_SLACK ? s->slack + 1
                    : s->fault == HAS_NO_SLACK  ? 0
                                                : slack;
        }
        uint64_t pause_ns = s->pause_ns * (faulty ? s->slower : 1);
        if ((rank == s->ranks - 1 && s->made[rank] == 1) ||
            (rank == 1 && s->made[rank] == s->calls / 2))
            sim_sleep(1 + s->nap_ns);
        sim_sleep(1 + (s->fault == IS_SLOW && !faulty ? 0 : random_below(&random, pause_ns)));
        rc = call(s, ctx, stale, rank, slack, NCOLL_BLOCK);
    }
    if (rc == NCOLL_OK && s->fault != LEAVES)
        rc = ncoll_stale_free(&stale, NCOLL_BLOCK);
    s->status[rank] = rc;
    ncoll_context_destroy(ctx);
    return rc == NCOLL_OK || s->fault != NOTHING ? 0 : 1;
}

static struct scene scene_of(int ranks, int slack, enum fault fault, int fault_call)
{
    return (struct scene){.ranks = ranks,
                          .calls = 60,
                          .slack = slack,
                          .faulty = ranks - 1,
                          .fault_call = fault_call,
                          .fault = fault,
                          .params = {.size = sizeof(ncoll_stale_params),
                                     .max_slack = slack + 1,
                                     .algorithm = NCOLL_STALE_HYPERCUBE},
                          .seed = test_seed(),
                          .pause_ns = 10000,
                          .slower = 1,
                          .count = 1};
}

static struct sim_report run(struct scene *s, unsigned kills, uint64_t kill_ns)
{
    struct sim_config config = {.ranks = s->ranks,
                                .seed = s->seed,
                                .kills = kills,
                                .kill_ns = kill_ns,
                                .limit_ns = 100 * SECOND};
    struct sim_report report;
    bool well = sim_run(&config, NULL, body, s, &report);
    free_vectors(s);

    if (!well && kills == 0)
        fprintf(stderr, "%d ranks, slack %d, fault %d, seed %" PRIu64 ": FAILED\n", s->ranks,
                s->slack, (int)s->fault, s->seed);
    assert_true(!report.hangs && report.violations == 0 && (well || kills > 0));
    assert_int_equal(s->unbounded, 0);
    return report;
}

/* ------------------------------------------------------------------ ranks that stop ---------- */

/* The calls that the others had made when the faulty one had stopped for a second, and the oldest
 * clock in the last of them. */
static int stopped_at[64];
static uint64_t stopped_min[64];

static int stopping(const ncoll_params *params, void *arg)
{
    struct scene *s = arg;
    int rank = params->rank, rc = NCOLL_OK;
    ncoll_context *ctx = NULL;
    ncoll_stale *stale = NULL;
    ncoll_error error;

    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK ||
        ncoll_stale_create(ncoll_world(ctx), &s->params, s->count, NCOLL_INT64, NCOLL_MIN, &stale,
                           NCOLL_BLOCK) != NCOLL_OK)
        return 1;
    while (rc == NCOLL_OK && s->made[rank] < s->calls) {
        if (rank == s->faulty && s->made[rank] + 1 == s->fault_call)
            sim_sleep(3 * SECOND);
        else if (s->made[rank] + 1 < s->fault_call) /* in step, until one of them stops */
            rc = ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK);
        rc = rc == NCOLL_OK ? call(s, ctx, stale, rank, s->slack, SECOND) : rc;
        if (rc == NCOLL_TIMEOUT) {
            stopped_at[rank] = s->made[rank];
            stopped_min[rank] = s->min[rank];
            while (rc == NCOLL_TIMEOUT)
                rc = call(s, ctx, stale, rank, s->slack, SECOND);
        }
    }
    rc = rc == NCOLL_OK ? ncoll_stale_free(&stale, NCOLL_BLOCK) : rc;
    if (rc != NCOLL_OK)
        fprintf(stderr, "rank %d, %d calls: %s\n", rank, s->made[rank],
                ncoll_last_error(ctx)->text);
    ncoll_context_destroy(ctx);
    return rc == NCOLL_OK ? 0 : 1;
}

/* A rank is held up when its slack is spent, and not before: the oldest contribution in its last
 * result was as old as the slack allows. With two ranks on a hypercube that is the stopped rank's own,
 * so the other one makes exactly `slack` calls more. Otherwise it may be one that the stopped rank has
 * passed on, which was older already, but not older than its slack allowed. */
static void stop(int ranks, int slack, ncoll_stale_algorithm algorithm)
{
    struct scene s = scene_of(ranks, slack, NOTHING, 12);
    struct sim_config config = {.ranks = ranks, .seed = s.seed};
    struct sim_report report;

    s.params.algorithm = algorithm;
    memset(stopped_at, 0, sizeof stopped_at);
    assert_true(sim_run(&config, NULL, stopping, &s, &report));
    free_vectors(&s);
    for (int r = 0; r < ranks - 1; r++) {
        if (stopped_min[r] + (uint64_t)slack != (uint64_t)stopped_at[r])
            fprintf(stderr,
                    "rank %d of %d, algorithm %d, slack %d: held up after call %d with a clock of "
                    "%" PRIu64 " (seed %" PRIu64 ")\n",
                    r, ranks, (int)algorithm, slack, stopped_at[r], stopped_min[r], s.seed);
        assert_int_equal(s.made[r], s.calls);
        assert_int_equal(stopped_min[r] + (uint64_t)slack, stopped_at[r]);
        assert_true(stopped_at[r] >= 11 && stopped_at[r] <= 11 + slack);
        if (ranks == 2 && algorithm == NCOLL_STALE_HYPERCUBE)
            assert_int_equal(stopped_at[r], 11 + slack);
    }
}

static void test_stops(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 9; ranks++)
        for (int slack = 1; slack <= 20; slack += slack < 4 ? 1 : 8)
            stop(ranks, slack, (ncoll_stale_algorithm)(1 + (ranks + slack - 1) % 3));
    stop(2, 5, NCOLL_STALE_HYPERCUBE);
    stop(33, 3, NCOLL_STALE_HYPERCUBE);
    stop(21, 8, NCOLL_STALE_SLICES);
}

/* ------------------------------------------------------------------ ranks that are gone ------ */

/* The others use what the rank has left, and then get an error. Nobody gets a result that is too
 * old, or hangs. */
static void test_gone(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 7; ranks++)
        for (int slack = 1; slack <= 7; slack += 3) {
            struct scene s = scene_of(ranks, slack, LEAVES, 9);
            run(&s, 0, 0);
            for (int r = 0; r < ranks - 1; r++) {
                assert_int_equal(s.status[r], NCOLL_ERR_PEER);
                assert_true(s.made[r] <= 8 + slack);
                if (ranks == 2)
                    assert_int_equal(s.made[r], 8 + slack);
            }
        }
}

static void test_killed(void **state)
{
    unsigned killed = 0, ends = 0;

    (void)state;
    for (unsigned i = 0; i < 60; i++) {
        struct scene s = scene_of(2 + (int)(i % 7), 1 + (int)(i % 5), NOTHING, 0);
        s.calls = CALLS_MAX;
        s.faulty = -1;
        s.seed += i;
        s.params.algorithm = (ncoll_stale_algorithm)(1 + i % 3);
        s.params.partial = i % 4 == 3;
        s.slack = s.params.partial ? s.ranks : s.slack;
        killed += (unsigned)run(&s, 1, 400000 + i * 20000).killed;
        for (int r = 0; r < s.ranks; r++) {
            ends += s.status[r] == NCOLL_ERR_PEER;
            assert_true(s.status[r] == NCOLL_ERR_PEER || s.made[r] == s.calls || s.made[r] == 0);
        }
    }
    assert_true(killed > 30 && ends > 30);
}

/* ------------------------------------------------------------------ other slack -------------- */

static void mismatch(int ranks, enum fault fault, ncoll_stale_algorithm algorithm, int slack,
                     uint64_t slower)
{
    struct scene s = scene_of(ranks, slack, fault, 10);

    s.slower = slower;
    s.params.algorithm = algorithm;
    s.calls = CALLS_MAX + slack;
    run(&s, 0, 0);
    for (int r = 0; r < ranks; r++) {
        if (s.status[r] != NCOLL_ERR_MISMATCH || !s.told[r])
            fprintf(stderr, "rank %d of %d: status %d after %d calls, told %d (seed %" PRIu64 ")\n",
                    r, ranks, s.status[r], s.made[r], s.told[r], s.seed);
        assert_int_equal(s.status[r], NCOLL_ERR_MISMATCH);
        assert_true(s.told[r]);
    }
}

static void test_other_slack(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 9; ranks++)
        for (int a = NCOLL_STALE_HYPERCUBE; a <= NCOLL_STALE_RING; a++) {
            mismatch(ranks, HAS_OTHER_SLACK, (ncoll_stale_algorithm)a, 1 + ranks % 4, 1);
            mismatch(ranks, HAS_NO_SLACK, (ncoll_stale_algorithm)a, 1 + ranks % 4, 1);
        }
    /* others are ahead by far more calls than a group remembers, and the late rank has dropped their
     * messages of that call unread */
    for (uint64_t slower = 1; slower <= 100; slower *= 10) {
        mismatch(4, HAS_NO_SLACK, NCOLL_STALE_HYPERCUBE, 100, slower);
        mismatch(4, HAS_OTHER_SLACK, NCOLL_STALE_HYPERCUBE, 100, slower);
    }
    mismatch(4, HAS_NO_SLACK, NCOLL_STALE_HYPERCUBE, 3000, 10000);
}

/* Objects of different parameters. */
static int other_params(const ncoll_params *params, void *arg)
{
    int *mismatches = arg, rc;
    ncoll_context *ctx = NULL;
    ncoll_stale_params own = {.size = sizeof own, .max_slack = params->rank == 1 ? 5 : 4};
    ncoll_stale *stale = NULL;
    ncoll_error error;

    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK)
        return 1;
    rc = ncoll_stale_create(ncoll_world(ctx), &own, 1, NCOLL_INT64, NCOLL_SUM, &stale, NCOLL_BLOCK);
    *mismatches += rc == NCOLL_ERR_MISMATCH;
    ncoll_context_destroy(ctx);
    return 0;
}

static void test_other_params(void **state)
{
    struct sim_config config = {.ranks = 5, .seed = test_seed()};
    struct sim_report report;
    int mismatches = 0;

    (void)state;
    assert_true(sim_run(&config, NULL, other_params, &mismatches, &report));
    assert_int_equal(mismatches, 5);
}

/* ------------------------------------------------------------------ withheld ----------------- */

/* Vectors so long that mailboxes have only a few places, and ranks that run ahead: contributions are
 * withheld, and everything else holds as ever. */
static void test_withheld(void **state)
{
    struct scene s = scene_of(2, 8, IS_SLOW, 0);

    (void)state;
    s.count = (size_t)2 << 20;
    s.calls = 16;
    s.pause_ns = 20000000;
    s.params.max_slack = 8;
    run(&s, 0, 0);
    assert_true(s.withheld > 0);
}

/* Mailboxes with fewer places than the slack takes, several from the same sender: a rank that waits gets
 * what was withheld for it, in whatever mailbox its sender has sent more. */
static void test_few_places(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 4; ranks++)
        for (int a = NCOLL_STALE_HYPERCUBE; a <= NCOLL_STALE_RING; a++)
            for (int slack = 1200; slack <= 3600; slack *= 3) {
                struct scene s = scene_of(ranks, slack, NOTHING, 0);
                s.params.algorithm = (ncoll_stale_algorithm)a;
                s.params.clocks = 1;
                s.calls = 2 * slack + 10;
                s.count = 2 * (size_t)ranks;
                s.pause_ns = 10;
                s.nap_ns = 10000000;
                run(&s, 0, 0);
            }
}

/* Both ranks make a call. Then rank 0 makes three more, whose messages rank 1 finds when it begins to wait
 * for one of its mailboxes: it takes ahead from all others of that sender. */
static int taking_ahead(const ncoll_params *params, void *arg)
{
    struct scene *s = arg;
    int rank = params->rank, rc;
    ncoll_context *ctx = NULL;
    ncoll_stale *stale = NULL;
    ncoll_error error;

    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK)
        return 1;
    rc = ncoll_stale_create(ncoll_world(ctx), &s->params, s->count, NCOLL_INT64, NCOLL_MIN, &stale,
                            NCOLL_BLOCK);
    for (int i = 0; rc == NCOLL_OK && i < s->calls; i++) {
        if (rank == 1 && i == 1) {
            sim_sleep(SECOND);
            ncoll_progress(ctx);
            struct inbox *awaited = &stale->ins[0], *other = &stale->ins[1];
            assert_true(stale->withholds && stale->n_ins > 1 && awaited->from == other->from);
            assert_true(ncoll__mail_has(stale, awaited) && ncoll__mail_has(stale, other));
            assert_int_equal(ncoll__mail_take_ahead(stale, awaited), NCOLL_OK);
            assert_true(
                ncoll__mail_has(stale, awaited)); /* which the call would not look at again */
            assert_false(ncoll__mail_has(stale, other));
        }
        rc = call(s, ctx, stale, rank, s->slack, NCOLL_BLOCK);
    }
    if (rc == NCOLL_OK)
        rc = ncoll_stale_free(&stale, NCOLL_BLOCK);
    ncoll_context_destroy(ctx);
    return rc == NCOLL_OK ? 0 : 1;
}

static void test_take_ahead(void **state)
{
    struct scene s = scene_of(2, 1200, NOTHING, 0);
    struct sim_config config = {.ranks = 2, .seed = s.seed};
    struct sim_report report;

    (void)state;
    s.params.algorithm = NCOLL_STALE_RING;
    s.params.clocks = 1;
    s.calls = 4;
    s.count = 4;
    assert_true(sim_run(&config, NULL, taking_ahead, &s, &report));
    free_vectors(&s);
}

/* Long vectors have many places for ranks that run ahead. Ranks in lockstep use a few of them again and
 * again, which stay in the cache; short vectors take them in turn. */
static void test_places(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 5; ranks++)
        for (size_t count = 1 << 10; count <= 1 << 18; count <<= 8) {
            struct scene s = scene_of(ranks, 1, NOTHING, 0);
            s.count = count;
            s.params.max_slack = 8;
            s.params.algorithm = NCOLL_STALE_SLICES;
            s.pause_ns = 10;
            run(&s, 0, 0);
            assert_in_range(s.places, count < 1 << 18 ? 16 : 2, count < 1 << 18 ? 32 : 12);
        }
}

/* ------------------------------------------------------------------ stamps ------------------- */

static void check_stamp(struct stamp s)
{
    struct stamp t = stamp_unpack(stamp_pack(&s), s.number, s.clock);

    assert_true(t.number == s.number && t.clock == s.clock && t.min == s.min);
    assert_true(t.slack == s.slack && t.hash == s.hash && t.next == s.next && t.sole == s.sole);
}

/* A stamp is unpacked as it was packed, also at the limits of its fields. */
static void test_stamps(void **state)
{
    const uint64_t ages[] = {0, 1, 65536, OLDEST_TOLD, (uint64_t)-1, (uint64_t)-65536};

    (void)state;
    for (unsigned i = 0; i < sizeof ages / sizeof ages[0]; i++)
        for (unsigned k = 0; k < 2; k++)
            check_stamp((struct stamp){.number = UINT64_C(1) << 33,
                                       .clock = UINT64_C(1) << 34,
                                       .min = (UINT64_C(1) << 34) - ages[i],
                                       .slack = k ? 65535 : 0,
                                       .hash = k ? 65535 : 0,
                                       .next = k ? PLACES_MAX - 1 : 0,
                                       .sole = k});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stops),        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_killed),       cmocka_unit_test(test_other_slack),
        cmocka_unit_test(test_other_params), cmocka_unit_test(test_withheld),
        cmocka_unit_test(test_few_places),   cmocka_unit_test(test_take_ahead),
        cmocka_unit_test(test_places),       cmocka_unit_test(test_stamps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
