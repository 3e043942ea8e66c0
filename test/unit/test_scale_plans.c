/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans of what is chosen by default in large jobs, made by the real planner over a transport that
 * moves no data: each exists, and takes no more peers than the budget (NCOLL_PEERS), whoever sets
 * it. `test_scale_plans P..` prints a table for these numbers of ranks: peers, instructions,
 * segments, bytes of the plan, most bytes while it is made, and milliseconds.
 */
#include <limits.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/group.h"
#include "lib/base/names.h"
#include "lib/choose/planned.h"
#include "lib/choose/select.h"
#include "lib/inspect.h"
#include "test/support/cpu_time.h"
#include "test/support/planner.h"

#define ELEMENT sizeof(int64_t)
#define BUDGET  512u

/* ------------------------------------------------------------------ plans --------------------- */

static size_t bytes_now, bytes_most;

static void *allocate(void *arg, size_t bytes)
{
    void *memory = malloc(bytes);

    (void)arg;
    bytes_now += memory != NULL ? malloc_usable_size(memory) : 0;
    bytes_most = bytes_now > bytes_most ? bytes_now : bytes_most;
    return memory;
}

static void release(void *arg, void *memory)
{
    (void)arg;
    bytes_now -= memory != NULL ? malloc_usable_size(memory) : 0;
    free(memory);
}

/* A call: of one count, with counts, or of an operation that does not commute. */
enum way { PLAIN, COUNTS, ORDERED, WAYS };

static const char *const way_names[] = {"", " with counts", " in rank order"};

static bool has_way(enum collective c, enum way way)
{
    bool blocks = c == COLL_GATHER || c == COLL_SCATTER || c == COLL_ALLGATHER ||
                  c == COLL_ALLTOALL || c == COLL_REDUCE_SCATTER;

    return way == PLAIN || (way == COUNTS ? blocks : reduces(c));
}

static void combine(void *out, const void *left, const void *right, size_t count, ncoll_type type,
                    void *arg)
{
    (void)out, (void)left, (void)right, (void)count, (void)type, (void)arg;
}

static const struct op ordered = {.combine = combine, .exact = true};

/* The arrays of a call with counts: blocks of n elements, of half as many, and empty ones. */
static struct {
    size_t *counts, *displs;
} arrays;

static void arrays_new(unsigned ranks)
{
    arrays.counts = malloc(ranks * sizeof *arrays.counts);
    arrays.displs = malloc(ranks * sizeof *arrays.displs);
    if (arrays.counts == NULL || arrays.displs == NULL)
        abort();
}

static void arrays_free(void)
{
    free(arrays.counts);
    free(arrays.displs);
}

static void arrays_set(unsigned ranks, size_t n)
{
    size_t at = 0;

    for (unsigned q = 0; q < ranks; q++) {
        arrays.counts[q] = q % 4 == 3 ? 0 : q % 2 == 1 ? (n + 1) / 2 : n;
        arrays.displs[q] = at;
        at += arrays.counts[q];
    }
}

/* Returns the bytes of the arrays that the caller of such a call hands in. */
static size_t array_bytes(unsigned ranks, enum collective c, enum way way)
{
    return way != COUNTS ? 0 : (c == COLL_ALLTOALL ? 4 : 2) * ranks * sizeof(size_t);
}

static bool in_turn; /* the placement of ranks on nodes; in blocks otherwise */

static struct planner *job_of(unsigned ranks, unsigned per_node)
{
    struct planner_job job = {.rank = ranks / 3,
                              .ranks = ranks,
                              .fabric = per_node > 1 ? PLANNER_BOTH : PLANNER_VERBS,
                              .per_node = per_node,
                              .in_turn = in_turn};
    struct planner *p = planner_new(&job);

    assert_non_null(p);
    return p;
}

/* Plans a call; NULL: there is no plan. */
static struct plan *plan_way(ncoll_group *g, enum collective c, enum way way, size_t bytes)
{
    struct call_args args = {.collective = c,
                             .count = c == COLL_BARRIER ? 0 : bytes / ELEMENT,
                             .type = NCOLL_INT64,
                             .op = NCOLL_SUM,
                             .own_op = way == ORDERED ? &ordered : NULL,
                             .once = true};
    struct plan *plan = NULL;
    size_t longest = 0;

