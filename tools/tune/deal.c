/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ranks share a core decides between algorithms as much as anything, and is the scheduler's
 * luck where nobody binds them. So forked ranks that outnumber the cores are dealt out to these
 * anew for each sweep: in turn, in blocks, and back and forth; for 4 ranks on 2 cores that is all
 * the ways there are. They begin there, and may go where they like then, as those of a job may that
 * is not bound.
 */
#include <sched.h>

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
    cpu_set_t allowed, one;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    unsigned cores = (unsigned)CPU_COUNT(&allowed), core, cpu = 0;
    if (ranks <= cores)
        return;
    core = deal_core(deal, rank, ranks, cores);
    for (;; cpu++)
        if (CPU_ISSET(cpu, &allowed) && core-- == 0)
            break;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0)
        sched_setaffinity(0, sizeof allowed, &allowed);
}
