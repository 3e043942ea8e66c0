/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps from a schedule to a plan. */
#ifndef NCOLL_LIB_COMPILE_H
#define NCOLL_LIB_COMPILE_H

#include "lib/plan/plan.h"

/* What a rank of the group is told of a call with these arguments. */
struct shape ncoll__shape(const struct ncoll_group *g, const struct call_args *args, unsigned radix,
                          bool inverse);

/* Every round of one rank, as one list of steps, which the caller releases. NULL: no memory. */
struct step *ncoll__steps(struct ncoll_group *g, const struct algorithm *algorithm,
                          const struct shape *shape, unsigned *count);

/* Fills in the programs of a plan: NCOLL_OK or NCOLL_ERR_MEMORY. */
int ncoll__compile(struct ncoll_group *g, struct plan *plan);

/* Fills in peers, senders and depth of a plan that is compiled: the same. */
int ncoll__find_peers(struct ncoll_group *g, struct plan *plan);

/* Where this rank finds the windows that the plan looks at, once its peers are connected. NCOLL_OK
 * or an error. */
int ncoll__neighbours_view(struct ncoll_group *g, struct plan *plan);

/* Whether the plan's peers are connected already, on every rank: then no exchange is needed. */
bool ncoll__peers_wired(const struct ncoll_group *g, const struct plan *plan);
/* They are now. NCOLL_OK or NCOLL_ERR_MEMORY. */
int ncoll__peers_now_wired(struct ncoll_group *g, const struct plan *plan);

#endif
