/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an algorithm serves, and how much data its schedules are explained with.
 */
#include <string.h>

#include "lib/failure/card.h"
#include "tools/explain/explain.h"

static bool same_name(const char *a, const char *b)
{
    size_t i = 0;

    while (a[i] != '\0' && (a[i] == '-' ? '_' : a[i]) == b[i])
        i++;
    return a[i] == b[i];
}

enum collective collective_named(const char *name)
{
    for (enum collective c = COLL_BARRIER; c < COLLECTIVES; c++)
        if (same_name(name, ncoll__collective_name(c)))
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
            fprintf(out, " %s", ncoll__collective_name(c));
}

size_t explained_count(const struct algorithm *a, struct shape g)
{
    if (g.collective == COLL_BARRIER)
        return 0;
    g.count = 1;
    size_t message = a->footprint(&g).message;
    g.count = g.size;
    return a->footprint(&g).message < g.size * message ? g.size : 1;
}
