/* SPDX-License-Identifier: BSD-3-Clause */
/* Alltoall over a grid of ranks, in two hops: see grids.c. */
#include "algos/grids.h"

#define HOPS 2u

static struct footprint footprint(const struct shape *g)
{
    return ncoll__grid_footprint(g, HOPS);
}

static bool exists(const struct shape *g)
{
    return footprint(g).slots <= SLOTS_MAX;
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    return ncoll__grid_round(g, HOPS, r, out);
}

static unsigned peers(const struct shape *g)
{
    return footprint(g).slots;
}

static double cost(const struct shape *g, const struct situation *s)
{
    return ncoll__grid_cost(g, s, HOPS);
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    return ncoll__grid_fit(g, s, HOPS);
}

const struct algorithm ncoll__grid = {
    .name = "grid",
    .summary = "two hops over a grid of ranks, about sqrt(P) messages each",
    .source = "Bokhari, ICPP 1991; Kale et al., IPDPS 2003",
    .collectives = 1u << COLL_ALLTOALL,
    .properties = SYNCHRONISES | GIVES_SAME_BITS | PADS_BLOCKS,
    .exists = exists,
    .footprint = footprint,
    .round = round_of,
    .peers = peers,
    .fit = fit,
    .cost = cost,
};