    if (way == COUNTS) {
        args.count = 0;
        args.counts = arrays.counts;
        args.displs = arrays.displs;
    }
    if (way == COUNTS && c == COLL_ALLTOALL) {
        args.sends = arrays.counts;
        args.send_displs = arrays.displs;
        longest = bytes / ELEMENT; /* on which the ranks have agreed */
    }
    return ncoll__plan(g, &args, longest, &plan) == NCOLL_OK ? plan : NULL;
}

static struct plan *plan_of(ncoll_group *g, enum collective c, size_t bytes)
{
    return plan_way(g, c, PLAIN, bytes);
}

/* ------------------------------------------------------------------ budget -------------------- */

static bool exceeds(ncoll_group *g, enum collective c, size_t bytes, unsigned budget)
{
    struct plan *plan = plan_of(g, c, bytes);
    bool bad = plan == NULL || plan->n_peers > budget;

    if (bad)
        fprintf(stderr, "%d ranks, %s of %zu bytes: %s, %u peers\n", g->size,
                ncoll__collective_name(c), bytes,
                plan != NULL ? plan->algorithm->name : g->ctx->error.text,
                plan != NULL ? plan->n_peers : 0);
    if (plan != NULL)
        ncoll__plan_leave(g, plan);
    return bad;
}

static unsigned count_exceeding(ncoll_group *g, unsigned budget)
{
    static const size_t sizes[] = {8, 4096, 65536};
    unsigned bad = 0;

    for (int c = COLL_BARRIER; c < COLLECTIVES; c++)
        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            bad += exceeds(g, (enum collective)c, sizes[i], budget);
    return bad;
}

static unsigned count_of_job(unsigned ranks, unsigned per_node, unsigned ranks_per_core)
{
    struct planner *p = job_of(ranks, per_node);
    ncoll_group *g = planner_world(p);

    g->ctx->places.ranks_per_core = ranks_per_core;
    g->ctx->peers_most = BUDGET; /* of the devices */
    unsigned bad = count_exceeding(g, BUDGET);
    g->ctx->settings.peers = 64; /* of the user */
    bad += count_exceeding(g, 64);
    planner_free(p);
    return bad;
}

static void test_budget(void **state)
{
    static const unsigned jobs[] = {1024, 2049, 4097}, per_node[] = {1, 16};
    unsigned bad = 0;

    (void)state;
    for (unsigned j = 0; j < sizeof jobs / sizeof jobs[0]; j++)
        for (unsigned n = 0; n < sizeof per_node / sizeof per_node[0]; n++)
            for (unsigned shared = 1; shared <= 4; shared *= 2)
                bad += count_of_job(jobs[j], per_node[n], shared);
    assert_int_equal(bad, 0);
}

/* A full mesh that fits is used, and no other, also for blocks with counts. */
static void test_fits(void **state)
{
    struct planner *p = job_of(100, 1);
    ncoll_group *g = planner_world(p);
    size_t counts[100] = {0};
    struct choice choice;

    (void)state;
    g->ctx->settings.peers = 99;
    assert_int_equal(ncoll__choose(g, COLL_ALLTOALL, 8192, NCOLL_INT64, 0, &choice), NCOLL_OK);
    assert_string_equal(choice.algorithm->name, "direct");
    g->ctx->settings.peers = 98;
    assert_int_equal(ncoll__choose(g, COLL_ALLTOALL, 8192, NCOLL_INT64, 0, &choice), NCOLL_OK);
    assert_string_not_equal(choice.algorithm->name, "direct");
    struct call_args args = {
        .collective = COLL_ALLTOALL, .counts = counts, .sends = counts, .type = NCOLL_INT64};
    assert_int_equal(ncoll__select(g, &args, &(struct op){0}, 1, &choice), NCOLL_OK);
    assert_string_not_equal(choice.algorithm->name, "direct");
    g->ctx->settings.peers = 99;
    assert_int_equal(ncoll__select(g, &args, &(struct op){0}, 1, &choice), NCOLL_OK);
    assert_string_equal(choice.algorithm->name, "direct");
    planner_free(p);
}

/* Blocks that are packed are sent on as seldom as can be, also if they do not fit the window in one
 * piece; another algorithm that packs them would be cut as well. */
static void test_cut(void **state)
{
    struct planner *p = job_of(4097, 1);
    ncoll_group *g = planner_world(p);
    struct choice choice;

    (void)state;
    g->ctx->peers_most = BUDGET;
    assert_int_equal(ncoll__choose(g, COLL_ALLTOALL, 512, NCOLL_INT64, 0, &choice), NCOLL_OK);
    assert_string_equal(choice.algorithm->name, "grid");
    assert_true(choice.segments > 1);
    planner_free(p);
}

