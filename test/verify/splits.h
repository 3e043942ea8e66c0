/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks on nodes: all ways to have 1..SPLIT_NODES nodes of 1..SPLIT_RANKS ranks, but for the order
 * of the nodes, which is drawn; in blocks, in turn, and anyhow.
 */
#ifndef NCOLL_TEST_VERIFY_SPLITS_H
#define NCOLL_TEST_VERIFY_SPLITS_H

#include "algos/schedule.h"

#define SPLIT_NODES 6
#define SPLIT_RANKS 6
#define SPLIT_P     (SPLIT_NODES * SPLIT_RANKS)

/* How many ranks each node has. */
struct split {
    unsigned nodes, ranks[SPLIT_NODES];
};

/* The first has one node of one rank; false past the last, which is the first again. */
bool split_next(struct split *s);

enum placing { PLACED_IN_BLOCKS, PLACED_IN_TURN, PLACED_ANYHOW, PLACINGS };

/* A placement of ranks on nodes, in memory of its own. */
#define PLACEMENT_P 256
struct placement {
    struct nodes nodes;
    unsigned P, room[NODES_ROOM(PLACEMENT_P)];
};

void split_place(const struct split *s, enum placing placing, uint64_t *seed,
                 struct placement *out);

/* P ranks on some nodes, drawn; up to PLACEMENT_P. About half of them are dealt out in turn, so
 * that nodes often have several. */
void placement_draw(struct placement *p, unsigned P, uint64_t *seed);

#endif
