/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hierarchical allgather: rings across nodes, one for each local rank; each block that arrives is
 * passed on to the other ranks of the node.
 *
 * M. A. Al Ahad, C. Simmendinger, R. Iakymchuk, E. Laure, S. Markidis: Efficient Algorithms for
 * Collective Operations with Notified Communication in Shared Windows, PAW-ATM 2018, section II.
 * There, all ranks of a node see one window, so nothing is passed on; and long blocks are cut in
 * pieces that several ranks send. Here the library cuts long blocks, and all pieces of a block take
 * the same way.
 *
 *   P  ranks; N  nodes; M  the fewest ranks on any of them; l  local rank of this one
 *   layer j    the blocks of local rank j, of nodes that have one; local rank j mod M of every node
 *              leads it, so that the blocks of larger nodes are shared out, too
 *   round 0    on each node each rank puts its block to all others (direct.c)
 *   round k = 1..N-1   the leader of a layer gets, in a ring (ring.c), the block of the node k to
 *              the left, and puts it to all other ranks of its node (flat.c)
 *   round N    each rank waits for the blocks that the leaders of its node have put to it
 *
 * P = 5, nodes {0 2} {1 3 4}, so M = 2; layers {0 1} {2 3} {4}, the last led by 0 and 1:
 *
 *   round 0   0 and 2; 1, 3 and 4 exchange their blocks
 *   round 1   0 and 1 exchange x0 and x1, and x4 for an empty block; 2 and 3 exchange x2 and x3
 *             0 puts x1 and x4 to 2, 2 puts x3 to 0; 1 puts x0 to 3 and 4, 3 puts x2 to 1 and 4
 *
 * A block comes to each node once, and M ranks of the node share this work. A block that is put
 * within the node lies in its place in OUT; a block in the ring is put from the slot in which it
 * arrived.
 */
#include "algos/choice.h"
#include "algos/phases.h"

extern const struct algorithm ncoll__direct, ncoll__flat, ncoll__ring;

static unsigned leads_for(const struct nodes *nodes, unsigned layer)
{
    return layer % nodes->fewest;
}

static bool has(const struct nodes *nodes, unsigned node, unsigned layer)
{
    return layer < ranks_on(nodes, node);
}

/* Returns the largest number of layers that one rank leads. */
static unsigned layers_of_one(const struct nodes *nodes)
{
    return (nodes->most + nodes->fewest - 1) / nodes->fewest;
}

/* ------------------------------------------------------------------ slots --------------------- */

/* Returns the first slot of the ring of a layer. The slots of rings follow those for the blocks of
 * the own node, which are one less than the largest node has ranks. */
static unsigned ring_slot(const struct nodes *nodes, unsigned layer)
{
    return nodes->most - 1 + layer / nodes->fewest * (nodes->count - 1);
}

/* Returns the slot of a block that is passed on. These slots come last, and leave out the node's
 * own blocks. */
static unsigned slot_passed_on(const struct shape *g, unsigned node, unsigned layer)
{
    const struct nodes *nodes = g->nodes;
    unsigned own = node_of(nodes, g->rank);
    unsigned others = ranks_before(nodes, node) - (node > own ? ranks_on(nodes, own) : 0);

    return nodes->most - 1 + layers_of_one(nodes) * (nodes->count - 1) + others + layer;
}

/* Returns the largest number of blocks that are passed on to a rank: all blocks but those of its
 * own node, on the smallest node of more than one rank. */
static unsigned most_passed_on(const struct shape *g)
{
    unsigned smallest = g->nodes->most;

    for (unsigned k = 0; k < g->nodes->count; k++) {
        unsigned here = ranks_on(g->nodes, k);
        smallest = here > 1 && here < smallest ? here : smallest;
    }
    return g->size - smallest;
}

static unsigned slots(const struct shape *g)
{
    return g->nodes->most - 1 + layers_of_one(g->nodes) * (g->nodes->count - 1) + most_passed_on(g);
}

static bool exists(const struct shape *g)
{
    return g->nodes != NULL && g->nodes->count > 1 && g->nodes->count < g->size &&
           g->size <= SLOTS_MAX && slots(g) <= SLOTS_MAX;
}

/* Local rank 0 leads the most layers. It puts their blocks, and also its own block from IN. */
static struct footprint footprint(const struct shape *g)
{
    const struct nodes *nodes = g->nodes;
    size_t blocks = 1;

    for (unsigned layer = 0; layer < nodes->most; layer += nodes->fewest)
        for (unsigned k = 0; k < nodes->count; k++)
            blocks += has(nodes, k, layer);
    return (struct footprint){
        .slots = slots(g),
        .message = longest_block(g),
        .sent = blocks * longest_block(g),
    };
}

