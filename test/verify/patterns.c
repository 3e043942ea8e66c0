/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/patterns.h"

#include "test/verify/draw.h"

#define LONGEST 4
#define STEEP_P 40 /* from here on the data would be too much */

/* Elements of block q of P. */
static size_t block(unsigned pattern, unsigned P, unsigned q, uint64_t *seed)
{
    switch (pattern) {
    case 0: /* all alike */
        return 2;
    case 1: /* nothing at all */
        return 0;
    case 2: /* gaps */
        return q % 2 * 2;
    case 3: /* one rank has it all */
        return q == P / 2 ? 5 : 0;
    case 4: /* less and less */
        return P <= STEEP_P ? P - 1 - q : (P - 1 - q) * LONGEST / P;
    case 5:
        return draw(seed) % LONGEST;
    default: /* few have something */
        return draw(seed) % 8 == 0 ? 1 + draw(seed) % LONGEST : 0;
    }
}

void pattern_set(struct shape *g, unsigned pattern, size_t *counts, size_t *sends)
{
    unsigned P = g->size;
    uint64_t seed = ((uint64_t)P << 32) + pattern;
    bool all_pairs = g->collective == COLL_ALLTOALL;
    size_t longest = 1;

    for (unsigned q = 0; q < P; q++)
        for (unsigned p = 0; all_pairs && p < P; p++) {
            /* rows differ, or else each rank would receive the same from all */
            size_t elements = block(pattern, P, (p + 3 * q) % P, &seed);
            sends[(size_t)q * P + p] = counts[(size_t)p * P + q] = elements;
            longest = elements > longest ? elements : longest;
        }
    for (unsigned q = 0; q < P && !all_pairs; q++)
        counts[q] = block(pattern, P, q, &seed);
    g->count = all_pairs ? longest : 0;
    g->counts = counts;
    g->sends = all_pairs ? sends : NULL;
}
