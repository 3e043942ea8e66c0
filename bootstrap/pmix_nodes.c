/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/pmix_nodes.h"

#include <stdlib.h>
#include <string.h>

static int by_rank(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

/* Reads a list of different ranks, such as "0,8,1,9", and sorts it. Returns the number of ranks; 0:
 * the list is not valid, or lacks `own`. */
static int read_list(const char *text, int ranks, int own, int *list)
{
    bool found = false;
    int n = 0;

    for (char *end; *text != '\0'; text = end + (*end == ',')) {
        long rank = strtol(text, &end, 10);
        if (end == text || rank < 0 || rank >= ranks || n == ranks || (*end != ',' && *end != '\0'))
            return 0;
        list[n++] = (int)rank;
        found |= rank == own;
    }
    qsort(list, (size_t)n, sizeof *list, by_rank);
    for (int i = 1; i < n; i++)
        found &= list[i] != list[i - 1];
    return found ? n : 0;
}

bool ncoll__pmix_find_mates(struct pmix_mates *mates, const pmix_proc_t *self, int ranks)
{
    pmix_value_t *value;
    pmix_proc_t job;

    *mates = (struct pmix_mates){.ranks = malloc((size_t)ranks * sizeof *mates->ranks)};
    if (mates->ranks == NULL)
        return false;
    PMIX_LOAD_PROCID(&job, self->nspace, PMIX_RANK_WILDCARD);
    if (PMIx_Get(&job, PMIX_LOCAL_PEERS, NULL, 0, &value) == PMIX_SUCCESS) {
        if (value->type == PMIX_STRING && value->data.string != NULL)
            mates->n = read_list(value->data.string, ranks, (int)self->rank, mates->ranks);
        PMIX_VALUE_RELEASE(value);
    }
    if (mates->n == 0)
        mates->ranks[mates->n++] = (int)self->rank;
    while (mates->ranks[mates->own] != (int)self->rank)
        mates->own++;
    return true;
}

void ncoll__pmix_mates_free(struct pmix_mates *mates)
{
    free(mates->ranks);
    *mates = (struct pmix_mates){0};
}

/* ------------------------------------------------------------------ questions to the server --- */

/* Asks the server for a value of a rank; *fact becomes the number, or a hash of the text. Returns
 * false if the server does not have it. PMIx_Resolve_peers() is not used, since it waits for itself
 * in PMIx 4.2. */
static bool ask(const pmix_proc_t *self, int rank, const char *key, uint64_t *fact)
{
    pmix_value_t *value;
    pmix_proc_t proc;
    bool known = true;

    PMIX_LOAD_PROCID(&proc, self->nspace, (pmix_rank_t)rank);
    if (PMIx_Get(&proc, key, NULL, 0, &value) != PMIX_SUCCESS)
        return false;
    *fact = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    if (value->type == PMIX_UINT16)
        *fact = value->data.uint16;
    else if (value->type == PMIX_UINT32)
        *fact = value->data.uint32;
    else if (value->type == PMIX_STRING && value->data.string != NULL)
        for (const char *c = value->data.string; *c != '\0'; c++)
            *fact = (*fact ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    else
        known = false;
    PMIX_VALUE_RELEASE(value);
    return known;
}

static bool ask_node(const pmix_proc_t *self, int rank, uint64_t *node)
{
    return ask(self, rank, PMIX_HOSTNAME, node) || ask(self, rank, PMIX_NODEID, node);
}

/*
 * Returns true if the n ranks from `first` on are on one node, and are its first n ranks: the first
 * of them is number 0 of its node, and the last one number n - 1. The launcher numbers the ranks of
 * a node in ascending order.
 */
static bool is_block(const pmix_proc_t *self, int first, int n)
{
    uint64_t from, to, number[2];

    return ask(self, first, PMIX_LOCAL_RANK, &number[0]) && number[0] == 0 &&
           ask(self, first + n - 1, PMIX_LOCAL_RANK, &number[1]) && number[1] == (uint64_t)n - 1 &&
           ask_node(self, first, &from) && ask_node(self, first + n - 1, &to) && from == to;
}

/* ------------------------------------------------------------------ all nodes ----------------- */

/* Finds the nodes if each has as many ranks as this one, `each`, and their numbers follow each
 * other; the last node may have fewer. This takes four questions to the server per node. No node
 * has two such blocks, since a block begins with number 0 of its node. */
static bool find_blocks(struct pmix_nodes *nodes, const pmix_proc_t *self, int ranks, int each)
{
    nodes->n = 0;
    for (int first = 0, n; first < ranks; first += n) {
        n = ranks - first < each ? ranks - first : each;
        if (!is_block(self, first, n))
            return false;
        for (int r = first; r < first + n; r++)
            nodes->of[r] = nodes->n;
        nodes->leader[nodes->n++] = first;
    }
    return true;
}

struct named {
    uint64_t node;
    int rank;
};

static int by_node(const void *left, const void *right)
{
    const struct named *a = left, *b = right;

    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->rank - b->rank;
}

/* Finds the nodes of ranks in any order, by one question to the server for each rank. */
static bool find_each(struct pmix_nodes *nodes, const pmix_proc_t *self, int ranks)
{
    struct named *named = malloc((size_t)ranks * sizeof *named);
    bool known = named != NULL;

    for (int r = 0; known && r < ranks; r++) {
        named[r].rank = r;
        known = ask_node(self, r, &named[r].node);
    }
    if (known)
        qsort(named, (size_t)ranks, sizeof *named, by_node);
    nodes->n = 0;
    for (int i = 0; known && i < ranks; i++) {
        if (i == 0 || named[i].node != named[i - 1].node)
            nodes->leader[nodes->n++] = named[i].rank;
        nodes->of[named[i].rank] = nodes->n - 1;
    }
    free(named);
    return known;
}

/* Returns true if `nodes` and `mates`, which come from different questions, agree about this node.
 * Otherwise ranks of this node would look for the wrong leader. */
static bool fits(const struct pmix_nodes *nodes, const struct pmix_mates *mates, int ranks)
{
    int own = nodes->of[mates->ranks[mates->own]], there = 0, alike = 0;

    for (int r = 0; r < ranks; r++)
        there += nodes->of[r] == own;
    for (int i = 0; i < mates->n; i++)
        alike += nodes->of[mates->ranks[i]] == own;
    return there == mates->n && alike == mates->n;
}

bool ncoll__pmix_find_nodes(struct pmix_nodes *nodes, const pmix_proc_t *self, int ranks,
                            const struct pmix_mates *mates)
{
    *nodes = (struct pmix_nodes){.of = calloc((size_t)ranks, sizeof *nodes->of),
                                 .leader = calloc((size_t)ranks, sizeof *nodes->leader)};
    if (nodes->of == NULL || nodes->leader == NULL) {
        ncoll__pmix_nodes_free(nodes);
        return false;
    }
    if (mates->n == ranks) { /* all ranks are on this node */
        nodes->n = 1;
        return true;
    }
    if ((find_blocks(nodes, self, ranks, mates->n) || find_each(nodes, self, ranks)) &&
        fits(nodes, mates, ranks))
        return true;
    nodes->n = ranks;
    for (int r = 0; r < ranks; r++)
        nodes->of[r] = nodes->leader[r] = r;
    return true;
}

void ncoll__pmix_nodes_free(struct pmix_nodes *nodes)
{
    free(nodes->of);
    free(nodes->leader);
    *nodes = (struct pmix_nodes){0};
}