/* A budget below the peers of two hops makes it three; one below those of three makes it Bruck's
 * algorithm. */
static void test_hops(void **state)
{
    static const struct {
        int peers;
        const char *name;
    } budgets[] = {{1023, "grid"}, {130, "grid"}, {129, "cube"}, {50, "cube"}, {49, "bruck"}};
    struct planner *p = job_of(4097, 1);
    ncoll_group *g = planner_world(p);
    struct choice choice;

    (void)state;
    arrays_new(4097);
    arrays_set(4097, 2);
    for (unsigned i = 0; i < sizeof budgets / sizeof budgets[0]; i++) {
        struct call_args args = {.collective = COLL_ALLTOALL,
                                 .counts = arrays.counts,
                                 .sends = arrays.counts,
                                 .type = NCOLL_INT64};
        g->ctx->settings.peers = budgets[i].peers;
        assert_int_equal(ncoll__choose(g, COLL_ALLTOALL, 8, NCOLL_INT64, 0, &choice), NCOLL_OK);
        assert_string_equal(choice.algorithm->name, budgets[i].name);
        assert_int_equal(ncoll__select(g, &args, &(struct op){0}, 2, &choice), NCOLL_OK);
        assert_string_equal(choice.algorithm->name, budgets[i].name);
    }
    arrays_free();
    planner_free(p);
}

/* Less than the base peers, which are connected anyway, is no reason to take more. */
static void test_small_budget(void **state)
{
    struct planner *p = job_of(100, 1);
    ncoll_group *g = planner_world(p);

    (void)state;
    g->ctx->settings.peers = 1;
    assert_int_equal(count_exceeding(g, 14), 0);
    planner_free(p);
}

/* ------------------------------------------------------------------ what a plan takes -------- */

#define PLAN_MS    50
#define PLAN_BYTES 2000000
#define TRIES      5

/* Takes the fastest of some tries, since other programs run on this machine. */
static bool takes_too_much(ncoll_group *g, unsigned per_node, enum collective c, enum way way,
                           size_t bytes)
{
    size_t bytes_allowed = PLAN_BYTES + array_bytes((unsigned)g->size, c, way);
    const char *name = "none";
    unsigned peers = 0;
    double ms = 1e9;

    bytes_most = 0;
    for (unsigned i = 0;
         i < TRIES && (i == 0 || !cpu_is_within(ms, PLAN_MS)) && bytes_most <= bytes_allowed; i++) {
        bytes_now = 0;
        double start = cpu_ms();
        struct plan *plan = plan_way(g, c, way, bytes);
        double own_ms = cpu_ms() - start;
        if (plan == NULL)
            break;
        ms = own_ms < ms ? own_ms : ms;
        name = plan->algorithm->name;
        peers = plan->n_peers;
        ncoll__plan_leave(g, plan);
    }
    if (cpu_is_within(ms, PLAN_MS) && bytes_most <= bytes_allowed && peers <= g->ctx->peers_most)
        return false;
    fprintf(stderr,
            "%d ranks, %u a node, %s%s of %zu bytes, %s: %.1f ms, %zu bytes, %u peers%s%s\n",
            g->size, per_node, ncoll__collective_name(c), way_names[way], bytes, name, ms,
            bytes_most, peers, ms > 1e8 ? ", " : "", ms > 1e8 ? g->ctx->error.text : "");
    return true;
}

/* Calls with arrays of P numbers take longer to test, so they have fewer sizes. */
static unsigned count_too_much_of(ncoll_group *g, unsigned per_node, enum collective c,
                                  enum way way)
{
    size_t factor = c == COLL_BARRIER ? 1 << 20 : way == COUNTS ? 1 << 8 : 8;
    unsigned bad = 0;

    for (size_t bytes = ELEMENT; bytes <= (size_t)1 << 20; bytes *= factor) {
        if (way == COUNTS)
            arrays_set((unsigned)g->size, bytes / ELEMENT);
        bad += takes_too_much(g, per_node, c, way, bytes);
    }
    return bad;
}

