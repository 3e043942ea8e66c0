/* SPDX-License-Identifier: BSD-3-Clause */
/* Selects algorithms, and determines the properties of calls and groups that the selection depends
 * on. */
#ifndef NCOLL_LIB_SELECT_H
#define NCOLL_LIB_SELECT_H

#include "lib/base/group.h"
#include "lib/plan/plan.h"

/* ------------------------------------------------------------------ select.c ------------------ */

struct choice;
/* Chooses the algorithm of a call. longest: see ncoll__plan(). */
int ncoll__select(struct ncoll_group *g, const struct call_args *args, const struct op *op,
                  size_t longest, struct choice *out);

/* True if a trial of radices (NCOLL_TUNE=trial) is made for calls with such arguments. The trial
 * may be over already. */
bool ncoll__trial_is_for(const struct call_args *args);

/* ------------------------------------------------------------------ pieces.c ------------------ */

/* Returns the smallest length in bytes of messages that all ranks of the group read in each other's
 * memory; SIZE_MAX: they read none. */
size_t ncoll__read_from(const struct ncoll_group *g);

/* Returns the bytes of the pieces that a one-way message of this length is cut into; 0: it is not
 * cut. */
size_t ncoll__peer_read_pieces(const struct ncoll_group *g, enum collective collective,
                               size_t bytes);

#endif
