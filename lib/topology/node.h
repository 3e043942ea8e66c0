/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine and the cores on which a rank runs, as the rank describes them to the others. */
#ifndef NCOLL_LIB_NODE_H
#define NCOLL_LIB_NODE_H

#include <stdint.h>

/* Number of cores that can be told apart; higher core numbers wrap around. */
#define NODE_CORES 1024u

/* Levels of the machine, outermost first: package, NUMA node, L3 cache, core. */
#define NODE_LEVELS 4u

struct node {
    uint64_t id;      /* the same for processes that can share memory and see each other's /proc */
    uint64_t machine; /* the same for all processes of one kernel, in any container */
    uint64_t cores[NODE_CORES / 64]; /* bit c: this process may run on core c; all 0: not known */
    uint64_t quota_group; /* identifies the control group that limits the processor time */
    /* this limit, in thousandths of a core; 0: no limit */
    uint64_t quota_milli;
    /* at each level the number, from 1, of the domain that contains all cores of the process; 0:
     * none does */
    uint32_t domains[NODE_LEVELS];
    uint32_t ranks_per_core_milli; /* ncoll_params.ranks_per_core, in thousandths; 0: not set */
};

struct node ncoll__node(void);

/* Fill in the cores, and the tightest limit of processor time. Defined in cores.c. */
void ncoll__node_cores(struct node *node);
void ncoll__node_quota(struct node *node);

#endif
