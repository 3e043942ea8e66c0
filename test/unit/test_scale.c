/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans of large jobs. For each collective and size what is chosen by default exists for that
 * number of ranks, fits the window and can be planned; where no algorithm does, the call is refused
 * by an error that states the limit. The library's own calls exist for all numbers of ranks, in one
 * piece and by the algorithm that they name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/group.h"
#include "lib/base/names.h"
#include "lib/base/signature.h"
#include "lib/choose/planned.h"
#include "lib/choose/select.h"
#include "lib/compute/op.h"
#include "lib/group/creation.h"
#include "lib/group/relay.h"
#include "lib/group/wiring.h"
#include "lib/inspect.h"
#include "lib/plan/arguments.h"
#include "lib/plan/compile.h"
#include "test/support/planner.h"

#define BYTES_MAX ((size_t)1 << 20)
#define ELEMENT   sizeof(int64_t)

static const unsigned jobs[] = {1024, 4097, 5462, 16384, 100003};
#define JOBS (sizeof jobs / sizeof jobs[0])

static const enum planner_fabric fabrics[] = {PLANNER_SHM, PLANNER_VERBS, PLANNER_BOTH};
#define FABRICS (sizeof fabrics / sizeof fabrics[0])

/* Never called. */
static void combine(void *out, const void *left, const void *right, size_t count, ncoll_type type,
                    void *arg)
{
    (void)out, (void)left, (void)right, (void)count, (void)type, (void)arg;
}
static struct defined_op ordered = {.def = {.combine = combine}}; /* does not commute */

static struct planner *job_of(unsigned ranks, enum planner_fabric fabric)
{
    struct planner_job job = {.rank = ranks / 3,
                              .ranks = ranks,
                              .fabric = fabric,
                              .per_node = fabric == PLANNER_SHM ? 0 : 64};
    struct planner *p = planner_new(&job);

    assert_non_null(p);
    planner_world(p)->ctx->ops.defs = &ordered;
    planner_world(p)->ctx->ops.count = 1;
    return p;
}

static void job_done(struct planner *p)
{
    planner_world(p)->ctx->ops.defs = NULL;
    planner_free(p);
}

/* A choice is one that can be made: each segment fits the window, and all together are the call. */
static unsigned is_wrong(ncoll_group *g, enum collective c, size_t count,
                         const struct choice *choice)
{
    struct call_args args = {.collective = c, .count = count};
    struct shape shape = ncoll__shape(g, &args, choice->radix, false);

    if (!algorithm_exists(choice->algorithm, &shape) || choice->segment == 0 ||
        choice->segments < (count + choice->segment - 1) / choice->segment)
        return 1;
    shape.count = count < choice->segment ? count : choice->segment;
    struct footprint f = choice->algorithm->footprint(&shape);
    return f.slots > g->window->shape.n_slots ||
           f.scratch * ELEMENT > g->window->shape.scratch_bytes ||
           (f.message * ELEMENT > SLOT_PAYLOAD &&
            f.slots * f.message * ELEMENT > g->window->shape.bulk_bytes);
}

static unsigned choose_all_sizes(struct planner *p, enum collective c, ncoll_op op)
{
    ncoll_group *g = planner_world(p);
    unsigned failed = 0;

    for (size_t bytes = ELEMENT; bytes <= BYTES_MAX; bytes *= 2) {
        size_t count = c == COLL_BARRIER ? 0 : bytes / ELEMENT;
        struct choice choice;
        int rc = ncoll__choose(g, c, count, NCOLL_INT64, op, &choice);
        if (rc == NCOLL_OK && !is_wrong(g, c, count, &choice))
            continue;
        fprintf(stderr, "%d ranks, %s of %zu bytes, operation %u: %s\n", g->size,
                ncoll__collective_name(c), bytes, op,
                rc == NCOLL_OK ? choice.algorithm->name : planner_error(p));
        failed++;
    }
    return failed;
}

