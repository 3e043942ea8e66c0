/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places forked ranks on cores. The ranks that share a core affect the comparison of algorithms as
 * much as anything else, and without binding the scheduler decides about them. So if forked ranks
 * outnumber the cores, each sweep places them in another way: in turn, in blocks, and back and
 * forth. For 4 ranks on 2 cores these are all possible ways. They start there and may move later,
 * like the ranks of a job that is not bound.
 */
#include <sched.h>

#include "examples/cg/support.h"
#include "tools/tune/tune.h"

unsigned deal_core(unsigned deal, unsigned rank, unsigned ranks, unsigned cores)
{
    unsigned place = rank % cores;

    switch (deal % DEALS) {
    case 0:
        return place;
    case 1:
        return (unsigned)((uint64_t)rank * cores / ranks);
    default:
        return rank / cores % 2 != 0 ? cores - 1 - place : place;
    }
}

void deal_apply(unsigned deal, unsigned rank, unsigned ranks)
{
    cpu_set_t allowed;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    unsigned cores = (unsigned)CPU_COUNT(&allowed);
    if (ranks > cores && bind_to_place((int)deal_core(deal, rank, ranks, cores)))
        sched_setaffinity(0, sizeof allowed, &allowed);
}
