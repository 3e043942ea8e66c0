/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far this rank's clock can be from that of rank 0, by what allreduces prove.
 *
 * Let d be what has to be added to a clock reading here to get rank 0's at that moment. An
 * allreduce gives every rank its result after every rank has entered: each one's entry came before
 * each one's exit. For the entry e0 and exit x0 of rank 0, and e and x here:
 *
 *     e + d <= x0   so   d <= x0 - e
 *     e0 <= x + d   so   d >= e0 - x
 *
 * whatever the network did meanwhile. The tightest bounds of a few rounds are kept. Rank 0 tells e0
 * in the round itself and x0 in the next one: all others add 0.
 */
#include "tools/bench/measure/measure.h"

#define ROUNDS 16

/* Clocks may drift apart by so much (200 ppm) during the batch that the bounds are used for. */
#define DRIFT_NS 20000

int check_clock(struct job *job, struct clock_bounds *out)
{
    struct ncoll_stats stats = {.size = sizeof stats};
    int status = ncoll_context_stats(job->ctx, &stats);

    *out = (struct clock_bounds){0, 0};
    if (status != NCOLL_OK || stats.nodes == 1)
        return status;
    struct clock_bounds bounds = {INT64_MIN / 2, INT64_MAX / 2};
    uint64_t last_entry = 0, last_exit = 0;
    for (unsigned i = 0; i <= ROUNDS && status == NCOLL_OK; i++) {
        uint64_t entry = now_ns();
        uint64_t mine[2] = {entry, last_exit}, told[2] = {0, 0};
        if (job->rank != 0)
            mine[0] = mine[1] = 0;
        status = ncoll_allreduce(job->world, mine, told, 2, NCOLL_UINT64, NCOLL_SUM, NCOLL_BLOCK);
        uint64_t exit = now_ns();
        int64_t lo = (int64_t)(told[0] - exit), hi = (int64_t)(told[1] - last_entry);
        if (lo > bounds.lo)
            bounds.lo = lo;
        if (i > 0 && hi < bounds.hi)
            bounds.hi = hi;
        last_entry = entry;
        last_exit = exit;
    }
    if (job->rank != 0)
        *out = (struct clock_bounds){bounds.lo - DRIFT_NS, bounds.hi + DRIFT_NS};
    return status;
}
