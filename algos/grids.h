/* SPDX-License-Identifier: BSD-3-Clause */
/* Alltoall over a grid of ranks, in two or three hops: see grids.c. */
#ifndef NCOLL_ALGOS_GRIDS_H
#define NCOLL_ALGOS_GRIDS_H

#include "algos/choice.h"

/* The functions of struct algorithm, for an algorithm with this number of hops. A rank has at most
 * as many peers as slots: a peer that does not put to the rank leaves a slot there unused. */
bool ncoll__grid_round(const struct shape *g, unsigned hops, unsigned r, struct round *out);
struct footprint ncoll__grid_footprint(const struct shape *g, unsigned hops);
double ncoll__grid_cost(const struct shape *g, const struct situation *s, unsigned hops);
/* Returns a fit just above that of the algorithm with one hop less if this one is estimated to be
 * faster, and just below it otherwise. */
struct fit ncoll__grid_fit(const struct shape *g, const struct situation *s, unsigned hops);

#endif
