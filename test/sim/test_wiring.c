/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connecting peers in jobs that are too large for real processes: it takes few bytes where there are
 * few peers, and works where letters meet for which a message has no room.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ncoll.h"
#include "test/support/seed.h"
#include "transport/sim/sim.h"

#define RANKS 150

static int said(const ncoll_params *params, ncoll_context *ctx, const char *what, int rc)
{
    fprintf(stderr, "rank %d of %d: %s gave %d (%s)\n", params->rank, params->ranks, what, rc,
            ncoll_last_error(ctx)->text);
    ncoll_context_destroy(ctx);
    return 1;
}

/* ------------------------------------------------------------------ bytes --------------------- */

/* Makes as many barriers as *arg says. */
static int rank_barriers(const ncoll_params *params, void *arg)
{
    const unsigned *times = arg;
    ncoll_context *ctx;
    int rc = ncoll_context_create(params, &ctx, NULL);

    if (rc != NCOLL_OK)
        return 1;
    for (unsigned i = 0; i < *times && rc == NCOLL_OK; i++)
        rc = ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK);
    if (rc != NCOLL_OK)
        return said(params, ctx, "barrier", rc);
    ncoll_context_destroy(ctx);
    return 0;
}

static uint64_t bytes_of(int ranks, unsigned times)
{
    struct sim_config config = {.ranks = ranks, .seed = test_seed()};
    struct sim_report report;
    ncoll_params base;

    ncoll_params_init(&base, sizeof base);
    base.barrier_algorithm = "dissemination";
    base.radix = 2;
    assert_true(sim_run(&config, &base, rank_barriers, &times, &report));
    return report.message_bytes / (uint64_t)ranks;
}

/* A 3-ary dissemination on 3^k ranks has 4 peers a round. */
static void test_bytes(void **state)
{
    const uint64_t letter = 56, peers = 5 * 4, rounds = 8, ranks = 243;

    (void)state;
    uint64_t first = bytes_of((int)ranks, 1) - bytes_of((int)ranks, 0);
    uint64_t later = bytes_of((int)ranks, 2) - bytes_of((int)ranks, 1);
    print_message("%" PRIu64 " bytes a rank for the first barrier, %" PRIu64 " for another\n",
                  first, later);
    assert_true(first > later);
    assert_true(first - later <= rounds * (sizeof(int64_t) + peers * letter));
}

/* ------------------------------------------------------------------ groups -------------------- */

struct order {
    int rank[RANKS]; /* a permutation */
};

static bool adds_up(ncoll_group *group)
{
    int64_t in = ncoll_group_rank(group) + 1, out = 0, n = ncoll_group_size(group);

    return ncoll_allreduce(group, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK) == NCOLL_OK &&
           out == n * (n + 1) / 2;
}

/* Makes groups whose base peers lie anywhere in the world, and copies of these. */
static int rank_groups(const ncoll_params *params, void *arg)
{
    const struct order *order = arg;
    ncoll_context *ctx;
    ncoll_group *groups[4] = {NULL};
    int n_some = RANKS * 2 / 3, rc;

    if (ncoll_context_create(params, &ctx, NULL) != NCOLL_OK)
        return 1;
    ncoll_group *world = ncoll_world(ctx);
    rc = ncoll_group_split(world, 0, order->rank[params->rank], &groups[0], NCOLL_BLOCK);
    if (rc == NCOLL_OK)
        rc = ncoll_group_split(world, params->rank % 3, -order->rank[params->rank], &groups[1],
                               NCOLL_BLOCK);
    if (rc == NCOLL_OK)
        rc = ncoll_group_from_ranks(world, order->rank, n_some, &groups[2], NCOLL_BLOCK);
    if (rc == NCOLL_OK)
        rc = ncoll_group_dup(groups[0], &groups[3], NCOLL_BLOCK);
    if (rc != NCOLL_OK)
        return said(params, ctx, "a group", rc);
    for (unsigned i = 0; i < 4; i++)
        if (groups[i] != NULL && !adds_up(groups[i]))
            return said(params, ctx, "an allreduce", (int)i);
    for (unsigned i = 0; i < 4; i++)
        if (groups[i] != NULL && (rc = ncoll_group_free(&groups[i], NCOLL_BLOCK)) != NCOLL_OK)
            return said(params, ctx, "freeing", rc);
    ncoll_context_destroy(ctx);
    return 0;
}

static void test_groups(void **state)
{
    struct sim_config config = {.ranks = RANKS, .node_ranks = 7, .seed = test_seed()};
    struct random random = random_stream(test_seed(), 1);
    struct order order;
    struct sim_report report;

    (void)state;
    for (int i = 0; i < RANKS; i++) {
        int at = (int)random_below(&random, (uint64_t)i + 1);
        order.rank[i] = order.rank[at];
        order.rank[at] = i;
    }
    assert_true(sim_run(&config, NULL, rank_groups, &order, &report));
}

/* ------------------------------------------------------------------ many letters -------------- */

/* All ranks are connected to each other. */
static int rank_exchanges(const ncoll_params *params, void *arg)
{
    static int64_t in[RANKS * RANKS], out[RANKS * RANKS];
    int64_t *mine = in + params->rank * RANKS, *got = out + params->rank * RANKS;
    ncoll_context *ctx;

    (void)arg;
    if (ncoll_context_create(params, &ctx, NULL) != NCOLL_OK)
        return 1;
    for (int q = 0; q < RANKS; q++)
        mine[q] = params->rank * RANKS + q;
    int rc = ncoll_alltoall(ncoll_world(ctx), mine, got, 1, NCOLL_INT64, NCOLL_BLOCK);
    for (int q = 0; q < RANKS && rc == NCOLL_OK; q++)
        rc = got[q] == q * RANKS + params->rank ? rc : NCOLL_ERR_INTERNAL;
    if (rc != NCOLL_OK)
        return said(params, ctx, "alltoall", rc);
    ncoll_context_destroy(ctx);
    return 0;
}

/* In a window that has no room for the letters that meet, it takes several passes. */
static void test_small_window(void **state)
{
    struct sim_config config = {.ranks = RANKS, .seed = test_seed()};
    struct sim_report small, large;
    ncoll_params base;

    (void)state;
    ncoll_params_init(&base, sizeof base);
    base.alltoall_algorithm = "direct";
    assert_true(sim_run(&config, &base, rank_exchanges, NULL, &large));
    base.window_bytes = 65536;
    assert_true(sim_run(&config, &base, rank_exchanges, NULL, &small));
    assert_true(small.messages >= large.messages + 2 * 8 * RANKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_small_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
