/* SPDX-License-Identifier: BSD-3-Clause */
/* The rooted collectives along any tree; see trees.h for symbols and numbering. */
#include "algos/trees.h"

struct footprint ncoll__rooted_footprint(const struct shape *g, tree_family *share)
{
    struct shape at_root = *g;
    struct footprint needs = {.slots = 1, .message = g->count, .sent = g->count};

    if (places_of(g) == 1)
        return (struct footprint){0};
    at_root.rank = g->root;
    struct node root = ncoll__tree_node(&at_root, share, g->root);
    if (g->collective == COLL_GATHER)
        return ncoll__gather_footprint(&root);
    if (g->collective == COLL_SCATTER)
        return ncoll__scatter_footprint(&root);
    if (g->collective == COLL_REDUCE) {
        needs.slots = root.children;
        needs.scratch = ncoll__tree_is_deep(g, share) ? g->count : 0;
    }
    return needs;
}

bool ncoll__rooted_round(const struct shape *g, tree_family *share, unsigned r, struct round *out)
{
    if (r > 0 || !takes_part(g))
        return false;

    struct node t = ncoll__tree_node(g, share, g->root);
    if (g->collective == COLL_BCAST)
        ncoll__tree_down(&t, 0, in_at(0), out);
    else if (g->collective == COLL_REDUCE)
        ncoll__tree_up(&t, 0, out_at(0), out);
    else if (g->collective == COLL_GATHER)
        ncoll__tree_gather(&t, out);
    else
        ncoll__tree_scatter(&t, out);
    return true;
}
