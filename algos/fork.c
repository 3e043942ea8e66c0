/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rooted collectives along a fork tree: chains along the dimensions of a mesh.
 *
 * The third of GASNet's native trees: R. Nishtala: Automatically Tuning Collective Communication
 * for One-Sided Programming Models, UC Berkeley, 2009.
 *
 *   P  ranks; s  root; v = (p - s) mod P  this rank counted from the root
 *   f = n + 1  ranks along each dimension; d = 0, 1, ..  dimensions, as many as P needs
 *   digit d of v in base f is its place along dimension d; w_d = f^d is the distance of neighbours
 *                   along dimension d
 *   children of v   v + w_d, for all d up to that of its lowest digit that is not 0: v continues
 *                   the chain along which it got the message, and begins chains along smaller d
 *
 * P = 9, n = 2, a square of 3 x 3:
 *
 *   0 to 3, 1     3 to 6, 4     1 to 2     6 to 7     4 to 5     7 to 8
 *
 * A rank has ceil(log_f P) children at most, and all are its neighbours in the mesh; depth grows
 * with f. For n = 1 each chain has one link, which makes it the binomial tree.
 */
#include "algos/trees.h"

static size_t share(unsigned n, size_t m, unsigned i)
{
    size_t w = power(n, i);
    return w < m ? w : m;
}

static struct footprint footprint(const struct shape *g)
{
    return ncoll__rooted_footprint(g, share);
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    return ncoll__rooted_round(g, share, r, out);
}

const struct algorithm ncoll__fork = {
    .name = "fork",
    .summary = "fork tree: chains along the dimensions of a mesh, n+1 ranks each",
    .source = "Nishtala, UC Berkeley, 2009",
    .collectives = ROOTED_COLLECTIVES,
    .properties = ROOTED_PROPERTIES | USES_RADIX,
    .footprint = footprint,
    .round = round_of,
};
