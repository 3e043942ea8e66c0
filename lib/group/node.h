/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank tells about the place it runs in. */
#ifndef NCOLL_LIB_NODE_H
#define NCOLL_LIB_NODE_H

#include <stdint.h>

/* Cores are told apart up to so many; the ones above are taken for others below. */
#define NODE_CORES 1024u

/* Levels of the machine, outermost first: package, NUMA node, L3 cache, core. */
#define NODE_LEVELS 4u

struct node {
    uint64_t id;      /* the same for processes that can share memory, and see each other's /proc */
    uint64_t machine; /* the same for all that one kernel runs, in whatever containers */
    uint64_t cores[NODE_CORES / 64]; /* bits: that this process may run on; none: not known */
    uint64_t quota_group;            /* the control group whose limit of processor time it shares */
    uint64_t quota_milli;            /* that limit, in thousandths of a core; 0: none */
    uint32_t domains[NODE_LEVELS];   /* that all its cores are in, from 1; 0: in no single one */
};

struct node ncoll__node(void);

/* cores.c: fill in the cores, and the tightest limit of processor time. */
void ncoll__node_cores(struct node *node);
void ncoll__node_quota(struct node *node);

/* Waits a little, longer each time, up to a millisecond. Start with zero. */
void ncoll__backoff(unsigned *times);

#endif
