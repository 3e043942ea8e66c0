/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hierarchical collectives: first within the nodes, then across nodes, then within the nodes.
 *
 * M. A. Al Ahad, C. Simmendinger, R. Iakymchuk, E. Laure, S. Markidis: Efficient Algorithms for
 * Collective Operations with Notified Communication in Shared Windows, PAW-ATM 2018; N. T. Karonis,
 * B. R. de Supinski, I. Foster, W. Gropp, E. Lusk, J. Bresnahan: Exploiting Hierarchy in Parallel
 * Computer Networks to Optimize Collective Operation Performance, IPDPS 2000.
 *
 *   P  ranks; s  root; N  nodes, numbered by their first ranks; n  messages a round across nodes
 *   leader of a node   its first rank; on the root's node, the root
 *   up                 each node reduces to its leader, along a k-nomial tree
 *   across             the leaders carry out the collective: a barrier as n-way dissemination, an
 *                      allreduce as ordered recursive multiplying, the others as k-nomial trees
 *   down               each leader passes the result on along the tree
 *
 *                 up        across      down
 *   barrier       reduce    barrier     bcast    (of nothing)
 *   allreduce     reduce    allreduce   bcast
 *   bcast         -         bcast       bcast
 *   reduce        reduce    reduce      -
 *
 * P = 5, nodes {0 2} {1 3 4}, n = 1, an allreduce:
 *
 *   up       2 to 0     3, 4 to 1     0: x0 o x2     1: (x1 o x3) o x4
 *   across   0 and 1 exchange these, and have (x0 o x2) o ((x1 o x3) o x4)
 *   down     0 to 2     1 to 4, 3
 *
 * N vectors go across nodes, in place of P, in as many rounds as N ranks take. All ranks get the
 * value of one expression, in the order of nodes. The operation has to commute, unless the order of
 * nodes is also the order of ranks: each node has a contiguous range of ranks, and is led by its
 * first rank. The combined vector of a node lies in scratch, since the leader puts it before it
 * knows the result. A node of one rank has nothing to combine. The algorithm does not exist if
 * there is only one node, or if no node has more than one rank.
 */
#include "algos/choice.h"
#include "algos/phases.h"

extern const struct algorithm ncoll__multiply, ncoll__knomial;

#define PHASES_MAX 3

/* The phases of one rank, and the footprint of all phases together, which is the same on all
 * ranks. */
struct hierarchy {
    struct phase phases[PHASES_MAX];
    unsigned n;
    struct footprint needs;
};

static bool exists(const struct shape *g)
{
    return g->nodes != NULL && g->nodes->count > 1 && g->nodes->count < g->size;
}

/* Returns the leader of a node. `subgroup` is not used: leaders form a single subgroup. */
static unsigned leader(const struct shape *g, unsigned subgroup, unsigned node)
{
    (void)subgroup;
    return node == node_of(g->nodes, g->root) ? g->root : rank_on(g->nodes, node, 0);
}

static const struct algorithm *across_algorithm(const struct shape *g)
{
    return g->collective == COLL_BARRIER     ? &ncoll__dissemination
           : g->collective == COLL_ALLREDUCE ? &ncoll__multiply
                                             : &ncoll__knomial;
}

/* Adds a phase, whose slots and scratch begin where those of the phases before it end. */
static void add(struct hierarchy *h, struct phase phase, struct footprint needs)
{
    phase.slot = h->needs.slots;
    phase.scratch = h->needs.scratch;
    h->phases[h->n++] = phase;
    h->needs.slots += needs.slots;
    h->needs.scratch += needs.scratch;
}

static void add_on_node(struct hierarchy *h, const struct shape *g, enum collective collective,
                        struct ref in, struct ref out)
{
    struct phase phase = ncoll__phase_on_node(g, &ncoll__knomial, collective, NODE_RADIX);

    phase.g.root = local_of(g->nodes, leader(g, 0, node_of(g->nodes, g->rank)));
    phase.in = in;
    phase.out = out;
    add(h, phase, ncoll__phase_footprint_on_nodes(&phase));
}

static void add_across(struct hierarchy *h, const struct shape *g, struct ref in, struct ref out)
{
    struct phase phase = ncoll__phase_across(g, across_algorithm(g), leader, 0);

    phase.g.root = node_of(g->nodes, g->root);
    phase.in = in;
    phase.out = out;
    add(h, phase, ncoll__phase_footprint(&phase));
}

