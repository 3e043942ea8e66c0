/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks bound to one core each are counted core by core; otherwise the largest set of cores that
 * a rank of the node may use is taken for all of them.
 */
#include "lib/group/places.h"

#include <stdlib.h>

static int by_place(const void *left, const void *right)
{
    const struct node *a = left, *b = right;

    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return (a->bound_cpu > b->bound_cpu) - (a->bound_cpu < b->bound_cpu);
}

/* Ranks that share a core, for the `ranks` of one node, sorted; 1 if each has its own. */
static double crowd(const struct node *nodes, int ranks)
{
    int together = 0, most = 0;
    uint32_t cpus = 1;

    for (int i = 0; i < ranks; i++) {
        bool shares =
            i > 0 && nodes[i].bound_cpu >= 0 && nodes[i].bound_cpu == nodes[i - 1].bound_cpu;
        together = shares ? together + 1 : 1;
        most = together > most ? together : most;
        cpus = nodes[i].cpus > cpus ? nodes[i].cpus : cpus;
    }
    bool all_bound = cpus == 1;
    double spread = all_bound ? 1 : (double)ranks / cpus;
    return spread > most ? spread : most;
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
