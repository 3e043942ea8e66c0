/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far apart the cores of neighbours are, ranks 2i and 2i+1, by the bare exchange between them.
 * A hypervisor moves the cores that it lends: for milliseconds or for many minutes two of them
 * share a core, a cache or neither, and short calls take three times as long for it, of some
 * libraries more than of others. So each batch says what it was measured on, and batches are to be
 * compared with their like.
 */
#ifndef NCOLL_TOOLS_BENCH_CORES_H
#define NCOLL_TOOLS_BENCH_CORES_H

#include <stdint.h>

struct job;

/* Before and after each batch. */
#define CORES_LOOKS 2

/* What an exchange takes, one reading of the clock included: the median of nine groups of eight, of
 * this rank's; 0 where job->sees_cores is false. Collective; NCOLL_OK, or what the exchange has
 * returned. */
int cores_look(struct job *job, uint64_t *exchange_ns);

/*
 * Exchanges of one kind: between the two threads of a core (0.03 to 0.05 us), in a cache that cores
 * share (about 0.08), from cache to cache (0.2 to 0.4), from socket to socket. Counted from 0, the
 * nearest first.
 */
#define CORES_KINDS 4
static inline unsigned cores_kind(double exchange_us)
{
    return exchange_us < 0.06 ? 0 : exchange_us < 0.15 ? 1 : exchange_us < 0.6 ? 2 : 3;
}

#endif