/* Reductions exist for all sizes and numbers of ranks, whether the operation commutes or not. */
static void test_choices(void **state)
{
    unsigned failed = 0;

    (void)state;
    for (unsigned j = 0; j < JOBS; j++)
        for (unsigned f = 0; f < FABRICS; f++) {
            struct planner *p = job_of(jobs[j], fabrics[f]);
            for (int c = COLL_BARRIER; c < COLLECTIVES; c++) {
                failed += choose_all_sizes(p, (enum collective)c, NCOLL_SUM);
                if (reduces((enum collective)c))
                    failed += choose_all_sizes(p, (enum collective)c, OP_USER);
            }
            job_done(p);
        }
    assert_int_equal(failed, 0);
}

/* ------------------------------------------------------------------ counts -------------------- */

static void test_counts(void **state)
{
    static const enum collective with_counts[] = {COLL_GATHER, COLL_SCATTER, COLL_ALLGATHER,
                                                  COLL_REDUCE_SCATTER, COLL_ALLTOALL};
    unsigned failed = 0;

    (void)state;
    for (unsigned j = 0; j < JOBS; j++) {
        struct planner *p = job_of(jobs[j], PLANNER_VERBS);
        ncoll_group *g = planner_world(p);
        size_t *counts = calloc(jobs[j], sizeof *counts);
        assert_non_null(counts);
        for (unsigned q = 0; q < jobs[j]; q++)
            counts[q] = q % 7;
        for (unsigned i = 0; i < sizeof with_counts / sizeof with_counts[0]; i++) {
            bool alltoall = with_counts[i] == COLL_ALLTOALL;
            struct call_args args = {.collective = with_counts[i],
                                     .counts = counts,
                                     .sends = alltoall ? counts : NULL,
                                     .type = NCOLL_INT64,
                                     .op = NCOLL_SUM};
            struct op op = {.commutative = true, .exact = true};
            struct choice choice;
            int rc = ncoll__select(g, &args, &op, alltoall ? 6 : 0, &choice);
            if (rc == NCOLL_OK && choice.segment > 0)
                continue;
            fprintf(stderr, "%u ranks, %s with counts: %s\n", jobs[j],
                    ncoll__collective_name(with_counts[i]), planner_error(p));
            failed++;
        }
        free(counts);
        job_done(p);
    }
    assert_int_equal(failed, 0);
}

/* ------------------------------------------------------------------ the library's own --------- */

static void plan_own(struct planner *p, const struct call_args *args, const char *algorithm)
{
    ncoll_group *g = planner_world(p);
    struct plan *plan = NULL;

    int rc = ncoll__plan(g, args, 0, &plan);
    if (rc != NCOLL_OK)
        fail_msg("%d ranks: %s", g->size, planner_error(p));
    assert_string_equal(plan->algorithm->name, algorithm);
    assert_int_equal(plan->segments, 1);
    assert_true(ncoll__peers_wired(g, plan));
    ncoll__plan_leave(g, plan);
}

static void test_own_calls(void **state)
{
    int64_t word;

    (void)state;
    for (unsigned j = 0; j < JOBS; j++) {
        struct planner *p = job_of(jobs[j], PLANNER_VERBS);
        struct signature purpose = {1, 1};
        struct call_args offers = ncoll__base_call(COLL_ALLTOALL, &word, &word, 1, purpose);
        struct call_args records =
            ncoll__base_call(COLL_ALLGATHER, &word, &word, RECORD_NUMBERS, purpose);
        struct call_args least = ncoll__base_call(COLL_ALLREDUCE, &word, &word, 2, purpose);
        struct call_args barrier = {.collective = COLL_BARRIER, .radix = 1, .internal = true};
        plan_own(p, &offers, "bruck");
        records.type = NCOLL_INT32; /* as in lib/group/creation.c */
        plan_own(p, &records, "bruck");
        plan_own(p, &least, "dissemination");
        plan_own(p, &barrier, "dissemination");
        job_done(p);
    }
}

/* The parts of a window begin where their types may. */
static void test_windows(void **state)
{
    (void)state;
    for (unsigned ranks = 1; ranks <= 300; ranks++)
        for (unsigned n_slots = 64; n_slots <= 2 * ranks + 128; n_slots += 2) {
            const struct window_shape s = {.ranks = ranks, .n_slots = n_slots, .bulk_bytes = 64};
            assert_int_equal(window_slots_at(&s) % _Alignof(struct slot), 0);
            assert_int_equal(window_got_at(&s) % sizeof(uint64_t), 0);
            assert_int_equal(window_credits_at(&s) % sizeof(uint64_t), 0);
            assert_true(window_credits_at(&s) + ranks * sizeof(uint64_t) <= window_bulk_at(&s));
            assert_int_equal(window_bulk_at(&s) % WINDOW_PAGE, WINDOW_BULK_SHIFT);
            assert_int_equal(window_scratch_at(&s) % WINDOW_PAGE, WINDOW_SCRATCH_SHIFT);
        }
}

