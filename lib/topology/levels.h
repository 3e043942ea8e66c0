/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Levels inside a node: domains of the machine in which ranks are closer to each other. Every rank
 * finds its own domains and sends them when it joins. All ranks decide from the same data, and so
 * alike.
 */
#ifndef NCOLL_LIB_LEVELS_H
#define NCOLL_LIB_LEVELS_H

#include "algos/schedule.h"
#include "lib/topology/node.h"

#define NO_LEVEL (-1)

/* Fills in the domains of n processes of this machine, from the cores of each. */
void ncoll__find_domains(struct node *nodes, unsigned n);

/* Fills in the domains of this process. A process that may run on all cores is in no domain. */
void ncoll__find_own_domains(struct node *own);

/*
 * Chooses the level that the ranks of one node are grouped by: the outermost level with several
 * domains in use and several ranks in one of them, if every rank is in a domain. Returns the level,
 * with its domains as nodes in *out; or NO_LEVEL, and leaves *out as it is. wish: of enum
 * ncoll_level. ids: [ranks], room: NODES_ROOM(ranks).
 */
int ncoll__take_level(const uint32_t (*domains)[NODE_LEVELS], unsigned ranks, int wish,
                      uint64_t *ids, unsigned *room, struct nodes *out);

/* Returns a name such as "package"; "none" for NO_LEVEL. */
const char *ncoll__level_name(int level);

#endif
