/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that repeat find their plans again; what differs in anything that a plan depends on has one
 * of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/inspect.h"
#include "lib/base/group.h"
#include "lib/plan/plan.h"
#include "test/support/crew.h"

#define RANKS 3

static unsigned n_plans(const struct rank *r)
{
    unsigned n = 0;

    for (unsigned i = 0; i < PLANS; i++)
        n += r->world->known.plans[i] != NULL;
    return n;
}

/* Every block has `count` elements, but that from rank 0 to rank 1, which has `one`. */
static int alltoallv(struct rank *r, size_t count, size_t one)
{
    static int32_t in[RANKS * 8], out[RANKS * 8];
    static const size_t displs[RANKS] = {0, 8, 16};
    size_t sends[RANKS] = {count, count, count}, counts[RANKS] = {count, count, count};

    if (r->rank == 0)
        sends[1] = one;
    if (r->rank == 1)
        counts[0] = one;
    return ncoll_alltoallv(r->world, in, sends, displs, out, counts, displs, NCOLL_INT32,
                           NCOLL_BLOCK);
}

static int repeat_alltoallv(struct rank *r)
{
    CHECK_STATUS(alltoallv(r, 4, 4), NCOLL_OK);
    unsigned before = n_plans(r);
    for (int i = 0; i < 10; i++)
        CHECK_STATUS(alltoallv(r, 4, 4), NCOLL_OK);
    CHECK(n_plans(r) == before);
    /* Rank 2 has the same counts as before; the longest block of all is another one. */
    CHECK_STATUS(alltoallv(r, 4, 7), NCOLL_OK);
    CHECK(n_plans(r) == before + 1);
    CHECK_STATUS(alltoallv(r, 4, 7), NCOLL_OK);
    CHECK_STATUS(alltoallv(r, 4, 4), NCOLL_OK);
    CHECK(n_plans(r) == before + 1);
    return 0;
}

/* One for the agreement, one for the call. */
static int one_alltoallv(struct rank *r)
{
    unsigned before = n_plans(r);

    CHECK_STATUS(alltoallv(r, 4, 4), NCOLL_OK);
    CHECK(n_plans(r) == before + 2);
    return 0;
}

static void test_alltoallv(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 20, one_alltoallv, NULL), 0);
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 20, repeat_alltoallv, NULL), 0);
}

/* ------------------------------------------------------------------ without a detour ---------- */

#define BLOCK 8 /* elements, at most */

struct vectors {
    int32_t in[RANKS * BLOCK], out[RANKS * BLOCK];
    size_t counts[RANKS], displs[RANKS];
};

static int32_t value(int rank, size_t i, unsigned round)
{
    return (int32_t)(round * 1000 + (unsigned)rank * 100 + i);
}

static void fill(const struct rank *r, struct vectors *v, unsigned round)
{
    for (size_t i = 0; i < RANKS * BLOCK; i++) {
        v->in[i] = value(r->rank, i, round);
        v->out[i] = -1;
    }
}

/* Blocks of (first, first + 1, ...) elements with gaps in between: the same arrays, other
 * contents. */
static void lay_out(struct vectors *v, size_t first)
{
    for (size_t q = 0; q < RANKS; q++) {
        v->counts[q] = first + q;
        v->displs[q] = q * BLOCK + first % 2;
    }
}

static int allgatherv(struct rank *r, struct vectors *v, unsigned round)
{
    fill(r, v, round);
    CHECK_STATUS(
        ncoll_allgatherv(r->world, v->in, v->out, v->counts, v->displs, NCOLL_INT32, NCOLL_BLOCK),
        NCOLL_OK);
    for (int q = 0; q < RANKS; q++)
        for (size_t i = 0; i < BLOCK; i++) {
            size_t at = (size_t)q * BLOCK + i, in_block = at - v->displs[q];
            bool covered = at >= v->displs[q] && in_block < v->counts[q];
            CHECK(v->out[at] == (covered ? value(q, in_block, round) : -1));
        }
    return 0;
}

static int bcast(struct rank *r, struct vectors *v, int root, unsigned round)
{
    fill(r, v, round);
    CHECK_STATUS(ncoll_bcast(r->world, v->in, BLOCK, NCOLL_INT32, root, NCOLL_BLOCK), NCOLL_OK);
    for (size_t i = 0; i < BLOCK; i++)
        CHECK(v->in[i] == value(root, i, round));
    return 0;
}

