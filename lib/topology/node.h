/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts that a rank tells the others about the place in which it runs. */
#ifndef NCOLL_LIB_NODE_H
#define NCOLL_LIB_NODE_H

#include <stdint.h>

/* Cores that can be told apart; higher numbers wrap around. */
#define NODE_CORES 1024u

/* Levels of the machine, outermost first: package, NUMA node, L3 cache, core. */
#define NODE_LEVELS 4u

struct node {
    uint64_t id;      /* the same for processes that can share memory and see each other's /proc */
    uint64_t machine; /* the same for all processes of one kernel, in any container */
    uint64_t cores[NODE_CORES / 64]; /* bits: cores that this process may run on; none: not known */
    uint64_t quota_group;            /* the control group that limits its processor time */
    /* that limit in thousandths of a core; 0: no limit */
    uint64_t quota_milli;
    uint32_t domains[NODE_LEVELS]; /* the domain that contains all its cores, from 1; 0: none */
    uint32_t
        ranks_per_core_milli; /* by the settings, in thousandths: see ncoll_params; 0: not set */
};

struct node ncoll__node(void);

/* Fills in the cores and the tightest limit of processor time. Defined in cores.c. */
void ncoll__node_cores(struct node *node);
void ncoll__node_quota(struct node *node);

#endif
