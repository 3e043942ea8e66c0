/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arithmetic that the n-way algorithms share. Peers are named by their distance along the ring of
 * ranks: what goes d to the right comes from d to the left.
 */
#ifndef NCOLL_ALGOS_RADIX_H
#define NCOLL_ALGOS_RADIX_H

#include "algos/schedule.h"

/* (n + 1)^l */
static inline size_t power(unsigned n, unsigned l)
{
    size_t result = 1;
    while (l-- > 0)
        result *= n + 1;
    return result;
}

/* k = ceil(log_{n+1} P): fewest rounds in which n messages a round can reach P ranks. */
static inline unsigned fewest_rounds(unsigned P, unsigned n)
{
    unsigned k = 0;
    for (size_t reached = 1; reached < P; reached *= n + 1)
        k++;
    return k;
}

static inline unsigned right(const struct shape *g, size_t distance)
{
    return (unsigned)((g->rank + distance) % g->size);
}

static inline unsigned left(const struct shape *g, size_t distance)
{
    return (unsigned)((g->rank + g->size - distance % g->size) % g->size);
}

#endif