static int allreduce(struct rank *r, struct vectors *v, void *out, unsigned round)
{
    const int32_t *sums = out;

    fill(r, v, round);
    CHECK_STATUS(ncoll_allreduce(r->world, v->in, out, BLOCK, NCOLL_INT32, NCOLL_SUM, NCOLL_BLOCK),
                 NCOLL_OK);
    for (size_t i = 0; i < BLOCK; i++)
        CHECK(sums[i] == value(0, i, round) + value(1, i, round) + value(2, i, round));
    return 0;
}

/* The collective of the latest call of a group if that was a known and plain one; 0: it was not. */
static enum collective made_again(const struct ncoll_group *g, unsigned *misses)
{
    const struct known_calls *known = &g->known;
    bool again = known->misses == *misses && known->latest->plain;

    *misses = known->misses;
    return again ? known->latest->args.collective : 0;
}

static int calls_in_turn(struct rank *r)
{
    struct vectors v;
    ncoll_group *other;
    unsigned misses = 0, other_misses = 0;

    CHECK_STATUS(ncoll_group_dup(r->world, &other, NCOLL_BLOCK), NCOLL_OK);
    lay_out(&v, 2);
    for (unsigned round = 0; round < 20; round++) {
        CHECK(allgatherv(r, &v, round) == 0);
        CHECK((made_again(r->world, &misses) == COLL_ALLGATHER) == (round > 0));
        CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
        CHECK((made_again(r->world, &misses) == COLL_BARRIER) == (round > 0));
        CHECK(bcast(r, &v, 1, round) == 0);
        CHECK((made_again(r->world, &misses) == COLL_BCAST) == (round > 0));
        CHECK(allreduce(r, &v, v.out, round) == 0);
        CHECK((made_again(r->world, &misses) == COLL_ALLREDUCE) == (round > 0));
        CHECK_STATUS(ncoll_barrier(other, NCOLL_BLOCK), NCOLL_OK);
        CHECK((made_again(other, &other_misses) == COLL_BARRIER) == (round > 0));
    }
    CHECK_STATUS(ncoll_group_free(&other, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

/* More than are remembered: most are, all the same. */
static int many_calls_in_turn(struct rank *r)
{
    int32_t in[2 * RECENT_CALLS] = {0}, out[2 * RECENT_CALLS];
    unsigned misses = 0, again = 0, calls = RECENT_CALLS + 2, rounds = 100;

    for (unsigned i = 0; i < rounds * calls; i++) {
        CHECK_STATUS(ncoll_allreduce(r->world, in + i % calls, out + i % calls, 1, NCOLL_INT32,
                                     NCOLL_SUM, NCOLL_BLOCK),
                     NCOLL_OK);
        again += made_again(r->world, &misses) != 0;
    }
    CHECK(again > rounds * calls / 2);
    return 0;
}

/* Another call at the same place is not taken for a recent one. */
static int calls_that_differ(struct rank *r)
{
    struct vectors v;
    unsigned misses = 0;

    for (unsigned round = 0; round < 20; round++) {
        lay_out(&v, round % 5);
        CHECK(allgatherv(r, &v, round) == 0);
        CHECK(made_again(r->world, &misses) == 0);
        CHECK(allgatherv(r, &v, round) == 0);
        CHECK(made_again(r->world, &misses) == COLL_ALLGATHER);
        CHECK(bcast(r, &v, (int)round % RANKS, round) == 0);
        CHECK(allreduce(r, &v, round % 2 == 0 ? v.in : v.out, round) == 0);
    }
    return 0;
}

/* Plans that are forgotten, calls that are left and taken up, and strict ones. */
static int calls_between(struct rank *r)
{
    struct vectors v;
    int rc;

    lay_out(&v, 3);
    for (unsigned round = 0; round < 60; round++) {
        CHECK(allgatherv(r, &v, round) == 0);
        CHECK(bcast(r, &v, 2, round) == 0);
        fill(r, &v, round);
        while ((rc = ncoll_allreduce(r->world, v.in, v.out, BLOCK, NCOLL_INT32, NCOLL_MAX,
                                     NCOLL_TEST)) == NCOLL_TIMEOUT)
            continue;
        CHECK_STATUS(rc, NCOLL_OK);
        CHECK(v.out[BLOCK - 1] == value(RANKS - 1, BLOCK - 1, round));
        if (round % 7 == 3)
            CHECK_STATUS(ncoll__group_force(r->world, COLL_BCAST, NULL, 1 + round % 2), NCOLL_OK);
        if (round % 7 == 5) {
            ncoll_request *request;
            CHECK_STATUS(ncoll_barrier_start(r->world, &request), NCOLL_OK);
            CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_OK);
        }
        CHECK_STATUS(ncoll_group_set_sync(r->world, round % 5 == 4 ? NCOLL_STRICT : NCOLL_LOOSE),
                     NCOLL_OK);
    }
    return 0;
}

static void test_without_detour(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 20, calls_in_turn, NULL), 0);
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 20, many_calls_in_turn, NULL), 0);
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 20, calls_that_differ, NULL), 0);
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 20, calls_between, NULL), 0);
}

