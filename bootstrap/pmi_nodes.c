/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/pmi_nodes.h"

#include <stdlib.h>
#include <string.h>

/* The largest number of a node that is accepted. Launchers count nodes from 0. */
#define NODES_MOST (1L << 20)

void ncoll__pmi_nodes_free(struct pmi_nodes *nodes)
{
    free(nodes->of);
    free(nodes->leader);
    free(nodes->mates);
    *nodes = (struct pmi_nodes){0};
}

struct block {
    long first, nodes, each;
};

static bool take_number(const char **at, char end, long *number)
{
    char *after;
    long found = strtol(*at, &after, 10);

    if (after == *at || *after != end || found < 0 || found > NODES_MOST)
        return false;
    *number = found;
    *at = after + 1;
    return true;
}

/* Reads one block, "(first,nodes,each)", and the ',' or ')' that follows it. */
static bool take_block(const char **at, struct block *block)
{
    if (*(*at)++ != '(' || !take_number(at, ',', &block->first) ||
        !take_number(at, ',', &block->nodes) || !take_number(at, ')', &block->each) ||
        block->nodes < 1 || block->each < 1 || block->first + block->nodes > NODES_MOST)
        return false;
    return *(*at)++ == ',' || (*at)[-1] == ')';
}

/* Assigns the ranks to nodes by the list of blocks. ids[r] becomes the launcher's number of the
 * node of rank r. Returns false if the list is not valid. */
static bool deal(const char *list, int ranks, int32_t *ids)
{
    const char *at = list;
    struct block block;
    int rank = 0;

    do {
        if (!take_block(&at, &block))
            return false;
        for (long n = 0; n < block.nodes; n++)
            for (long i = 0; i < block.each && rank < ranks; i++)
                ids[rank++] = (int32_t)(block.first + n);
        if (at[-1] == ')') /* the list ends, and begins again */
            at = list;
    } while (rank < ranks);
    return true;
}

/* Numbers the nodes anew, in the order of their first ranks. Returns false if there is no
 * memory. */
static bool number(struct pmi_nodes *nodes, int ranks)
{
    int32_t most = 0;

    for (int r = 0; r < ranks; r++)
        most = nodes->of[r] > most ? nodes->of[r] : most;
    int32_t *numbers = calloc((size_t)most + 1, sizeof *numbers); /* new number + 1; 0: none */
    if (numbers == NULL)
        return false;
    for (int r = 0; r < ranks; r++) {
        int32_t id = nodes->of[r];
        if (numbers[id] == 0) {
            nodes->leader[nodes->n++] = r;
            numbers[id] = nodes->n;
        }
        nodes->of[r] = numbers[id] - 1;
    }
    free(numbers);
    return true;
}

static void find_mates(struct pmi_nodes *nodes, int rank, int ranks)
{
    for (int r = 0; r < ranks; r++) {
        if (nodes->of[r] != nodes->of[rank])
            continue;
        if (r == rank)
            nodes->own = nodes->n_mates;
        nodes->mates[nodes->n_mates++] = r;
    }
}

bool ncoll__pmi_nodes_read(struct pmi_nodes *nodes, const char *text, size_t len, int rank,
                           int ranks)
{
    static const char head[] = "(vector,";
    char *list = text != NULL ? strndup(text, len) : NULL;

    *nodes = (struct pmi_nodes){.of = calloc((size_t)ranks, sizeof *nodes->of),
                                .leader = calloc((size_t)ranks, sizeof *nodes->leader),
                                .mates = calloc((size_t)ranks, sizeof *nodes->mates)};
    bool ok = nodes->of != NULL && nodes->leader != NULL && nodes->mates != NULL;
    if (ok && (list == NULL || strncmp(list, head, sizeof head - 1) != 0 ||
               !deal(list + sizeof head - 1, ranks, nodes->of)))
        for (int r = 0; r < ranks; r++)
            nodes->of[r] = r;
    ok = ok && number(nodes, ranks);
    if (ok)
        find_mates(nodes, rank, ranks);
    else
        ncoll__pmi_nodes_free(nodes);
    free(list);
    return ok;
}
