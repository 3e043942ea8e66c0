/* SPDX-License-Identifier: BSD-3-Clause */
/* What follows from where all ranks are. */
#ifndef NCOLL_LIB_PLACES_H
#define NCOLL_LIB_PLACES_H

#include <stdbool.h>

#include "lib/group/node.h"

struct places {
    int nodes;             /* of the job */
    int node_ranks;        /* on the asking rank's node */
    bool oversubscribed;   /* some ranks of that node share a core */
    double ranks_per_core; /* on the most crowded node of all, at least 1: the same for all ranks,
                              so choices may depend on it */
};

/* nodes[rank] is what each rank told; it is sorted meanwhile, own is the asking rank's. */
struct places ncoll__places(struct node *nodes, int ranks, struct node own);

#endif
