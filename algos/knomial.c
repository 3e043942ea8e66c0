/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rooted collectives along a k-nomial tree, k = n + 1; for n = 1 this is the binomial tree.
 *
 * R. Thakur, R. Rabenseifner, W. Gropp: Optimization of Collective Communication Operations in
 * MPICH, IJHPCA 19(1), 2005 (n = 1); R. Nishtala: Automatically Tuning Collective Communication for
 * One-Sided Programming Models, UC Berkeley, 2009 (any n).
 *
 *   P  ranks; s  root; v = (p - s) mod P  this rank counted from the root; n  children of each size
 *   w_l = (n+1)^l          ranks below a child of level l, itself included; fewer where P ends
 *   parent of v            v without its lowest digit that is not 0, in base n+1
 *   children of v          v + i w_l, i = 1..n, for the levels l below that digit
 *
 * P = 8, n = 1, in the order in which a bcast sends:
 *
 *   0 to 4     0 to 2, 4 to 6     0 to 1, 2 to 3, 4 to 5, 6 to 7
 *
 * The longest chain of messages has ceil(log_{n+1} P) of them. With n = 1 the number of ranks that
 * have the vector doubles each time that all of them send one message. A larger n suits networks
 * whose latency is longer than the time in which a rank can send n messages.
 */
#include "algos/choice.h"
#include "algos/trees.h"

static struct footprint footprint(const struct shape *g)
{
    return ncoll__rooted_footprint(g, knomial_share);
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    return ncoll__rooted_round(g, knomial_share, r, out);
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    (void)g, (void)s;
    return (struct fit){.strength = FIT_SHORT, .why = "short data"};
}

const struct algorithm ncoll__knomial = {
    .name = "knomial",
    .summary = "k-nomial tree, k = n+1; binomial for n = 1",
    .source = "Thakur et al., IJHPCA 19, 2005; Nishtala, UC Berkeley, 2009",
    .collectives = ROOTED_COLLECTIVES,
    .properties = ROOTED_PROPERTIES | USES_RADIX | ROOT_HAS_ALL,
    .footprint = footprint,
    .round = round_of,
    .fit = fit,
    .cost = ncoll__cost_of_rooted,
};
