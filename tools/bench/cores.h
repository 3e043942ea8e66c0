/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far apart the cores of ranks are, by the bare exchange between them. A hypervisor moves the
 * cores that it lends: for milliseconds or for many minutes two of them share a core, a cache or
 * neither, and short calls take three times as long for it, of some libraries more than of others.
 * So each batch says what it was measured on, and batches are to be compared with their like.
 */
#ifndef NCOLL_TOOLS_BENCH_CORES_H
#define NCOLL_TOOLS_BENCH_CORES_H

#include <stdint.h>

struct job;

/* Before and after each batch. */
#define CORES_LOOKS 2

/* The median of some exchanges between ranks 2i and 2i+1, of this rank's; 0 where job->sees_cores
 * is false. Collective; NCOLL_OK, or what the exchange has returned. */
int cores_look(struct job *job, uint64_t *exchange_ns);

/*
 * Exchanges in a factor of four are of one kind: about 0.03 us between the two threads of a core,
 * 0.1 in a cache that cores share, 0.3 from cache to cache, and more from socket to socket. 0 to
 * CORES_KINDS - 1, the nearest first.
 */
#define CORES_KINDS 4
static inline unsigned cores_kind(double exchange_us)
{
    unsigned kind = 0;

    for (double bound_us = 0.04; kind + 1 < CORES_KINDS && exchange_us >= bound_us; bound_us *= 4)
        kind++;
    return kind;
}

#endif
