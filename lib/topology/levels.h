/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Levels inside a node: domains of the machine in which ranks are closer to each other. In a job on
 * one node, rank 0 finds the domains of all ranks, from the cores that each rank has told, and
 * sends them to all. So the topology is read once, and all ranks decide alike.
 */
#ifndef NCOLL_LIB_LEVELS_H
#define NCOLL_LIB_LEVELS_H

#include "algos/schedule.h"
#include "lib/topology/node.h"

#define NO_LEVEL (-1)

/* Fills in the domains of n processes of this machine, from the cores of each. */
void ncoll__find_domains(struct node *nodes, unsigned n);

/* Fills in the domains of all ranks of a job on one node. A process that may run on all cores is in
 * no domain. The topology is read only if some process may run on a part of the cores only. */
void ncoll__find_domains_of_ranks(struct node *nodes, unsigned n);

/*
 * Chooses the level by whose domains the ranks of one node are grouped: the outermost level at
 * which every rank is in a domain, several domains have ranks, and some domain has several ranks.
 * Returns the level, with its domains as nodes in *out; or NO_LEVEL, and leaves *out as it is.
 * wish: a value of enum ncoll_level. ids, room: memory for the work and for *out, [ranks] and
 * [NODES_ROOM(ranks)].
 */
int ncoll__take_level(const uint32_t (*domains)[NODE_LEVELS], unsigned ranks, int wish,
                      uint64_t *ids, unsigned *room, struct nodes *out);

/* Returns a name such as "package"; "none" for NO_LEVEL. */
const char *ncoll__level_name(int level);

#endif
