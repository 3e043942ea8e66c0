/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No cliffs: what is chosen for neighbouring sizes and numbers of ranks takes about as long, by the
 * model. Where the choice changes from one size to the next, what is chosen there takes not much
 * longer than what was chosen before would; and one rank more costs no more than a round, where it
 * needs one, and its share of the messages and bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/signature.h"
#include "lib/inspect.h"
#include "lib/base/group.h"
#include "test/support/crew.h"

#define P_MAX     16
#define ELEMENT   sizeof(int64_t)
#define BYTES_MAX ((size_t)1 << 20)
#define SIZES     32

struct costs {
    const char *what;
    struct transport_cost cost;
    double ranks_per_core;
    double step; /* a change of choice may be a loss by so much: rules are not made for one model */
    double rank; /* one rank more may cost so much, beyond a round and a share */
};

/* If ranks share cores, much depends on who shares one with whom, which changes with P. */
static const struct costs costs[] = {
    {"memory", {45, 18, 0.1}, 1, 1.65, 1.4},
    {"memory, cores shared", {45, 18, 0.1}, 2, 2.05, 2.05},
    {"network", {1500, 200, 0.1}, 1, 1.65, 1.4},
    {"network, cores shared", {4000, 8000, 3.2}, 2, 2.05, 2.05},
};
#define COSTS (sizeof costs / sizeof costs[0])

/* The times of calls, by size; the sizes are few, and the same for all P. */
struct board {
    double ns[P_MAX + 1][COSTS][COLLECTIVES][SIZES];
};

static double predicted(struct rank *r, enum collective c, size_t count, struct choice *choice)
{
    return ncoll__choose(r->world, c, count, NCOLL_INT64, NCOLL_SUM, choice) == NCOLL_OK
               ? ncoll__predict(r->world, c, count, ELEMENT, choice)
               : -1;
}

/* Predicts the time with a choice that was made for another size. */
static double predicted_with(struct rank *r, enum collective c, size_t count, struct choice choice)
{
    ncoll__group_force(r->world, c, choice.algorithm->name, choice.radix);
    double ns = predicted(r, c, count, &choice);
    ncoll__group_force(r->world, c, NULL, 0);
    return ns;
}

static bool same_choice(const struct choice *a, const struct choice *b)
{
    return a->algorithm == b->algorithm && a->radix == b->radix;
}

/* From 8 bytes to 1 MiB, by about a tenth each. */
static int walk_sizes(struct rank *r, const struct costs *k, enum collective c)
{
    struct choice before, now;
    int failed = 0;

    CHECK(predicted(r, c, 1, &before) >= 0);
    for (size_t count = 2; count <= BYTES_MAX / ELEMENT; count += 1 + count / 10) {
        double ns = predicted(r, c, count, &now);
        CHECK(ns > 0);
        double kept = same_choice(&before, &now) ? ns : predicted_with(r, c, count, before);
        if (kept > 0 && ns > k->step * kept) {
            fprintf(stderr, "P = %d, %s, %s, %zu bytes: %s n = %u takes %.0f ns, %s n = %u %.0f\n",
                    r->ranks, k->what, ncoll__collective_name(c), count * ELEMENT,
                    now.algorithm->name, now.radix, ns, before.algorithm->name, before.radix, kept);
            failed++;
        }
        before = now;
    }
    return failed;
}

static int walk(struct rank *r)
{
    struct board *b = r->shared;
    struct choice choice;
    int failed = 0;

    if (r->rank != 0)
        return 0;
    for (unsigned k = 0; k < COSTS; k++) {
        r->ctx->transport->cost = costs[k].cost;
        r->ctx->transport->peer_reads = k < 2;
        r->ctx->places.ranks_per_core = costs[k].ranks_per_core;
        for (int c = COLL_BARRIER; c < COLLECTIVES; c++) {
            unsigned i = 0;
            for (size_t bytes = ELEMENT; bytes <= BYTES_MAX; bytes *= 2)
                b->ns[r->ranks][k][c][i++] =
                    predicted(r, (enum collective)c, bytes / ELEMENT, &choice);
            if (c != COLL_BARRIER)
                failed += walk_sizes(r, &costs[k], (enum collective)c);
        }
    }
    return failed != 0;
}

static double rounds(int P)
{
    double k = 0;

    for (int reached = 1; reached < P; reached *= 2)
        k++;
    return k;
}

/* One rank more. */
static unsigned step_of_ranks(const struct board *b, int P, unsigned k, int c)
{
    double allowed = costs[k].rank * rounds(P + 1) / rounds(P) * P / (P - 1);
    unsigned failed = 0;

    for (unsigned i = 0; i < SIZES && ELEMENT << i <= BYTES_MAX; i++) {
        double ratio = b->ns[P + 1][k][c][i] / b->ns[P][k][c][i];
        if (ratio > 0 && ratio <= allowed)
            continue;
        fprintf(stderr, "%s, %s, %zu bytes: %.0f ns for P = %d, %.0f for %d\n", costs[k].what,
                ncoll__collective_name((enum collective)c), ELEMENT << i, b->ns[P][k][c][i], P,
                b->ns[P + 1][k][c][i], P + 1);
        failed++;
    }
    return failed;
}

static void test_no_cliffs(void **state)
{
    struct board *b = crew_share(sizeof *b);
    unsigned failed = 0;
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.tune = NCOLL_TUNE_OFF;
    for (int P = 2; P <= P_MAX; P++)
        failed += crew_run(CREW_PROCESSES, P, &params, 60, walk, b) != 0;
    for (int P = 2; P < P_MAX; P++)
        for (unsigned k = 0; k < COSTS; k++)
            for (int c = COLL_BARRIER; c < COLLECTIVES; c++)
                failed += step_of_ranks(b, P, k, c);
    crew_unshare(b, sizeof *b);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_cliffs)};

    return cmocka_run_group_tests_name("cliffs", tests, NULL, NULL);
}
