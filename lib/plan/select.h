/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a selection: what is preferred, and what an estimate puts in its place. */
#ifndef NCOLL_LIB_SELECT_H
#define NCOLL_LIB_SELECT_H

#include "lib/plan/plan.h"

struct choice;

/* ------------------------------------------------------------------ select_preferred.c ------- */

/* Whether the algorithm computes the right thing for this operation. */
bool ncoll__serves(const struct algorithm *a, const struct call_args *args, const struct op *op);

/* The algorithm for blocks of so many bytes, by name, and why. */
const char *ncoll__preferred(const struct ncoll_group *g, const struct call_args *args,
                             const struct op *op, size_t bytes, const char **why);

/* Serves any operation and any counts. */
const char *ncoll__last_resort(enum collective collective);

/* ------------------------------------------------------------------ select_shown.c ----------- */

/* Whether all ranks of the group read messages of so many bytes at each other. */
bool ncoll__all_show(const struct ncoll_group *g, size_t bytes);
/* Long vectors of ranks that read each other's memory. Two exchange halves, and each puts its
 * result into the other's OUT; of more each gives its result to all at once, in two rounds instead
 * of 2 (P - 1), or on few cores one combines all of it. NULL: not here. */
const char *ncoll__shown_allreduce(const struct ncoll_group *g, const struct op *op, size_t bytes);

/* What is the same for all of them is copied once, and read by all at once. NULL: not here. */
const char *ncoll__shown_copies(const struct ncoll_group *g, enum collective collective,
                                size_t bytes);

/* Bytes of the pieces that a message to or from a root is cut into; 0: it is not cut for that. */
size_t ncoll__shown_pieces(const struct ncoll_group *g, enum collective collective, size_t bytes);

/* ------------------------------------------------------------------ select_radix.c ----------- */

/* Radix by estimate; where nobody asked for the algorithm either, perhaps another in its place: the
 * tree where ranks share cores, which needs the fewest messages, or what goes by nodes. */
unsigned ncoll__pick_by_estimate(const struct ncoll_group *g, const struct call_args *args,
                                 const struct op *op, const struct shape *shape, size_t bytes,
                                 bool asked_for, struct choice *out);

/* Where ranks share cores, rounds are what is dear; the bytes are the same with every n. Or the
 * tree for short blocks, where a message is dearer than a change of ranks: all blocks go down. Or
 * what goes by nodes, where messages on a node are known to be cheaper. */
unsigned ncoll__pick_for_allgather(const struct ncoll_group *g, const struct shape *shape,
                                   size_t bytes, struct choice *out);

#endif
