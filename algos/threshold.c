/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bcast and reduce over some of the ranks, along a k-nomial tree of these, k = n + 1.
 *
 * R. Iakymchuk, A. Faustino, A. Emerson, J. Barreto, V. Bartsch, R. Rodrigues, J. C. Monteiro:
 * Efficient and Eventually Consistent Collective Operations, 2022, section III-B: the stages of a
 * binomial tree that are left out are the last ones, those with the most ranks.
 *
 *   P  ranks; s  root; m  places, 1..P; n  radix
 *   v  place of a rank that takes part, 0..m-1; the root has place 0
 *   R_v  rank of place v: (s + v) mod P, or as listed, the heaviest ranks first
 *
 * In the paper stage i of the tree doubles the ranks from v < 2^i to v < 2^(i+1), and rank 0 is the
 * root. Without the last of S stages there are m = 2^(S-1) places, here for any root. Numbers of
 * places that are no powers of 2 leave out a part of a stage.
 *
 * P = 8, s = 2, n = 1, and places in rank order from the root; messages between places:
 *
 *   m = 8   places 0..7: ranks 2, 3, 4, 5, 6, 7, 0, 1  0 to 4  0 to 2, 4 to 6  0 to 1, 2 to 3, ..
 *   m = 4   places 0..3: ranks 2, 3, 4, 5                      0 to 2          0 to 1, 2 to 3
 *   m = 3   places 0..2: ranks 2, 3, 4                         0 to 2          0 to 1
 *
 * Ranks without a place do nothing. The tree is that of knomial.c on m ranks, so the longest chain
 * has ceil(log_{n+1} m) messages. Operands are combined in the order of places, so the operation
 * has to commute. The peers of a rank depend only on its distance from the root, unless the ranks
 * are listed.
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
    return (struct fit){.strength = FIT_ANYTHING, .why = "a part of the ranks"};
}

static double cost(const struct shape *g, const struct situation *s)
{
    struct shape part = *g;

    part.size = places_of(g);
    return ncoll__cost_of_rooted(&part, s);
}

const struct algorithm ncoll__threshold = {
    .name = "threshold",
    .summary = "k-nomial tree, k = n+1, of a part of the ranks",
    .source = "Iakymchuk et al., 2022",
    .collectives = 1u << COLL_BCAST | 1u << COLL_REDUCE,
    .properties =
        NEEDS_COMMUTATIVE | GIVES_SAME_BITS | ROTATES | ROOT_HAS_ALL | USES_RADIX | TAKES_PLACES,
    .footprint = footprint,
    .round = round_of,
    .fit = fit,
    .cost = cost,
};