/* The places for advertisements do not grow with the number of ranks beyond some hundred, and each
 * rank has one. */
static void test_advertisements(void **state)
{
    const struct advertisement advertisement = {.epoch = 1, .epochs = 1};

    (void)state;
    /* if receivers share a place, a sender tells their advertisements apart */
    assert_true(advertisement_check(&advertisement, 1) != advertisement_check(&advertisement, 2));
    for (unsigned ranks = 1; ranks <= 1u << 20; ranks = ranks * 3 / 2 + 1) {
        const struct window_shape s = {.ranks = ranks, .n_slots = 64, .bulk_bytes = 64};
        size_t boxes = window_slots_at(&s) / sizeof(struct advertisement_box);
        assert_true(boxes <= ADVERTISEMENTS * ADVERTISERS_MAX);
        for (unsigned rank = 0; rank < ranks; rank++) {
            assert_true(advertisement_index(&s, rank, ADVERTISEMENTS - 1) < boxes);
            assert_true(ranks > ADVERTISERS_MAX ||
                        advertisement_index(&s, rank, 1) == (size_t)rank * ADVERTISEMENTS + 1);
        }
    }
}

/* A relay of offers has three instructions a round, and as many letters as there are peers, on any
 * number of ranks. */
static void test_relay(void **state)
{
    (void)state;
    for (unsigned j = 0; j < JOBS; j++) {
        struct planner *p = job_of(jobs[j], PLANNER_VERBS);
        ncoll_group *g = planner_world(p);
        unsigned distances[] = {1, 3, (unsigned)g->size - 3, (unsigned)g->size - 1}, rounds = 0;
        unsigned most = ncoll__relay_most((unsigned)g->size, distances, 4);
        struct relay *r = ncoll__relay_new(g, 4, most);
        struct call_args args;
        struct plan *plan;
        assert_non_null(r);
        assert_int_equal(ncoll__relay_call(r, most, (struct signature){1, 1}, &args), NCOLL_OK);
        assert_true(args.count <= RELAY_WORDS(4));
        assert_int_equal(ncoll__plan(g, &args, 0, &plan), NCOLL_OK);
        while (g->size > 1 << rounds)
            rounds++;
        assert_true(plan->n_programs == 1 && plan->segments == 1);
        assert_int_equal(plan->programs[0].count, 3 * rounds);
        assert_true(ncoll__peers_wired(g, plan));
        ncoll__plan_leave(g, plan);
        ncoll__relay_free(g->ctx, r);
        job_done(p);
    }
}

/* ------------------------------------------------------------------ plans --------------------- */

/* The chosen algorithm can be planned: peers, programs and all. */
static void test_plans(void **state)
{
    static const size_t sizes[] = {8, 2048, 65536};
    unsigned failed = 0;

    (void)state;
    for (unsigned j = 0; j < JOBS; j++) {
        struct planner *p = job_of(jobs[j], PLANNER_VERBS);
        ncoll_group *g = planner_world(p);
        for (int c = COLL_BARRIER; c < COLLECTIVES; c++)
            for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                struct call_args args = {.collective = (enum collective)c,
                                         .count = c == COLL_BARRIER ? 0 : sizes[i] / ELEMENT,
                                         .type = NCOLL_INT64,
                                         .op = NCOLL_SUM,
                                         .once = true};
                struct plan *plan = NULL;
                int rc = ncoll__plan(g, &args, 0, &plan);
                if (rc == NCOLL_OK) {
                    ncoll__plan_leave(g, plan);
                    continue;
                }
                fprintf(stderr, "%u ranks, %s of %zu bytes: %s\n", jobs[j],
                        ncoll__collective_name((enum collective)c), sizes[i], planner_error(p));
                failed++;
            }
        job_done(p);
    }
    assert_int_equal(failed, 0);
}

