/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Levels inside a node: domains of the machine in which ranks are closer to each other. Rank 0 of a
 * job on one node finds the domains of all ranks, from the cores that each of them has told, and
 * sends them. So the topology is read once, and all ranks decide alike.
 */
#ifndef NCOLL_LIB_LEVELS_H
#define NCOLL_LIB_LEVELS_H

#include "algos/schedule.h"
#include "lib/topology/node.h"

#define NO_LEVEL (-1)

/* Fills in the domains of n processes of this machine, from the cores of each. */
void ncoll__find_domains(struct node *nodes, unsigned n);

/* Fills in the domains of the ranks of a job, on all its nodes. A process that may run on all cores
 * is in no domain. The topology is read only if some process may run on a part of the cores only. */
void ncoll__find_domains_of_ranks(struct node *nodes, unsigned n);

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
