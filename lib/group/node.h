/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank tells about the place it runs in. */
#ifndef NCOLL_LIB_NODE_H
#define NCOLL_LIB_NODE_H

#include <stdint.h>

struct node {
    uint64_t id;   /* the same for processes that can share memory, and see each other's /proc */
    uint32_t cpus; /* cores this process may run on */
    int32_t bound_cpu; /* the only one, -1 if there are several */
    uint64_t machine;  /* the same for all that one kernel runs, in whatever containers */
};

struct node ncoll__node(void);

/* Waits a little, longer each time, up to a millisecond. Start with zero. */
void ncoll__backoff(unsigned *times);

#endif
