/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hierarchical allreduce of long vectors: on each node several ranks lead, each for a slice.
 *
 * M. Bayatpour, S. Chakraborty, H. Subramoni, X. Lu, D. K. Panda: Scalable Reduction Collectives
 * with Data Partitioning-based Multi-Leader Design, SC 2017; M. A. Al Ahad et al.: Efficient
 * Algorithms for Collective Operations with Notified Communication in Shared Windows, PAW-ATM 2018.
 *
 *   P  ranks; N  nodes; M  the fewest ranks on any of them; l  local rank of this one
 *   slice j = 0..M-1 of the vector: count / M elements or one more, longer slices last
 *   up       on each node slice j is reduced to local rank j, as in flat.c: a reduce-scatter
 *   across   the N ranks that lead for slice j reduce it among them, in a ring (ring.c)
 *   down     slice j goes from local rank j to all others of the node: an allgather
 *
 * P = 5, nodes {0 2} {1 3 4}, so M = 2:
 *
 *   up       2 to 0: x2[0]   0 to 2: x0[1]   3, 4 to 1: x3[0], x4[0]   1, 4 to 3: x1[1], x4[1]
 *   across   0 and 1: slice 0   2 and 3: slice 1
 *   down     0 to 2, 1 to 3 and 4: slice 0   2 to 0, 3 to 1 and 4: slice 1
 *
 * The leaders of a node put slices across the network side by side, where a single leader would put
 * them one after the other; and they share the work of combining. Each rank first puts the slices
 * that others combine, beginning with the leader of the next slice. Ranks beyond the M-th of their
 * node lead for no slice. The operation has to commute. Each slice is combined once, so all ranks
 * get the same bits.
 */
#include "algos/choice.h"
#include "algos/phases.h"

extern const struct algorithm ncoll__flat, ncoll__ring;

/* Returns the rank of a node that leads for slice j. */
static unsigned leader(const struct shape *g, unsigned j, unsigned node)
{
    return rank_on(g->nodes, node, j);
}

/* Returns the first element of slice j. */
static size_t slice_start(size_t count, unsigned M, unsigned j)
{
    size_t longer_from = M - count % M;
    return j * (count / M) + (j > longer_from ? j - longer_from : 0);
}

/* The phases of slice j on one rank. */
struct slice {
    struct phase up, across, down;
};

static struct slice slice_of(const struct shape *g, unsigned M, unsigned j)
{
    struct slice s = {
        .up = ncoll__phase_on_node(g, &ncoll__flat, COLL_REDUCE, 1),
        .across = ncoll__phase_across(g, &ncoll__ring, leader, j),
        .down = ncoll__phase_on_node(g, &ncoll__flat, COLL_BCAST, 1),
    };
    size_t start = slice_start(g->count, M, j);

    s.up.g.count = s.across.g.count = s.down.g.count = slice_start(g->count, M, j + 1) - start;
    s.up.g.root = s.down.g.root = j;
    s.up.in = in_at(start);
    s.up.out = s.across.in = scratch_at(0);
    s.across.out = s.down.in = s.down.out = out_at(start);
    return s;
}

/* Slots and scratch of each phase. Phases `up` and `across` use the same ones for all slices, since
 * no rank leads for two slices. */
struct needs {
    struct footprint up, across, all;
};

static struct needs needs_of(const struct shape *g, unsigned M)
{
    struct slice longest = slice_of(g, M, M - 1);
    struct needs n = {.up = ncoll__phase_footprint_on_nodes(&longest.up),
                      .across = ncoll__phase_footprint(&longest.across)};

    n.all = (struct footprint){
        .slots = n.up.slots + n.across.slots + M,
        .scratch = longest.up.g.count + n.up.scratch + n.across.scratch,
        .message = longest.up.g.count,
        .sent = g->count,
    };
    return n;
}

static struct slice slice_in_place(const struct shape *g, unsigned M, unsigned j)
{
    struct needs needs = needs_of(g, M);
    struct slice s = slice_of(g, M, j);

    s.up.scratch = needs.all.scratch - needs.across.scratch - needs.up.scratch;
    s.across.scratch = s.up.scratch + needs.up.scratch;
    s.across.slot = needs.up.slots;
    s.down.slot = needs.up.slots + needs.across.slots + j;
    return s;
}

static bool exists(const struct shape *g)
{
    const struct nodes *nodes = g->nodes;

    return nodes != NULL && nodes->count > 1 && nodes->fewest > 1 &&
           nodes->most - 1 + 2 * (nodes->count - 1) + nodes->fewest <= SLOTS_MAX;
}

static struct footprint footprint(const struct shape *g)
{
    return needs_of(g, g->nodes->fewest).all;
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    unsigned M = g->nodes->fewest, local = local_of(g->nodes, g->rank);
    struct slice own = slice_in_place(g, M, local < M ? local : 0);
    unsigned across = 2 * (g->nodes->count - 1); /* rounds of the ring */

    if (r > across + 1)
        return false;
    if (r > 0 && r <= across)
        return ncoll__phase_round(&own.across, r - 1, out);
    for (unsigned i = 0; i < M; i++) {
        /* the slice that this rank leads comes last on the way up, and first on the way down */
        struct slice s = slice_in_place(g, M, (local + i + (r == 0)) % M);
        ncoll__phase_round(r == 0 ? &s.up : &s.down, 0, out);
    }
    return true;
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    bool is_long = g->size > 1 && s->near_is_known && s->bytes >= LONG_VECTOR_BYTES &&
                   (g->nodes == NULL || ncoll__ring_is_short(g->nodes->count, s));

    return (struct fit){.strength = is_long ? FIT_NODES : FIT_NONE,
                        .why = "fewest bytes between nodes"};
}

const struct algorithm ncoll__multi_leader = {
    .name = "multi-leader",
    .summary = "slices reduced on each node, each by a ring across nodes, gathered on each node",
    .source = "Bayatpour et al., SC 2017; Al Ahad et al., PAW-ATM 2018",
    .collectives = 1u << COLL_ALLREDUCE,
    .properties = SYNCHRONISES | GIVES_SAME_BITS | NEEDS_COMMUTATIVE,
    .exists = exists,
    .footprint = footprint,
    .round = round_of,
    .peers = ncoll__peers_by_nodes,
    .fit = fit,
};