/* ------------------------------------------------------------------ phases -------------------- */

static size_t count_on_node(const struct shape *g, unsigned node, unsigned i)
{
    return block_count(g, rank_on(g->nodes, node, i));
}

static void exchange_on_node(const struct shape *g, struct round *out)
{
    struct phase phase = ncoll__phase_on_node(g, &ncoll__direct, COLL_ALLGATHER, 1);

    phase.g.count_of = count_on_node;
    phase.in = in_at(0);
    ncoll__phase_round(&phase, 0, out);
}

static unsigned leader(const struct shape *g, unsigned layer, unsigned node)
{
    return rank_on(g->nodes, node, leads_for(g->nodes, layer));
}

/* Returns the rank whose block a node brings to the ring of a layer. If the node has no rank in
 * that layer, its block is empty, and this is some rank of the node. */
static unsigned block(const struct shape *g, unsigned layer, unsigned node)
{
    return rank_on(g->nodes, node, has(g->nodes, node, layer) ? layer : 0);
}

static size_t count_of_layer(const struct shape *g, unsigned layer, unsigned node)
{
    return has(g->nodes, node, layer) ? block_count(g, rank_on(g->nodes, node, layer)) : 0;
}

static void ring_round(const struct shape *g, unsigned layer, unsigned k, struct round *out)
{
    const struct nodes *nodes = g->nodes;
    struct phase phase = ncoll__phase_across(g, &ncoll__ring, leader, layer);

    phase.g.count_of = count_of_layer;
    phase.block = block;
    phase.in = out_block(block(g, layer, phase.g.rank), 0);
    phase.slot = ring_slot(nodes, layer);
    ncoll__phase_round(&phase, k - 1, out);
}

/* Emits the steps by which the block of a layer that arrives in round k is passed on, from the
 * leader of the layer to the other ranks of the node. */
static void pass_on(const struct shape *g, unsigned layer, unsigned k, struct round *out)
{
    const struct nodes *nodes = g->nodes;
    struct phase phase = ncoll__phase_on_node(g, &ncoll__flat, COLL_BCAST, 1);
    unsigned from = (node_of(nodes, g->rank) + nodes->count - k) % nodes->count;

    if (!has(nodes, from, layer))
        return;
    phase.g.root = leads_for(nodes, layer);
    phase.g.count = block_count(g, rank_on(nodes, from, layer));
    phase.in = phase.out = out_block(rank_on(nodes, from, layer), 0);
    phase.slot = slot_passed_on(g, from, layer);
    ncoll__phase_round(&phase, 0, out);
}

static void take_what_is_passed_on(const struct shape *g, struct round *out)
{
    const struct nodes *nodes = g->nodes;

    for (unsigned k = 1; k < nodes->count; k++)
        for (unsigned layer = 0; layer < nodes->most; layer++)
            if (leads_for(nodes, layer) != local_of(nodes, g->rank))
                pass_on(g, layer, k, out);
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    const struct nodes *nodes = g->nodes;
    unsigned local = local_of(nodes, g->rank);

    if (r > nodes->count)
        return false;
    if (r == 0)
        exchange_on_node(g, out);
    if (r == nodes->count)
        take_what_is_passed_on(g, out);
    if (r == 0 || r == nodes->count || local >= nodes->fewest)
        return true;
    for (unsigned layer = local; layer < nodes->most; layer += nodes->fewest)
        ring_round(g, layer, r, out);
    for (unsigned layer = local; layer < nodes->most; layer += nodes->fewest)
        pass_on(g, layer, r, out);
    return true;
}

/* Chosen where a ring of all ranks would pay, if the cost of messages within a node is known. */
static struct fit fit(const struct shape *g, const struct situation *s)
{
    bool pays = s->near_is_known && ncoll__ring_pays(g, s);

    return (struct fit){.strength = pays ? FIT_NODES : FIT_NONE,
                        .why = "fewest bytes between nodes"};
}

const struct algorithm ncoll__hierarchical_ring = {
    .name = "hierarchical-ring",
    .summary = "rings across nodes, one for each local rank; blocks are passed on within nodes",
    .source = "Al Ahad et al., PAW-ATM 2018",
    .collectives = 1u << COLL_ALLGATHER,
    .properties = SYNCHRONISES,
    .exists = exists,
    .footprint = footprint,
    .round = round_of,
    .peers = ncoll__peers_by_nodes,
    .fit = fit,
};
