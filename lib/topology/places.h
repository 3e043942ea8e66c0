/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts that follow from the nodes and cores of all ranks. */
#ifndef NCOLL_LIB_PLACES_H
#define NCOLL_LIB_PLACES_H

#include <stdbool.h>

#include "lib/topology/node.h"

struct places {
    int nodes;           /* nodes of the job */
    int node_ranks;      /* ranks on the calling rank's node */
    bool oversubscribed; /* some ranks of the calling rank's node share a core */
    double here;         /* ranks per core on this node, at least 1 */
    /* Ranks per core on the most oversubscribed node, at least 1. It is the same on all ranks, so
     * choices may depend on it. */
    double ranks_per_core;
};

/* Finds these facts. nodes[rank]: what each rank has sent; the array gets sorted. own: what the
 * calling rank has sent. */
struct places ncoll__places(struct node *nodes, int ranks, struct node own);

#endif
