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

/* Returns X_k[j], the share of lane j on node k. */
struct extent ncoll__share_of(const struct hierarchy *h, unsigned k, unsigned j);

/* Returns the number of elements in X_k, .., X_{k+n-1}. */
size_t ncoll__nodes_elements(const struct shape *g, unsigned k, unsigned n);

/* True if all nodes have the same number of ranks, and all blocks have the same count. */
bool ncoll__nodes_are_alike(const struct shape *g);

/* Sets the counts in *lane, the shape of the allgather of lane j: its block k is X_k[j]. */
void ncoll__share_counts(const struct hierarchy *h, unsigned j, struct shape *lane);

#endif