static unsigned count_too_much(unsigned ranks, unsigned per_node, unsigned budget)
{
    struct planner *p = job_of(ranks, per_node);
    ncoll_group *g = planner_world(p);
    ncoll_params before = g->ctx->settings;
    unsigned bad = 0;

    arrays_new(ranks);
    g->ctx->peers_most = budget;
    ncoll__plan_leave(g, plan_of(g, COLL_ALLREDUCE, 1 << 20)); /* what a group has once */
    g->ctx->settings.allocate = allocate;
    g->ctx->settings.release = release;
    for (int c = COLL_BARRIER; c < COLLECTIVES; c++)
        for (enum way way = PLAIN; way < WAYS; way++)
            if (has_way((enum collective)c, way))
                bad += count_too_much_of(g, per_node, (enum collective)c, way);
    g->ctx->settings = before;
    planner_free(p);
    arrays_free();
    return bad;
}

/* Every call of 8 B to 1 MiB has a plan on any number of ranks, within a small budget of peers and
 * within the one of a usual device, which is made in 50 ms and 2 MB. A copy of the arrays that the
 * caller hands in does not count. */
static void test_what_plans_take(void **state)
{
    static const unsigned jobs[] = {1024, 4097, 5462, 16384, 100003, 1 << 20};
    static const unsigned per_node[] = {1, 16, 128}, budgets[] = {BUDGET, 2047};
    unsigned bad = 0;

    (void)state;
    for (unsigned j = 0; j < sizeof jobs / sizeof jobs[0]; j++)
        for (unsigned n = 0; n < sizeof per_node / sizeof per_node[0]; n++)
            for (unsigned b = 0; b < sizeof budgets / sizeof budgets[0]; b++)
                bad += count_too_much(jobs[j], per_node[n], budgets[b]);
    assert_int_equal(bad, 0);
}

/* The same if ranks are placed on nodes in turn. */
static void test_in_turn(void **state)
{
    static const unsigned jobs[] = {1024, 4097, 5462, 16384, 100003, 1 << 20};
    unsigned bad = 0;

    (void)state;
    in_turn = true;
    for (unsigned j = 0; j < sizeof jobs / sizeof jobs[0]; j++)
        for (unsigned per_node = 16; per_node <= 128; per_node *= 8)
            bad += count_too_much(jobs[j], per_node, BUDGET);
    in_turn = false;
    assert_int_equal(bad, 0);
}

/* ------------------------------------------------------------------ counts -------------------- */

#define COUNTED       10000
#define STEPS_COUNTED 600u
#define COUNTED_MS    10

static unsigned steps_of(const struct plan *plan)
{
    unsigned steps = 0;

    for (unsigned i = 0; i < plan->n_programs; i++)
        steps += plan->programs[i].count;
    return steps;
}

static bool is_long(ncoll_group *g, enum collective c, const size_t *counts)
{
    struct call_args args = {.collective = c,
                             .counts = counts,
                             .needs_counts = true,
                             .type = NCOLL_UINT8,
                             .op = NCOLL_SUM,
                             .once = true};
    unsigned steps = UINT_MAX;
    double ms = 1e9;

    for (unsigned i = 0; i < TRIES && (i == 0 || !cpu_is_within(ms, COUNTED_MS)); i++) {
        struct plan *plan = NULL;
        double start = cpu_ms();
        if (ncoll__plan(g, &args, 0, &plan) != NCOLL_OK)
            break;
        double own_ms = cpu_ms() - start;
        ms = own_ms < ms ? own_ms : ms;
        steps = steps_of(plan);
        ncoll__plan_leave(g, plan);
    }
    if (steps <= STEPS_COUNTED && cpu_is_within(ms, COUNTED_MS))
        return false;
    fprintf(stderr, "%s of %d ranks with counts: %u steps, %.1f ms\n", ncoll__collective_name(c),
            g->size, steps, ms);
    return true;
}

/* Blocks of different lengths that lie side by side are copied and combined together, if they are
 * not cut into segments. */
static void test_counts(void **state)
{
    static const enum collective all[] = {COLL_GATHER, COLL_SCATTER, COLL_ALLGATHER,
                                          COLL_REDUCE_SCATTER};
    static size_t counts[COUNTED];
    unsigned bad = 0;

    (void)state;
    for (unsigned r = 0; r < COUNTED; r++)
        counts[r] = r % 3;
    for (unsigned per_node = 1; per_node <= 16; per_node += 15) {
        struct planner *p = job_of(COUNTED, per_node);
        for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
            bad += is_long(planner_world(p), all[i], counts);
        planner_free(p);
    }
    assert_int_equal(bad, 0);
}