/* ------------------------------------------------------------------ bounds -------------------- */

#define KINDS 40

static size_t bytes_of_plans(const struct rank *r)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < PLANS; i++)
        bytes += r->world->known.plans[i] != NULL ? r->world->known.plans[i]->bytes : 0;
    return bytes;
}

static int many_kinds(struct rank *r, unsigned kinds)
{
    struct vectors v;

    for (unsigned i = 0; i < kinds; i++) {
        size_t count = 1 + i % BLOCK;
        ncoll_op op = i / BLOCK % 2 == 0 ? NCOLL_SUM : NCOLL_MAX;
        fill(r, &v, i);
        CHECK_STATUS(ncoll_allreduce(r->world, v.in, v.out, count, NCOLL_INT32, op, NCOLL_BLOCK),
                     NCOLL_OK);
        int32_t last = value(2, count - 1, i);
        int32_t sum = value(0, count - 1, i) + value(1, count - 1, i) + last;
        CHECK(v.out[count - 1] == (op == NCOLL_SUM ? sum : last));
    }
    return 0;
}

/* Plans are forgotten when there are too many bytes of them; those of recent calls are not. */
static int too_many_bytes(struct rank *r)
{
    CHECK(many_kinds(r, KINDS) == 0);
    CHECK(n_plans(r) >= 2 * BLOCK);
    CHECK(r->world->known.plans_bytes == bytes_of_plans(r));
    r->world->known.plans_bytes_most = 1;
    CHECK(many_kinds(r, KINDS) == 0);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK); /* a new plan */
    CHECK(n_plans(r) <= RECENT_PLACES + 1);
    CHECK(r->world->known.plans_bytes == bytes_of_plans(r));
    return 0;
}

/* Of the plans that nobody uses, the one that was looked up first, or last. */
static struct plan *unused_plan(const struct rank *r, bool first)
{
    struct plan *found = NULL;

    for (unsigned i = 0; i < PLANS; i++) {
        struct plan *plan = r->world->known.plans[i];
        if (plan != NULL && plan->users == 0 &&
            (found == NULL || (plan->looked_up < found->looked_up) == first))
            found = plan;
    }
    return found;
}

static bool is_kept(const struct rank *r, const struct plan *plan)
{
    for (unsigned i = 0; i < PLANS; i++)
        if (r->world->known.plans[i] == plan)
            return true;
    return false;
}

/* The plan that nobody has looked up for longest goes first. */
static int oldest_goes(struct rank *r)
{
    struct vectors v = {0};
    ncoll_op ops[] = {NCOLL_MAX, NCOLL_MIN, NCOLL_PROD, NCOLL_BAND, NCOLL_BOR};

    CHECK(many_kinds(r, KINDS) == 0);
    for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        const struct plan *oldest = unused_plan(r, true), *youngest = unused_plan(r, false);
        CHECK(oldest != NULL && youngest != oldest);
        r->world->known.plans_bytes_most = r->world->known.plans_bytes;
        ncoll_request *request;
        CHECK_STATUS(ncoll_scan_start(r->world, v.in, v.out, 1, NCOLL_INT32, ops[i], &request),
                     NCOLL_OK);
        CHECK(!is_kept(r, oldest) && is_kept(r, youngest));
        CHECK(r->world->known.plans_bytes <= r->world->known.plans_bytes_most);
        CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_OK);
    }
    return 0;
}

static void test_bounds(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 20, too_many_bytes, NULL), 0);
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 20, oldest_goes, NULL), 0);
}

/* ------------------------------------------------------------------ arrays -------------------- */

