/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long vectors in P slices, and the way they spread from a root: first down the k-nomial tree, then
 * in the rounds of an n-way allgather. Slices that a rank has from the tree are not sent to it
 * again.
 *
 *   P  ranks; s  root; v = (p - s) mod P  rank p counted from the root; n  messages a round
 *   slice j = 0..P-1  belongs to v = j; counts differ by one element at most, longer slices first
 *   m_v               slices that v has from the tree: v..v+m_v-1, its own and those of all ranks
 *                     below it
 *   round l = 0..k-1  k = ceil(log_{n+1} P), w = (n+1)^l: v has, or gets from v + i w, i = 1..n,
 *                     the slices v + i w .. v + (i+1) w - 1; those past v + P are left out
 *
 * Slice numbers go on past P: slices j and j + P are the same.
 */
#ifndef NCOLL_ALGOS_SLICES_H
#define NCOLL_ALGOS_SLICES_H

#include "algos/trees.h"

/* Returns the first element of slice j. For slice j + P it is one vector (g->count) further. */
static inline size_t slice_start(const struct shape *g, size_t j)
{
    size_t longer = g->count % g->size, own = j % g->size;
    return j / g->size * g->count + own * (g->count / g->size) + (own < longer ? own : longer);
}

/* Returns the number of elements in slices first..end-1. */
static inline size_t slice_elements(const struct shape *g, size_t first, size_t end)
{
    return slice_start(g, end) - slice_start(g, first);
}

/* Returns m_v, the number of slices that v has from the tree. */
static inline size_t slices_from_tree(const struct shape *g, size_t v)
{
    size_t w = 1;

    while (w < g->size && v % (w * (g->radix + 1)) == 0)
        w *= g->radix + 1;
    return w < g->size - v ? w : g->size - v;
}

/* Slices first..end-1; none if first = end. */
struct slices {
    size_t first, end;
};

/* Returns the slices that v gets in piece i of round l. */
static inline struct slices slices_lacking(const struct shape *g, size_t v, unsigned l, unsigned i)
{
    size_t w = power(g->radix, l), has = v + slices_from_tree(g, v);
    struct slices s = {.first = v + i * w, .end = v + (i + 1) * w};

    if (s.end > v + g->size)
        s.end = v + g->size;
    if (s.first < has)
        s.first = has;
    if (s.first > s.end)
        s.first = s.end;
    return s;
}

/* Returns the number of piece i of round l, counted from 0 over all rounds. */
static inline unsigned piece_number(const struct shape *g, unsigned l, unsigned i)
{
    return l * g->radix + i - 1;
}

/* Returns the number of pieces in all rounds. The root of the tree has as many children, whose
 * subtrees have the same sizes. */
static inline unsigned piece_numbers(const struct shape *g)
{
    return ncoll__tree_widest(g, knomial_share);
}

/* Returns the number of elements of the longest piece: piece 1 of the last round, or of the round
 * before, if it begins with slice 0, where slices are longest. */
static inline size_t longest_piece(const struct shape *g)
{
    unsigned k = fewest_rounds(g->size, g->radix);
    size_t w = power(g->radix, k - 1), before = k > 1 ? power(g->radix, k - 2) : 0;
    size_t slices = w < g->size - w ? w : g->size - w;

    return slice_elements(g, 0, slices > before ? slices : before);
}

#endif
