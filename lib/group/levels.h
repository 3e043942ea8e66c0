/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Levels inside a node: domains of the machine in which ranks are nearer to each other. Every rank
 * finds its own domains and tells them when it joins; all decide from what all have told, so alike.
 */
#ifndef NCOLL_LIB_LEVELS_H
#define NCOLL_LIB_LEVELS_H

#include "algos/schedule.h"
#include "lib/group/node.h"

#define NO_LEVEL (-1)

/* Fills in the domains of each of n processes of this machine, by their cores. */
void ncoll__find_domains(struct node *nodes, unsigned n);

/* The same for this process; quickly where it may run anywhere, and so is in no domain. */
void ncoll__find_own_domains(struct node *own);

/*
 * The level that ranks of one node go by, and the domains as nodes; else NO_LEVEL, *out as it was.
 * That is the outermost with several domains in use and several ranks in one of them, if every
 * rank is in a domain. wish: of enum ncoll_level. ids: [ranks], room: NODES_ROOM(ranks).
 */
int ncoll__take_level(const uint32_t (*domains)[NODE_LEVELS], unsigned ranks, int wish,
                      uint64_t *ids, unsigned *room, struct nodes *out);

/* "package"; "none" for NO_LEVEL. */
const char *ncoll__level_name(int level);

#endif
