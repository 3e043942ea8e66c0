/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds how many ranks share a core. Ranks share cores if more ranks are confined to a set of cores
 * than it has cores. The sets that are examined are those of the ranks of a node, and all of them
 * together. A limit of processor time counts as so many cores, for the ranks under this limit.
 * Ranks of other jobs and contexts are not known here; they count if a rank's settings tell of them
 * (ranks_per_core).
 */
#include "lib/topology/places.h"

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

static bool are_sorted(const struct node *nodes, int ranks)
{
    for (int i = 1; i < ranks; i++)
        if (by_place(&nodes[i - 1], &nodes[i]) > 0)
            return false;
    return true;
}

static unsigned count(const uint64_t cores[WORDS])
{
    unsigned n = 0;

    for (unsigned w = 0; w < WORDS; w++)
        n += (unsigned)__builtin_popcountll(cores[w]);
    return n;
}

/* Returns the number of ranks confined to a set of cores, divided by the number of its cores. */
static double ranks_per_core_on(const struct node *nodes, int ranks, const uint64_t cores[WORDS])
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

/* Returns the number of ranks in the control group of `one`, divided by the number of cores whose
 * time this group may use. Returns 0 if its time is not limited. */
static double ranks_per_core_within(const struct node *nodes, int ranks, const struct node *one)
{
    unsigned there = 0;

    for (int i = 0; i < ranks; i++)
        there += nodes[i].quota_milli > 0 && nodes[i].quota_group == one->quota_group;
    return one->quota_milli > 0 ? there * 1000.0 / (double)one->quota_milli : 0;
}

/* True if each rank has cores of its own. */
static bool have_own_cores(const struct node *nodes, int ranks)
{
    uint64_t all[WORDS] = {0};

    for (int i = 0; i < ranks; i++) {
        uint64_t any = 0, others = 0;
        for (unsigned w = 0; w < WORDS; w++) {
            any |= nodes[i].cores[w];
            others |= all[w] & nodes[i].cores[w];
            all[w] |= nodes[i].cores[w];
        }
        if (any == 0 || others != 0)
            return false;
    }
    return true;
}

/* Returns the highest number of ranks that share a core, given the sets of cores of the ranks of
 * one node, which are sorted; at most 1 if each rank has a core of its own. */
static double most_by_cores(const struct node *nodes, int ranks)
{
    uint64_t all[WORDS] = {0};
    double most = 0;

    if (ranks == 1 ||
        have_own_cores(nodes, ranks)) /* counting cores would take time on thousands of nodes */
        return 0;
    for (int i = 0; i < ranks; i++) {
        bool is_new = i == 0 || memcmp(nodes[i].cores, nodes[i - 1].cores, sizeof all) != 0;
        double here = is_new ? ranks_per_core_on(nodes, ranks, nodes[i].cores) : 0;
        most = here > most ? here : most;
        for (unsigned w = 0; w < WORDS; w++)
            all[w] |= nodes[i].cores[w];
    }
    double together = ranks_per_core_on(nodes, ranks, all);
    return together > most ? together : most;
}

/* Returns the highest number of ranks per core that follows from limits of processor time. */
static double most_by_time(const struct node *nodes, int ranks)
{
    double most = 0;

    for (int i = 0; i < ranks; i++) {
        bool is_new = i == 0 || nodes[i].quota_group != nodes[i - 1].quota_group;
        double here = is_new ? ranks_per_core_within(nodes, ranks, &nodes[i]) : 0;
        most = here > most ? here : most;
    }
    return most;
}

static double most_by_settings(const struct node *nodes, int ranks)
{
    uint32_t most = 0;

    for (int i = 0; i < ranks; i++)
        if (nodes[i].ranks_per_core_milli > most)
            most = nodes[i].ranks_per_core_milli;
    return most / 1000.0;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

struct places ncoll__places(struct node *nodes, int ranks, struct node own)
{
    struct places out = {.here = 1, .ranks_per_core = 1};
    int next;

    if (!are_sorted(nodes, ranks)) /* on one node, with the same cores for all ranks, they are */
        qsort(nodes, (size_t)ranks, sizeof *nodes, by_place);
    for (int first = 0; first < ranks; first = next) {
        for (next = first + 1; next < ranks && nodes[next].id == nodes[first].id; next++)
            ;
        double here = larger(1, most_by_cores(nodes + first, next - first));
        here = larger(here, most_by_time(nodes + first, next - first));
        here = larger(here, most_by_settings(nodes + first, next - first));
        out.nodes++;
        out.ranks_per_core = larger(out.ranks_per_core, here);
        if (nodes[first].id == own.id) {
            out.node_ranks = next - first;
            out.here = here;
            out.oversubscribed = here > 1;
        }
    }
    return out;
}
