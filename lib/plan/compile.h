/* SPDX-License-Identifier: BSD-3-Clause */
/* The stages of making a plan from a schedule. */
#ifndef NCOLL_LIB_COMPILE_H
#define NCOLL_LIB_COMPILE_H

#include "lib/plan/plan.h"

/* Returns the shape of a call with these arguments, for a rank of the group. */
struct shape ncoll__shape(const struct ncoll_group *g, const struct call_args *args, unsigned radix,
                          bool inverse);

/* Divides a call into parts if the algorithm takes more slots than one run may use. The library's own
 * calls stay whole. */
void ncoll__divide_call(const struct ncoll_group *g, const struct call_args *args,
                        const struct algorithm *algorithm, struct shape *shape);

/* Lists the steps of all rounds of one rank, also repeated ones if the caller takes them (uneven
 * ones, if blocks have counts); it releases the list. NULL: no memory. */
struct step *ncoll__steps(struct ncoll_group *g, const struct algorithm *algorithm,
                          const struct shape *shape, bool repeats, unsigned *count);

/* Makes the programs of a plan. Returns NCOLL_OK or NCOLL_ERR_MEMORY. */
int ncoll__compile(struct ncoll_group *g, struct plan *plan);

/* Fills in peers, senders and depth of a compiled plan. Returns NCOLL_OK or NCOLL_ERR_MEMORY. */
int ncoll__find_peers(struct ncoll_group *g, struct plan *plan);

/* Finds the windows of the plan's neighbours, once peers are connected. Returns NCOLL_OK or an
 * error. */
int ncoll__neighbours_view(struct ncoll_group *g, struct plan *plan);

/* True if the plan's peers are connected on every rank, so that no exchange is needed. */
bool ncoll__peers_wired(const struct ncoll_group *g, const struct plan *plan);
/* Returns the distances of the plan's peers to the right; NULL: they are not those of all ranks. */
const unsigned *ncoll__peers_by_distance(const struct plan *plan);
/* Records that the plan's peers are connected. Returns NCOLL_OK or NCOLL_ERR_MEMORY. */
int ncoll__peers_now_wired(struct ncoll_group *g, const struct plan *plan);

/* Records a mismatch: a message with this signature is in a slot of this rank (its number in the
 * group), so the rank that put it has called something else. Returns NCOLL_ERR_MISMATCH. */
int ncoll__mismatch_in_slot(struct ncoll_group *g, struct signature mine, unsigned rank,
                            unsigned slot, struct signature theirs);

#endif
