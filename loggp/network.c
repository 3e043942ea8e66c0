/* SPDX-License-Identifier: BSD-3-Clause */
#include "loggp/network.h"

#include <stdlib.h>

/* Returns the index of the first link of the topology: after one link from each node, and one to
 * each node. */
static size_t first_link(const struct network *n)
{
    return 2 * (size_t)n->nodes;
}

static unsigned nodes_of_group(const struct network *n)
{
    return n->of->sizes[0] * n->of->sizes[1];
}

static size_t links(const struct network *n)
{
    size_t own = first_link(n), leaves;

    switch (n->of->topology) {
    case LOGGP_FAT_TREE:
        leaves = (n->nodes + n->of->sizes[0] - 1) / n->of->sizes[0];
        return own + 2 * leaves * n->of->sizes[1];
    case LOGGP_DRAGONFLY:
        return own + (size_t)n->groups * n->of->sizes[1] * n->of->sizes[1] +
               (size_t)n->groups * n->groups;
    case LOGGP_TORUS:
        return own + 6 * (size_t)loggp_room(n->of);
    default:
        return own;
    }
}

bool loggp_network_init(struct network *n, const struct loggp_network *of, unsigned nodes,
                        double gap_ns)
{
    *n = (struct network){.of = of, .nodes = nodes, .gap_ns = gap_ns};
    if (of->topology == LOGGP_DRAGONFLY)
        n->groups = (nodes + nodes_of_group(n) - 1) / nodes_of_group(n);
    if (!of->contention)
        return true;
    n->free_ns = calloc(links(n), sizeof *n->free_ns);
    return n->free_ns != NULL;
}

void loggp_network_free(struct network *n)
{
    free(n->free_ns);
    n->free_ns = NULL;
}

/* ------------------------------------------------------------------ routes -------------------- */

/* A message on its way. Without links (free_ns is NULL) only its hops are counted. */
struct passage {
    const struct network *n;
    double at_ns, span_ns;
    unsigned hops;
};

static void pass(struct passage *p, size_t link, double span_ns)
{
    double *free_ns = &p->n->free_ns[link];

    p->at_ns = *free_ns > p->at_ns ? *free_ns : p->at_ns;
    *free_ns = p->at_ns + span_ns;
}

static void hop(struct passage *p, size_t link)
{
    p->hops++;
    if (p->n->free_ns != NULL)
        pass(p, first_link(p->n) + link, p->span_ns);
}

static void pass_fat_tree(struct passage *p, unsigned from, unsigned to)
{
    unsigned at_leaf = p->n->of->sizes[0], uplinks = p->n->of->sizes[1], up = to % uplinks;
    unsigned leaf = from / at_leaf, other = to / at_leaf;

    if (leaf == other)
        return;
    hop(p, 2 * ((size_t)leaf * uplinks + up));
    hop(p, 2 * ((size_t)other * uplinks + up) + 1);
}

/* Passes the link from router a to router b of a group; no link if they are the same. */
static void pass_group(struct passage *p, unsigned group, unsigned a, unsigned b)
{
    size_t routers = p->n->of->sizes[1];

    if (a != b)
        hop(p, (group * routers + a) * routers + b);
}

static void pass_dragonfly(struct passage *p, unsigned from, unsigned to)
{
    unsigned at_router = p->n->of->sizes[0], routers = p->n->of->sizes[1];
    unsigned group = from / nodes_of_group(p->n), other = to / nodes_of_group(p->n);
    unsigned a = from / at_router % routers, b = to / at_router % routers;

    if (group != other) {
        size_t global = (size_t)p->n->groups * routers * routers;
        pass_group(p, group, a, other % routers);
        hop(p, global + (size_t)group * p->n->groups + other);
        a = group % routers;
    }
    pass_group(p, other, a, b);
}

/* Passes along dimension d, in which the numbers of neighbours differ by `stride`, from node `at`
 * to the coordinate of node `to`. Returns the node that is reached. */
static unsigned pass_dimension(struct passage *p, unsigned at, unsigned to, unsigned d,
                               unsigned stride)
{
    unsigned size = p->n->of->sizes[d], x = at / stride % size, y = to / stride % size;
    unsigned up = (y + size - x) % size;
    bool down = up > size - up;

    while (x != y) {
        hop(p, 6 * (size_t)at + 2 * d + down);
        unsigned next = down ? (x + size - 1) % size : (x + 1) % size;
        at = at - x * stride + next * stride;
        x = next;
    }
    return at;
}

static void pass_torus(struct passage *p, unsigned from, unsigned to)
{
    unsigned stride = 1;

    for (unsigned d = 0; d < 3; d++) {
        from = pass_dimension(p, from, to, d, stride);
        stride *= p->n->of->sizes[d];
    }
    p->hops -= p->hops > 0; /* a neighbour is as far away as another node at the same switch */
}

static void pass_all(struct passage *p, unsigned from, unsigned to)
{
    if (p->n->of->topology == LOGGP_FAT_TREE)
        pass_fat_tree(p, from, to);
    else if (p->n->of->topology == LOGGP_DRAGONFLY)
        pass_dragonfly(p, from, to);
    else if (p->n->of->topology == LOGGP_TORUS)
        pass_torus(p, from, to);
}

unsigned loggp_network_hops(const struct network *n, unsigned from, unsigned to)
{
    struct network no_links = *n;
    struct passage p = {.n = &no_links};

    no_links.free_ns = NULL;
    if (n->of->topology != LOGGP_SWITCH)
        pass_all(&p, from, to);
    return p.hops;
}

double loggp_network_carry(struct network *n, unsigned from, unsigned to, double at_ns,
                           double span_ns)
{
    struct passage p = {.n = n, .at_ns = at_ns, .span_ns = span_ns};
    double at_card = span_ns > n->gap_ns ? span_ns : n->gap_ns;

    pass(&p, from, at_card);
    pass_all(&p, from, to);
    pass(&p, (size_t)n->nodes + to, at_card);
    return p.at_ns;
}
