/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranges of elements in the blocks of a node. X_k is the blocks x_i of the ranks of node k, side by
 * side in the order of their local ranks i.
 */
#ifndef NCOLL_ALGOS_EXTENTS_H
#define NCOLL_ALGOS_EXTENTS_H

#include "algos/schedule.h"

/* Elements begin..end-1 of X_k. */
struct extent {
    size_t begin, end;
};

static inline struct extent overlap(struct extent a, struct extent b)
{
    struct extent both = {a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};

    both.end = both.end > both.begin ? both.end : both.begin;
    return both;
}

/* Returns the range of x_i in X_k. */
static inline struct extent block_in(const struct shape *g, unsigned k, unsigned i)
{
    struct extent block = {.begin = has_counts(g) ? 0 : i * g->count};

    if (has_counts(g) && g->nodes->in_blocks)
        block.begin = blocks_from(g, rank_on(g->nodes, k, 0), i);
    for (unsigned l = 0; has_counts(g) && !g->nodes->in_blocks && l < i; l++)
        block.begin += block_count(g, rank_on(g->nodes, k, l));
    block.end = block.begin + block_count(g, rank_on(g->nodes, k, i));
    return block;
}

#endif
