/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic that the n-way algorithms share. Peers are named by their distance along the ring of
 * ranks: a message that goes d to the right comes from the rank at distance d to the left. */
#ifndef NCOLL_ALGOS_RADIX_H
#define NCOLL_ALGOS_RADIX_H

#include "algos/schedule.h"

/* Returns (n_1 + 1) .. (n_l + 1), which is (n + 1)^l if the radix is one number. */
static inline size_t power(unsigned radix, unsigned l)
{
    size_t result = 1;
    for (; l > 0; l--)
        result *= radix_of_round(radix, l) + 1;
    return result;
}

/* Returns n_1 + .. + n_l, the messages in l whole rounds. */
static inline unsigned messages_in(unsigned radix, unsigned l)
{
    unsigned result = 0;
    for (; l > 0; l--)
        result += radix_of_round(radix, l);
    return result;
}

/* Returns k, the fewest rounds in which P ranks can be reached with n_l messages in round l; this
 * is ceil(log_{n+1} P) if the radix is one number. */
static inline unsigned fewest_rounds(unsigned P, unsigned radix)
{
    unsigned k = 0;
    for (size_t reached = 1; reached < P; reached *= radix_of_round(radix, k) + 1)
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
