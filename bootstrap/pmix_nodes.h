/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of each node, as the launcher's servers tell them without any communication. These need
 * not be the nodes that the library finds itself: it tells nodes apart by their kernels. */
#ifndef NCOLL_BOOTSTRAP_PMIX_NODES_H
#define NCOLL_BOOTSTRAP_PMIX_NODES_H

#include <pmix.h>
#include <stdbool.h>
#include <stdint.h>

/* The ranks of this node. The first one is its leader. */
struct pmix_mates {
    int *ranks; /* [n] ascending */
    int n, own; /* own: the index of this rank in ranks */
};

/* Finds the ranks of this node. If the launcher does not tell, there is this rank alone. Returns
 * false if there is no memory. */
bool ncoll__pmix_find_mates(struct pmix_mates *mates, const pmix_proc_t *self, int ranks);
void ncoll__pmix_mates_free(struct pmix_mates *mates);

struct pmix_nodes {
    int n;
    int32_t *of;     /* [ranks] the node of each rank */
    int32_t *leader; /* [n] the first rank of each node */
};

/* Finds the nodes of all ranks. If the launcher does not tell, each rank counts as a node of its
 * own. This takes some questions to the server for each node, or even for each rank, so one rank of
 * a node does it for all. Returns false if there is no memory. */
bool ncoll__pmix_find_nodes(struct pmix_nodes *nodes, const pmix_proc_t *self, int ranks,
                            const struct pmix_mates *mates);
void ncoll__pmix_nodes_free(struct pmix_nodes *nodes);

#endif
