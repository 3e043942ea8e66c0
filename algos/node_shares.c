/* SPDX-License-Identifier: BSD-3-Clause */
#include "algos/node_shares.h"

struct hierarchy ncoll__hierarchy_of(const struct shape *g, bool balanced)
{
    const struct nodes *nodes = g->nodes;
    unsigned lanes = nodes->fewest < NEIGHBOURS_MAX ? nodes->fewest : NEIGHBOURS_MAX;
    unsigned L = balanced ? lanes : 1, node = node_of(nodes, g->rank);

    return (struct hierarchy){
        .g = g,
        .L = L,
        .T = L > 2 ? L : 2,
        .N = nodes->count,
        .M = ranks_on(nodes, node),
        .node = node,
        .own = local_of(nodes, g->rank),
    };
}

struct extent ncoll__share_of(const struct hierarchy *h, unsigned k, unsigned j)
{
    size_t all = block_in(h->g, k, ranks_on(h->g->nodes, k) - 1).end;

    return (struct extent){j * all / h->L, (j + 1) * all / h->L};
}

size_t ncoll__nodes_elements(const struct shape *g, unsigned k, unsigned n)
{
    const struct nodes *nodes = g->nodes;
    unsigned first = ranks_before(nodes, k), end = ranks_before(nodes, k + n);
    size_t elements = 0;

    if (!has_counts(g) || nodes->in_blocks)
        return blocks_from(g, first, end - first);
    for (unsigned i = first; i < end; i++)
        elements += block_count(g, nodes->ranks[i]);
    return elements;
}

bool ncoll__nodes_are_alike(const struct shape *g)
{
    return !has_counts(g) && g->nodes->fewest == g->nodes->most;
}

/* Returns the number of elements in X_k[j], with several lanes. */
static size_t count_of_share(const struct shape *g, unsigned j, unsigned k)
{
    struct hierarchy h = ncoll__hierarchy_of(g, true);
    struct extent share = ncoll__share_of(&h, k, j);

    return share.end - share.begin;
}

/* Returns the number of elements in X_k[j], .., X_{k+n-1}[j], with several lanes. Without counts
 * and without tables of nodes, all nodes but the last have the same number of ranks. */
static size_t sum_of_shares(const struct shape *g, unsigned j, unsigned k, unsigned n)
{
    size_t elements = 0;

    if (n > 1 && !has_counts(g) && g->nodes->of == NULL)
        return (n - 1) * count_of_share(g, j, k) + count_of_share(g, j, k + n - 1);
    for (; n > 0; n--)
        elements += count_of_share(g, j, k++);
    return elements;
}

/* Returns the number of elements in X_k. With one lane this is the share of the node. */
static size_t count_of_node(const struct shape *g, unsigned j, unsigned k)
{
    (void)j;
    return ncoll__nodes_elements(g, k, 1);
}

static size_t sum_of_nodes(const struct shape *g, unsigned j, unsigned k, unsigned n)
{
    (void)j;
    return ncoll__nodes_elements(g, k, n);
}

void ncoll__share_counts(const struct hierarchy *h, unsigned j, struct shape *lane)
{
    struct extent share = ncoll__share_of(h, 0, j);

    lane->whole = h->g;
    lane->subgroup = j;
    lane->count = share.end - share.begin;
    if (ncoll__nodes_are_alike(h->g))
        return;
    lane->count_of = h->L > 1 ? count_of_share : count_of_node;
    lane->sum_of = h->L > 1 ? sum_of_shares : sum_of_nodes;
    lane->even_but_last = !has_counts(h->g) && h->g->nodes->of == NULL;
}
