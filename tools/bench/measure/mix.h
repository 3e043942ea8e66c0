/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TOOLS_BENCH_MEASURE_MIX_H
#define NCOLL_TOOLS_BENCH_MEASURE_MIX_H

#include <stdint.h>

/* splitmix64 (Steele, Lea, Flood 2014): neighbouring arguments give unrelated values. */
static inline uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The next of a stream of values in 0..limit-1; limit at most 2^32. */
static inline uint64_t mix_below(uint64_t *stream, uint64_t limit)
{
    return (mix((*stream)++) >> 32) * limit >> 32;
}

/* A permutation of 0..n-1 (Fisher and Yates). */
static inline void mix_shuffle(uint64_t *stream, unsigned *order, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned at = (unsigned)mix_below(stream, i + 1);
        order[i] = order[at];
        order[at] = i;
    }
}

#endif