/* ------------------------------------------------------------------ what is chosen ------------ */

/* Numbers of the algorithms that are chosen for some size, as bits. peers: the budget; 0: none. */
static uint64_t chosen(const struct planner_job *job, int peers)
{
    static const ncoll_op ops[] = {NCOLL_SUM, NCOLL_MIN, OP_USER};
    struct planner *p = planner_new(job);
    uint64_t bits = 0;

    assert_non_null(p);
    planner_world(p)->ctx->ops.defs = &ordered;
    planner_world(p)->ctx->ops.count = 1;
    planner_world(p)->ctx->settings.peers = peers;
    for (int c = COLL_BARRIER; c < COLLECTIVES; c++)
        for (unsigned o = 0; o < sizeof ops / sizeof ops[0]; o++)
            for (size_t bytes = ELEMENT; bytes <= 4 * BYTES_MAX; bytes *= 2) {
                struct choice choice;
                if (ncoll__choose(planner_world(p), (enum collective)c, bytes / ELEMENT,
                                  NCOLL_INT64, ops[o], &choice) == NCOLL_OK)
                    bits |= UINT64_C(1) << ncoll__algorithm_number(choice.algorithm);
            }
    struct call_args part = {
        .collective = COLL_BCAST, .count = 1, .type = NCOLL_INT64, .places = 2};
    struct choice choice;
    if (ncoll__select(planner_world(p), &part, &(struct op){0}, 0, &choice) == NCOLL_OK)
        bits |= UINT64_C(1) << ncoll__algorithm_number(choice.algorithm);
    job_done(p);
    return bits;
}

/* Every algorithm that says when it suits a call is chosen somewhere, and no other is. */
static void test_who_is_chosen(void **state)
{
    uint64_t bits = 0;

    (void)state;
    for (unsigned fabric = PLANNER_SHM; fabric <= PLANNER_BOTH; fabric++)
        for (unsigned ranks = 2; ranks <= 32; ranks *= 2)
            for (unsigned per_node = 0; per_node <= 4; per_node += 2)
                for (unsigned ranks_per_core = 1; ranks_per_core <= 4; ranks_per_core *= 2) {
                    struct planner_job job = {.ranks = ranks,
                                              .fabric = (enum planner_fabric)fabric,
                                              .per_node = fabric == PLANNER_SHM ? 0 : per_node,
                                              .ranks_per_core = ranks_per_core};
                    bits |= chosen(&job, 0);
                }
    struct planner_job large = {.ranks = 1024, .fabric = PLANNER_VERBS};
    bits |= chosen(&large, 0) | chosen(&large, 40);
    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++) {
        const struct algorithm *a = ncoll__algorithms[i];
        if ((a->fit != NULL) != ((bits >> ncoll__algorithm_number(a) & 1) != 0))
            fail_msg("%s: %s", a->name, a->fit != NULL ? "is never chosen" : "is chosen");
    }
}

/* The base peers are the ranks at the distances 2^k to both sides, each of them once: a peer that
 * was listed twice would take room in the device's queues twice. */
static void test_base_peers(void **state)
{
    (void)state;
    for (unsigned size = 1; size <= 1030; size++) {
        bool listed[1030] = {false};
        unsigned peers[BASE_PEERS], n = ncoll__base_peers(0, size, peers);
        for (unsigned i = 0; i < n; i++) {
            if (peers[i] == 0 || peers[i] >= size || listed[peers[i]])
                fail_msg("%u ranks: rank 0 lists rank %u", size, peers[i]);
            listed[peers[i]] = true;
        }
        for (unsigned d = 1; d < size; d *= 2)
            if (!listed[d] || !listed[size - d])
                fail_msg("%u ranks: rank 0 does not list distance %u", size, d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choices),    cmocka_unit_test(test_counts),
        cmocka_unit_test(test_own_calls),  cmocka_unit_test(test_relay),
        cmocka_unit_test(test_windows),    cmocka_unit_test(test_advertisements),
        cmocka_unit_test(test_plans),      cmocka_unit_test(test_who_is_chosen),
        cmocka_unit_test(test_base_peers),
    };

    return cmocka_run_group_tests_name("scale", tests, NULL, NULL);
}
