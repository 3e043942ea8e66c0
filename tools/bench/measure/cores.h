/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how far apart the cores of neighbours are, ranks 2i and 2i+1, by a bare exchange between
 * them. A hypervisor moves virtual cores: for milliseconds or for many minutes two of them may
 * share a core, a cache or neither. Then short calls take up to three times as long, with some
 * libraries more than with others. So the distance is recorded with each batch, and only batches
 * with similar distances should be compared.
 */
#ifndef NCOLL_TOOLS_BENCH_MEASURE_CORES_H
#define NCOLL_TOOLS_BENCH_MEASURE_CORES_H

/* Before and after each batch. */
#define CORES_LOOKS 2

/*
 * The kinds of distances, from 0, the nearest first: between the two threads of a core (0.03 to
 * 0.05 us), in a cache that cores share (about 0.08), from cache to cache (0.2 to 0.4), from socket
 * to socket.
 */
#define CORES_KINDS 4
static inline unsigned cores_kind(double exchange_us)
{
    return exchange_us < 0.06 ? 0 : exchange_us < 0.15 ? 1 : exchange_us < 0.6 ? 2 : 3;
}

#endif
