/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads from the command line which ranks share a node.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tools/explain/explain.h"
#include "tools/explain/walk.h"

static struct nodes given;

/* Makes the nodes from the id of the node of each rank. */
static void make(const uint64_t *ids, unsigned P, struct nodes *out)
{
    ncoll__nodes_of(ids, P, allocate(NODES_ROOM(P), sizeof(unsigned)), out);
    out->shared = true;
}

/* Reads the number at *list and advances *list to the next one, or to NULL after the last. Returns
 * -1 if there is no number. */
static long next(const char **list)
{
    char *end;
    long number = strtol(*list, &end, 10);

    if (end == *list || number < 0 || (*end != ',' && *end != '\0'))
        return -1;
    *list = *end == ',' ? end + 1 : NULL;
    return number;
}

unsigned nodes_take(const char *list, bool of_sizes, unsigned ranks_max)
{
    uint64_t *ids = allocate(ranks_max, sizeof *ids);
    unsigned P = 0;

    for (unsigned node = 0; list != NULL; node++) {
        long number = next(&list), ranks = of_sizes ? number : 1;
        if (number < of_sizes || ranks > (long)(ranks_max - P))
            return 0;
        while (ranks-- > 0)
            ids[P++] = of_sizes ? node : (uint64_t)number;
    }
    make(ids, P, &given);
    return P;
}

const struct nodes *nodes_given(void)
{
    return given.count > 0 ? &given : NULL;
}

const struct nodes *nodes_of_halves(unsigned P)
{
    static struct nodes halves;
    uint64_t *ids = allocate(P, sizeof *ids);

    for (unsigned p = 0; p < P; p++)
        ids[p] = p < P / 2;
    make(ids, P, &halves);
    return &halves;
}

void nodes_print(void)
{
    for (unsigned k = 0; k < given.count; k++) {
        printf("node %u: ranks", k);
        for (unsigned i = given.first[k]; i < given.first[k + 1]; i++)
            printf(" %u", given.ranks[i]);
        printf("\n");
    }
}
