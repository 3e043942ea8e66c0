/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks of each node, as the launcher tells them by PMI_process_mapping:
 *
 *     (vector,(first node,nodes,ranks of each),(...))
 *
 * Ranks are assigned to nodes in this order. When the list ends before all ranks have a node, it
 * begins again. These need not be the nodes that the library finds itself: it tells nodes apart by
 * their kernels.
 */
#ifndef NCOLL_BOOTSTRAP_PMI_NODES_H
#define NCOLL_BOOTSTRAP_PMI_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pmi_nodes {
    int n;
    int32_t *of;      /* [ranks] the node of each rank */
    int32_t *leader;  /* [n] the first rank of each node */
    int *mates;       /* [n_mates] ranks of this node, ascending */
    int n_mates, own; /* own: the index of this rank in mates */
};

/* Reads a mapping. If there is none (text NULL), or none that is valid, each rank counts as a node
 * of its own. Returns false if there is no memory. */
bool ncoll__pmi_nodes_read(struct pmi_nodes *nodes, const char *text, size_t len, int rank,
                           int ranks);
void ncoll__pmi_nodes_free(struct pmi_nodes *nodes);

#endif