static struct hierarchy hierarchy_of(const struct shape *g)
{
    const struct nodes *nodes = g->nodes;
    unsigned node = node_of(nodes, g->rank);
    bool alone = ranks_on(nodes, node) == 1;
    struct hierarchy h = {.needs = {.message = g->count, .sent = g->count}};
    struct ref vector = in_at(0), result = out_at(0);

    if (g->collective == COLL_BCAST && g->rank == g->root)
        result = in_at(0); /* the root has the result already */
    if (g->collective != COLL_BCAST) {
        vector = alone ? in_at(0) : scratch_at(0);
        h.needs.scratch = g->count;
        add_on_node(&h, g, COLL_REDUCE, in_at(0), vector);
    }
    add_across(&h, g, vector, result);
    if (g->collective != COLL_REDUCE)
        add_on_node(&h, g, COLL_BCAST, result, out_at(0));
    return h;
}

static struct footprint footprint(const struct shape *g)
{
    return hierarchy_of(g).needs;
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    struct hierarchy h = hierarchy_of(g);
    return ncoll__phases_round(h.phases, h.n, r, out);
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    (void)g, (void)s;
    return (struct fit){.gain = 1, .why = "fewest messages between nodes"};
}

/* Adds the time of the trees on nodes, which is that of the largest node, and the time of the phase
 * across nodes, in which each leader has its core to itself. */
static double cost(const struct shape *g, const struct situation *s)
{
    const struct nodes *nodes = g->nodes;
    struct pace near = ncoll__pace(&s->near, s->bytes, s->ranks_per_core),
                far = ncoll__pace(&s->far, s->bytes, 1);
    bool rooted = is_rooted(g->collective);

    far.wait_ns += s->ranks_per_core > 1 ? SWITCH_NS : 0;
    return (rooted ? 1 : 2) * ncoll__rooted_ns(near, nodes->most, NODE_RADIX) +
           (rooted ? ncoll__rooted_ns : ncoll__rounds_ns)(far, nodes->count, g->radix);
}

const struct algorithm ncoll__hierarchical = {
    .name = "hierarchical",
    .summary = "reduce on each node, the collective among leaders of nodes, bcast on each node",
    .source = "Karonis et al., IPDPS 2000; Al Ahad et al., PAW-ATM 2018",
    .collectives = 1u << COLL_BARRIER | 1u << COLL_ALLREDUCE,
    .properties = SYNCHRONISES | GIVES_SAME_BITS | NEEDS_COMMUTATIVE | USES_RADIX | TAKES_LIST,
    .exists = exists,
    .footprint = footprint,
    .round = round_of,
    .peers = ncoll__peers_by_nodes,
    .fit = fit,
    .cost = cost,
};

static bool exists_in_order(const struct shape *g)
{
    return exists(g) && g->nodes->in_blocks;
}

/* Chosen only if the operation does not commute: if it does, other algorithms take fewer
 * messages. */
static struct fit fit_in_order(const struct shape *g, const struct situation *s)
{
    (void)g;
    return (struct fit){.gain = s->commutative ? 0 : 1, .why = "fewest messages between nodes"};
}

const struct algorithm ncoll__hierarchical_ordered = {
    .name = "hierarchical-ordered",
    .summary = "the same in rank order, where each node has a block of ranks",
    .source = "Karonis et al., IPDPS 2000; Al Ahad et al., PAW-ATM 2018",
    .collectives = 1u << COLL_ALLREDUCE,
    .properties = SYNCHRONISES | GIVES_SAME_BITS | USES_RADIX | TAKES_LIST,
    .exists = exists_in_order,
    .footprint = footprint,
    .round = round_of,
    .peers = ncoll__peers_by_nodes,
    .fit = fit_in_order,
    .cost = cost,
};

const struct algorithm ncoll__hierarchical_tree = {
    .name = "hierarchical-tree",
    .summary = "a k-nomial tree across nodes, and one on each",
    .source = "Karonis et al., IPDPS 2000; Al Ahad et al., PAW-ATM 2018",
    .collectives = 1u << COLL_BCAST | 1u << COLL_REDUCE,
    .properties = GIVES_SAME_BITS | NEEDS_COMMUTATIVE | USES_RADIX,
    .exists = exists,
    .footprint = footprint,
    .round = round_of,
    .peers = ncoll__peers_by_nodes,
    .fit = fit,
    .cost = cost,
};
