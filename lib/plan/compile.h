/* SPDX-License-Identifier: BSD-3-Clause */
/* The stages of making a plan from a schedule. */
#ifndef NCOLL_LIB_COMPILE_H
#define NCOLL_LIB_COMPILE_H

#include "lib/plan/plan.h"

/* Returns the shape of a call with these arguments, for this rank of the group. inverse: the
 * operation has an inverse. */
struct shape ncoll__shape(const struct ncoll_group *g, const struct call_args *args, unsigned radix,
                          bool inverse);

/* Divides a call into parts if the algorithm takes more slots than one run may use. The library's
 * own calls stay whole. */
void ncoll__divide_call(const struct ncoll_group *g, const struct call_args *args,
                        const struct algorithm *algorithm, struct shape *shape);

/* Returns an array with the steps of one rank in all rounds, and sets *count; NULL: no memory. The
 * caller releases the array. repeats: the caller accepts repeated steps or, if blocks have counts,
 * uneven ones (struct step). */
struct step *ncoll__steps(struct ncoll_group *g, const struct algorithm *algorithm,
                          const struct shape *shape, bool repeats, unsigned *count);

/* Makes the programs of a plan. Returns NCOLL_OK or NCOLL_ERR_MEMORY. */
int ncoll__compile(struct ncoll_group *g, struct plan *plan);

/* Fills in peers, senders and depth of a compiled plan. Returns NCOLL_OK or NCOLL_ERR_MEMORY. */
int ncoll__find_peers(struct ncoll_group *g, struct plan *plan);

/* Finds the windows of the plan's neighbours, after its peers have been connected. Returns NCOLL_OK
 * or an error, which is recorded. */
int ncoll__neighbours_view(struct ncoll_group *g, struct plan *plan);

/* True if the plan's peers are connected on every rank, so that no exchange is needed. */
bool ncoll__peers_wired(const struct ncoll_group *g, const struct plan *plan);
/* Returns the distances of the plan's peers, counted upward from this rank modulo the group's size;
 * NULL: other ranks have peers at other distances. */
const unsigned *ncoll__peers_by_distance(const struct plan *plan);
/* Records that the plan's peers are connected. Returns NCOLL_OK or NCOLL_ERR_MEMORY. */
int ncoll__peers_now_wired(struct ncoll_group *g, const struct plan *plan);

/* Records a mismatch: a message with the signature `theirs` is in a slot of `rank`, which is this
 * rank or a neighbour, by its number in the group. So the rank that put it has called something
 * else than `mine`. Returns NCOLL_ERR_MISMATCH. */
int ncoll__mismatch_in_slot(struct ncoll_group *g, struct signature mine, unsigned rank,
                            unsigned slot, struct signature theirs);

#endif
