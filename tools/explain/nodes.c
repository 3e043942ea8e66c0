/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ranks share a node, as the command line says.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tools/explain/explain.h"
#include "tools/explain/memory.h"

static struct nodes given;

static void keep(const uint64_t *ids, unsigned P)
{
    if (P == 0)
        return;
    ncoll__nodes_of(ids, P, or_die(calloc(NODES_ROOM(P), sizeof(unsigned))), &given);
    given.shared = true;
}

/* The number at *list, which goes on to the next one; NULL after the last. -1: there is none. */
static long next(const char **list)
{
    char *end;
    long number = strtol(*list, &end, 10);

    if (end == *list || number < 0 || (*end != ',' && *end != '\0'))
        return -1;
    *list = *end == ',' ? end + 1 : NULL;
    return number;
}

unsigned nodes_of_sizes(const char *list, unsigned ranks_max)
{
    uint64_t *ids = or_die(calloc(ranks_max, sizeof *ids));
    unsigned P = 0;

    for (unsigned node = 0; list != NULL; node++) {
        long ranks = next(&list);
        if (ranks < 1 || ranks > (long)(ranks_max - P)) {
            P = 0;
            break;
        }
        while (ranks-- > 0)
            ids[P++] = node;
    }
    keep(ids, P);
    free(ids);
    return P;
}

unsigned nodes_of_ranks(const char *list, unsigned ranks_max)
{
    uint64_t *ids = or_die(calloc(ranks_max, sizeof *ids));
    unsigned P = 0;

    while (list != NULL) {
        long node = next(&list);
        if (node < 0 || P == ranks_max) {
            P = 0;
            break;
        }
        ids[P++] = (uint64_t)node;
    }
    keep(ids, P);
    free(ids);
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
    ncoll__nodes_of(ids, P, allocate(NODES_ROOM(P), sizeof(unsigned)), &halves);
    halves.shared = true;
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