static const struct plan *plan_of(const struct rank *r, enum collective collective)
{
    for (unsigned i = 0; i < PLANS; i++)
        if (r->world->known.plans[i] != NULL &&
            r->world->known.plans[i]->key.collective == collective)
            return r->world->known.plans[i];
    return NULL;
}

/* Counts the arrays that the context keeps; those of one place, which these tests do not have, as one. */
static unsigned n_kept(const struct rank *r)
{
    unsigned n = 0;

    for (unsigned i = 0; i < KEPT_ARRAYS; i++)
        n += r->ctx->arrays[i] != NULL;
    return n;
}

/* Calls on the same counts have the same starts of blocks, which are in memory once. Displacements
 * are the starts themselves. */
static int share_starts(struct rank *r)
{
    struct vectors v;
    const size_t displs[RANKS] = {0, 2, 5};

    lay_out(&v, 2);
    fill(r, &v, 0);
    CHECK_STATUS(ncoll_allgatherv(r->world, v.in, v.out, v.counts, NULL, NCOLL_INT32, NCOLL_BLOCK),
                 NCOLL_OK);
    CHECK_STATUS(
        ncoll_gatherv(r->world, v.in, v.out, v.counts, displs, NCOLL_INT32, 0, NCOLL_BLOCK),
        NCOLL_OK);
    CHECK_STATUS(
        ncoll_reduce_scatter(r->world, v.in, v.out, v.counts, NCOLL_INT32, NCOLL_SUM, NCOLL_BLOCK),
        NCOLL_OK);
    const struct starts *starts = &plan_of(r, COLL_ALLGATHER)->out;
    CHECK(starts->at != NULL && starts->counts == plan_of(r, COLL_ALLGATHER)->key.counts);
    CHECK(plan_of(r, COLL_REDUCE_SCATTER)->in.at == starts->at);
    const struct plan *gather = plan_of(r, COLL_GATHER);
    CHECK(gather->out.at == gather->key.displs && gather->out.counts == NULL);
    ncoll__known_calls_forget(r->world);
    CHECK(n_kept(r) == 0);
    return 0;
}

/* A call that waits for the agreement on its counts keeps them as plans do. */
static int share_before_plan(struct rank *r)
{
    int32_t in[RANKS * 2] = {0}, out[RANKS * 2];
    size_t counts[RANKS] = {2, 2, 2}, displs[RANKS] = {0, 2, 4};
    ncoll_request *request;

    CHECK_STATUS(ncoll_alltoallv_start(r->world, in, counts, displs, out, counts, displs,
                                       NCOLL_INT32, &request),
                 NCOLL_OK);
    CHECK(n_kept(r) == 2);
    memset(counts, 0, sizeof counts); /* they are the caller's again */
    memset(displs, 0, sizeof displs);
    CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_OK);
    CHECK(n_kept(r) == 2);
    ncoll__known_calls_forget(r->world);
    CHECK(n_kept(r) == 0);
    return 0;
}

/* The starts of blocks that lie side by side: all follow from each STARTS_EVERYth and the counts. */
static void test_starts(void **state)
{
    size_t counts[3 * STARTS_EVERY + 1], all[3 * STARTS_EVERY + 1], at[4], start = 0;
    const struct starts some = {at, counts}, given = {all, NULL};

    (void)state;
    for (unsigned q = 0; q < 3 * STARTS_EVERY + 1; q++) {
        all[q] = start;
        if (q % STARTS_EVERY == 0)
            at[q / STARTS_EVERY] = start;
        start += counts[q] = q * q % 7;
    }
    assert_int_equal(starts_in(3 * STARTS_EVERY), 3);
    assert_int_equal(starts_in(3 * STARTS_EVERY + 1), 4);
    for (unsigned q = 0; q < 3 * STARTS_EVERY + 1; q++) {
        assert_int_equal(ncoll__start_of(&some, q), all[q]);
        assert_int_equal(ncoll__start_of(&given, q), all[q]);
    }
}

static void test_arrays(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 20, share_before_plan, NULL), 0);
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 20, share_starts, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_alltoallv),
                                       cmocka_unit_test(test_arrays), cmocka_unit_test(test_starts),
                                       cmocka_unit_test(test_without_detour),
                                       cmocka_unit_test(test_bounds)};

    return cmocka_run_group_tests_name("plans", tests, NULL, NULL);
}
