/* SPDX-License-Identifier: BSD-3-Clause */
/* Alltoall over a grid of ranks, in two or three hops: see grids.c. */
#ifndef NCOLL_ALGOS_GRIDS_H
#define NCOLL_ALGOS_GRIDS_H

#include "algos/choice.h"

/* These are what struct algorithm has, for an algorithm of so many hops. A rank has no more peers than
 * slots: each of its peers puts to it, or it puts to a rank whose slot it would have. */
bool ncoll__grid_round(const struct shape *g, unsigned hops, unsigned r, struct round *out);
struct footprint ncoll__grid_footprint(const struct shape *g, unsigned hops);
double ncoll__grid_cost(const struct shape *g, const struct situation *s, unsigned hops);
/* It replaces an algorithm of fewer hops if it is estimated to be faster, and comes next otherwise. */
struct fit ncoll__grid_fit(const struct shape *g, const struct situation *s, unsigned hops);

#endif