/* Plans with the same counts, also those of other groups, have one copy of them. */
static void test_same_counts(void **state)
{
    static size_t counts[100], others[100];
    struct planner *p = job_of(100, 1);
    ncoll_group *g = planner_world(p);
    struct call_args args = {.counts = counts, .needs_counts = true, .type = NCOLL_INT64};
    struct plan *plans[3] = {NULL};

    (void)state;
    for (unsigned r = 0; r < 100; r++)
        others[r] = counts[r] = r;
    args.collective = COLL_ALLGATHER;
    assert_int_equal(ncoll__plan(g, &args, 0, &plans[0]), NCOLL_OK);
    args.counts = others;
    args.collective = COLL_GATHER;
    assert_int_equal(ncoll__plan(g, &args, 0, &plans[1]), NCOLL_OK);
    others[99]++;
    assert_int_equal(ncoll__plan(g, &args, 0, &plans[2]), NCOLL_OK);
    assert_ptr_equal(plans[0]->key.counts, plans[1]->key.counts);
    assert_ptr_not_equal(plans[0]->key.counts, plans[2]->key.counts);
    assert_int_equal(plans[0]->key.counts[99], 99);
    assert_int_equal(plans[2]->key.counts[99], 100);
    for (unsigned i = 0; i < 3; i++)
        ncoll__plan_leave(g, plans[i]);
    planner_free(p);
}

/* ------------------------------------------------------------------ table --------------------- */

static void print_plan(ncoll_group *g, unsigned per_node, enum collective c, enum way way,
                       size_t bytes)
{
    if (way == COUNTS)
        arrays_set((unsigned)g->size, bytes / ELEMENT);
    bytes_now = bytes_most = 0;
    double start = cpu_ms();
    struct plan *plan = plan_way(g, c, way, bytes);
    double ms = cpu_ms() - start;

    printf("%7d %3u %-14s%-14s %7zu ", g->size, per_node, ncoll__collective_name(c), way_names[way],
           bytes);
    if (plan == NULL) {
        printf("none: %s\n", g->ctx->error.text);
        return;
    }
    printf("%-24s %3u %6u %8u %8llu %8.3f %8.3f %9.2f%s%s\n", plan->algorithm->name, plan->radix,
           plan->n_peers, steps_of(plan), (unsigned long long)plan->segments,
           (double)plan->bytes * 1e-6, (double)bytes_most * 1e-6, ms, ms > 50 ? " slow" : "",
           bytes_most > 2000000 ? " large" : "");
    fflush(stdout);
    ncoll__plan_leave(g, plan);
}

static void print_table(unsigned ranks)
{
    static const unsigned per_node[] = {1, 16, 128};
    static const size_t sizes[] = {8, 256, 4096, 65536, (size_t)1 << 20};

    printf("%7s %3s %-28s %7s %-24s %3s %6s %8s %8s %8s %8s %9s\n", "P", "M", "collective", "bytes",
           "algorithm", "n", "peers", "steps", "segments", "plan MB", "most MB", "ms");
    for (unsigned n = 0; n < sizeof per_node / sizeof per_node[0]; n++) {
        struct planner *p = job_of(ranks, per_node[n]);
        ncoll_group *g = planner_world(p);
        ncoll_params before = g->ctx->settings;
        g->ctx->peers_most = BUDGET;
        g->ctx->settings.allocate = allocate;
        g->ctx->settings.release = release;
        arrays_new(ranks);
        for (int c = COLL_BARRIER * WAYS; c < COLLECTIVES * WAYS; c++)
            for (unsigned i = 0;
                 i < (c / WAYS <= COLL_BARRIER ? 1 : sizeof sizes / sizeof sizes[0]); i++)
                if (has_way((enum collective)(c / WAYS), (enum way)(c % WAYS)))
                    print_plan(g, per_node[n], (enum collective)(c / WAYS), (enum way)(c % WAYS),
                               sizes[i]);
        arrays_free();
        g->ctx->settings = before;
        planner_free(p);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_budget),       cmocka_unit_test(test_fits),
        cmocka_unit_test(test_cut),          cmocka_unit_test(test_hops),
        cmocka_unit_test(test_small_budget), cmocka_unit_test(test_what_plans_take),
        cmocka_unit_test(test_in_turn),      cmocka_unit_test(test_counts),
        cmocka_unit_test(test_same_counts),
    };

    for (int i = 1; i < argc; i++)
        print_table((unsigned)strtoul(argv[i], NULL, 10));
    return argc > 1 ? 0 : cmocka_run_group_tests_name("scale_plans", tests, NULL, NULL);
}
