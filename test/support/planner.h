/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank of a job whose other ranks do not exist: enough of a context for the library to choose
 * algorithms and to make plans, for any number of ranks. Its transport moves nothing, and its
 * windows have a shape but no memory. No call can be started.
 */
#ifndef NCOLL_TEST_PLANNER_H
#define NCOLL_TEST_PLANNER_H

#include <stdbool.h>

#include "ncoll.h"
#include "transport/transport.h"

/* Over which the ranks are connected. Messages cost what the transports of these names say. */
enum planner_fabric { PLANNER_SHM, PLANNER_VERBS, PLANNER_SOFT_VERBS, PLANNER_BOTH };

struct planner_job {
    unsigned rank, ranks;
    enum planner_fabric fabric;
    unsigned per_node;       /* ranks that follow on each other share a node; 0: all do */
    bool in_turn;            /* rank r is on node r mod N instead, of N = ceil(ranks / per_node) */
    double ranks_per_core;   /* 0: 1 */
    bool without_peer_reads; /* ranks do not read each other's memory */
    /* as in ncoll_params; NULL: calloc() and free() */
    void *(*allocate)(void *arg, size_t bytes);
    void (*release)(void *arg, void *memory);
    void *allocate_arg;
};

struct planner;

/* NULL: no memory. */
struct planner *planner_new(const struct planner_job *job);
ncoll_group *planner_world(struct planner *p);
/* Returns what the library said last: NULL or empty, nothing. */
const char *planner_error(struct planner *p);
void planner_free(struct planner *p);

#endif
