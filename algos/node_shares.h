/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shares of a node's blocks that its ranks send to other nodes: see algos/hierarchical_packed.c
 * for the symbols.
 */
#ifndef NCOLL_ALGOS_NODE_SHARES_H
#define NCOLL_ALGOS_NODE_SHARES_H

#include "algos/extents.h"

struct hierarchy {
    const struct shape *g;
    unsigned L, T, N, M;
    unsigned node, own; /* this rank's node and local rank */
};

struct hierarchy ncoll__hierarchy_of(const struct shape *g, bool balanced);

/* X_k[j] */
struct extent ncoll__share_of(const struct hierarchy *h, unsigned k, unsigned j);

/* Returns the elements of X_k, .., X_{k+n-1}. */
size_t ncoll__nodes_elements(const struct shape *g, unsigned k, unsigned n);

/* True if all nodes have the same number of ranks, and blocks of one count: all nodes are alike. */
bool ncoll__nodes_are_alike(const struct shape *g);

/* Sets the counts of an allgather of the shares of lane j: a block is the share of a node. */
void ncoll__share_counts(const struct hierarchy *h, unsigned j, struct shape *lane);

#endif
