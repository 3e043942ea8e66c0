/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes calls to algorithms (struct situation), and gets the algorithms' estimates of the times
 * of calls. */
#ifndef NCOLL_LIB_ESTIMATE_H
#define NCOLL_LIB_ESTIMATE_H

#include "algos/choice.h"
#include "lib/plan/plan.h"

struct ncoll_context;

/* Return the cost of a message between ranks of different nodes or domains (far), and between ranks
 * of the same node or domain (near). */
struct message_cost ncoll__far_cost(const struct ncoll_group *g);
struct message_cost ncoll__near_cost(const struct ncoll_group *g);

/* Returns the situation of a call on blocks of at most `longest` elements. */
struct situation ncoll__situation(const struct ncoll_group *g, const struct call_args *args,
                                  const struct op *op, size_t longest);

/* Returns true if the algorithm needs at most as many peers as NCOLL_PEERS allows or, if that is
 * not set, as the devices have room for. Base peers are allowed in any case. */
bool ncoll__within_peers(const struct ncoll_group *g, const struct algorithm *algorithm,
                         const struct shape *shape);

/* Returns the algorithm's lowest estimate over all radices that exist and fit the window, and sets
 * *best to the radix of that estimate. Returns -1 if the algorithm gives no estimate; *best is then
 * 1. */
double ncoll__estimate(const struct ncoll_group *g, const struct algorithm *algorithm,
                       struct shape shape, const struct situation *situation, unsigned *best);

#endif
