/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ranks a launcher has started on which node, as PMI_process_mapping tells:
 *
 *     (vector,(first node,nodes,ranks of each),(...))
 *
 * Ranks are dealt out in this order. When the list ends before all ranks have a node, it begins
 * again. These need not be the nodes of the library, which knows them by their kernel.
 */
#ifndef NCOLL_BOOTSTRAP_PMI_NODES_H
#define NCOLL_BOOTSTRAP_PMI_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pmi_nodes {
    int n;
    int32_t *of;      /* [ranks] */
    int32_t *leader;  /* [n] first ranks */
    int *mates;       /* [n_mates] ranks of this node, ascending */
    int n_mates, own; /* own: the index of this rank */
};

/* Reads a mapping. If there is none that fits (text NULL, or nonsense), each rank is a node of its
 * own. Returns false if there is no memory. */
bool ncoll__pmi_nodes_read(struct pmi_nodes *nodes, const char *text, size_t len, int rank,
                           int ranks);
void ncoll__pmi_nodes_free(struct pmi_nodes *nodes);

#endif
