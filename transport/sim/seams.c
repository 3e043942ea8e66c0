/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replacements for parts of the library that use the machine directly, not through a context's
 * parameters. A program that links these objects before the library's archive gets them in place of
 *
 *   transport/registry.c     the list of transports: here only one
 *   bootstrap/user.c         callbacks of the user: see bootstrap.c in this folder
 *   lib/topology/node.c      the node and core of the process: here of the running rank
 *   lib/base/backoff.c       waiting for events that no transport reports: here in virtual time
 *
 * since the linker searches archives only for symbols that are still undefined.
 */
#include "lib/base/system.h"
#include "lib/topology/node.h"
#include "transport/sim/engine.h"

const struct transport_ops *const ncoll__transports[] = {&ncoll__transport_sim, NULL};

/* Ignores the name: the settings allow only the names of the library's transports. */
const struct transport_ops *ncoll__transport_find(const char *name)
{
    (void)name;
    return &ncoll__transport_sim;
}

/* Returns the node of the running rank. Each rank of a node has a core of its own. */
struct node ncoll__node(void)
{
    int rank = ncoll__sim->running->rank, ranks = ncoll__sim->config.node_ranks;
    unsigned core = (unsigned)(rank % ranks) % NODE_CORES;
    struct node node = {.id = 1 + (uint64_t)(rank / ranks)};

    node.machine = node.id;
    node.cores[core / 64] = UINT64_C(1) << core % 64;
    return node;
}

void ncoll__backoff(unsigned *times)
{
    ++*times;
    ncoll__sim_block(ncoll__sim->running, BACKOFF_NS);
}
