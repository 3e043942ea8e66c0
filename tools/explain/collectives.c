/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names of the collectives, and how much data a schedule is explained with.
 */
#include <string.h>

#include "tools/explain/explain.h"

static const char *const names[COLLECTIVES] = {
    [COLL_BARRIER] = "barrier",
    [COLL_ALLREDUCE] = "allreduce",
    [COLL_BCAST] = "bcast",
    [COLL_REDUCE] = "reduce",
    [COLL_GATHER] = "gather",
    [COLL_SCATTER] = "scatter",
    [COLL_ALLGATHER] = "allgather",
    [COLL_ALLTOALL] = "alltoall",
    [COLL_REDUCE_SCATTER] = "reduce-scatter",
    [COLL_SCAN] = "scan",
    [COLL_EXSCAN] = "exscan",
};

const char *collective_name(enum collective c)
{
    return names[c];
}

enum collective collective_named(const char *name)
{
    for (enum collective c = COLL_BARRIER; c < COLLECTIVES; c++)
        if (strcmp(name, names[c]) == 0)
            return c;
    return 0;
}

enum collective first_collective(const struct algorithm *a)
{
    enum collective c = COLL_BARRIER;

    if (a->collectives & 1u << COLL_ALLREDUCE)
        return COLL_ALLREDUCE;
    while (!(a->collectives & 1u << c))
        c++;
    return c;
}

void print_collectives(FILE *out, const struct algorithm *a)
{
    for (enum collective c = COLL_BARRIER; c < COLLECTIVES; c++)
        if (a->collectives & 1u << c)
            fprintf(out, " %s", names[c]);
}

size_t explained_count(const struct algorithm *a, struct shape g)
{
    g.count = 1;
    size_t message = a->footprint(&g).message;

    g.count = g.size;
    bool slices = a->footprint(&g).message < g.size * message;
    return g.collective == COLL_BARRIER ? 0 : slices ? g.size : 1;
}
