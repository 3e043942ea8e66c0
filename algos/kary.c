/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rooted collectives along a balanced n-ary tree.
 *
 * J. Pjesivac-Grbovic, T. Angskun, G. Bosilca, G. E. Fagg, E. Gabriel, J. J. Dongarra: Performance
 * Analysis of MPI Collective Operations, Cluster Computing 10, 2007 (binary and n-ary trees);
 * R. Nishtala: Automatically Tuning Collective Communication for One-Sided Programming Models, UC
 * Berkeley, 2009.
 *
 *   P  ranks; s  root; v = (p - s) mod P  this rank counted from the root; n  children of a rank
 *   m  ranks below v, itself included; the other m - 1 are shared out evenly among
 *   c = min(n, m - 1)  children; child i = 0..c-1 begins at v + 1 + floor(i (m - 1) / c)
 *
 * P = 8, n = 2:
 *
 *   0 to 4, 1     4 to 6, 5     1 to 3, 2     6 to 7
 *
 * No rank sends more than n messages, whatever P: in a long vector that is cut in segments, each
 * rank is done with a segment after n messages, where a k-nomial root sends n log P. Depth is the
 * least for n children a rank; n = 1 is a chain.
 */
#include "algos/choice.h"
#include "algos/trees.h"

static size_t share(unsigned n, size_t m, unsigned i)
{
    size_t c = n < m - 1 ? n : m - 1;
    return i < c ? 1 + i * (m - 1) / c : m;
}

static struct footprint footprint(const struct shape *g)
{
    return ncoll__rooted_footprint(g, share);
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    return ncoll__rooted_round(g, share, r, out);
}

const struct algorithm ncoll__kary = {
    .name = "kary",
    .summary = "balanced tree with n children a rank",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .collectives = ROOTED_COLLECTIVES,
    .properties = ROOTED_PROPERTIES | USES_RADIX,
    .footprint = footprint,
    .round = round_of,
    .peers = ncoll__peers_twice, /* subtrees of a level have one of two sizes */
};
