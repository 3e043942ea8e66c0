/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks share cores where a set of cores has more ranks that may run nowhere else than cores. Of
 * all sets, those are looked at that some rank may use, and that of the whole node. A limit of
 * processor time is as good as so many cores for those that share it.
 */
#include "lib/group/places.h"

#include <stdlib.h>
#include <string.h>

#define WORDS (NODE_CORES / 64)

static int by_place(const void *left, const void *right)
{
    const struct node *a = left, *b = right;

    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return memcmp(a->cores, b->cores, sizeof a->cores);
}

static unsigned count(const uint64_t cores[WORDS])
{
    unsigned n = 0;

    for (unsigned w = 0; w < WORDS; w++)
        n += (unsigned)__builtin_popcountll(cores[w]);
    return n;
}

/* Ranks to a core of a set: those that may run nowhere else. */
static double crowd_on(const struct node *nodes, int ranks, const uint64_t cores[WORDS])
{
    unsigned there = 0, have = count(cores);

    for (int i = 0; i < ranks; i++) {
        uint64_t outside = 0;
        for (unsigned w = 0; w < WORDS; w++)
            outside |= nodes[i].cores[w] & ~cores[w];
        there += outside == 0;
    }
    return have > 0 ? (double)there / have : 0;
}

/* Ranks to what the control group of one of them allows to all that are in it. */
static double crowd_within(const struct node *nodes, int ranks, const struct node *one)
{
    unsigned there = 0;

    for (int i = 0; i < ranks; i++)
        there += nodes[i].quota_milli > 0 && nodes[i].quota_group == one->quota_group;
    return one->quota_milli > 0 ? there * 1000.0 / (double)one->quota_milli : 0;
}

/* Ranks that share a core, for the `ranks` of one node, sorted; 1 or less if each has its own. */
static double crowd(const struct node *nodes, int ranks)
{
    uint64_t all[WORDS] = {0};
    double most = 0;

    for (int i = 0; i < ranks; i++) {
        bool is_new = i == 0 || memcmp(nodes[i].cores, nodes[i - 1].cores, sizeof all) != 0;
        double here = is_new ? crowd_on(nodes, ranks, nodes[i].cores) : 0;
        double within = i == 0 || nodes[i].quota_group != nodes[i - 1].quota_group
                            ? crowd_within(nodes, ranks, &nodes[i])
                            : 0;
        most = here > most ? here : most;
        most = within > most ? within : most;
        for (unsigned w = 0; w < WORDS; w++)
            all[w] |= nodes[i].cores[w];
    }
    double together = crowd_on(nodes, ranks, all);
    return together > most ? together : most;
}

struct places ncoll__places(struct node *nodes, int ranks, struct node own)
{
    struct places out = {.ranks_per_core = 1};
    int next;

    qsort(nodes, (size_t)ranks, sizeof *nodes, by_place);
    for (int first = 0; first < ranks; first = next) {
        for (next = first + 1; next < ranks && nodes[next].id == nodes[first].id; next++)
            ;
        double here = crowd(nodes + first, next - first);
        out.nodes++;
        if (here > out.ranks_per_core)
            out.ranks_per_core = here;
        if (nodes[first].id == own.id) {
            out.node_ranks = next - first;
            out.oversubscribed = here > 1;
        }
    }
    return out;
}
