/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hierarchical allgather with shared notifications: the blocks of a node go to each other
 * node once, as one message, and each rank reads the messages in the slots of its node's ranks.
 *
 * M. A. Al Ahad, C. Simmendinger, R. Iakymchuk, E. Laure, S. Markidis: Efficient Algorithms for
 * Collective Operations with Notified Communication in Shared Windows, PAW-ATM 2018, section II:
 * each rank puts its block where its node sees it. The blocks of a node together are divided evenly
 * among its ranks. Each of these exchanges its share with the ranks of the same local rank on the
 * other nodes. All ranks of a node see the messages that arrive at any of them, so nobody passes
 * anything on to a neighbour.
 *
 *   P  ranks; N  nodes; M  ranks of a node, with local ranks i = 0..M-1; n  messages a round across
 *   x_i      the block of local rank i
 *   X_k      the blocks of node k side by side, in the order of local ranks: blocks are numbered
 *            node by node, X_0, X_1, .., X_{N-1}
 *   L        lanes: 1, PACKED, or as many as the smallest node has ranks, BALANCED
 *   X_k[j]   share j = 0..L-1 of X_k: elements floor(j |X_k| / L) to floor((j+1) |X_k| / L)
 *   give     local rank i puts x_i to slot floor(i / T) of local rank (i + 1) mod T, T = max(L, 2):
 *            the first T ranks have all blocks, and the others look at their slots
 *   pack     local rank j < L, which leads lane j, puts X_k[j] together in scratch, unless all of
 *            it is the rank's own
 *   across   the leaders of a lane gather its shares from all nodes: n-way dissemination, as in
 *            algos/concatenation.h
 *   see      each rank takes the blocks of its node from the slots of the first T ranks, and those
 *            of the other nodes from the messages that the leaders of its node have received
 *
 * P = 4, nodes {0 1} {2 3}, blocks of two elements a b, in one lane and in two:
 *
 *   L = 1     rank 0                  rank 1                    rank 2          rank 3
 *   give      x0 to slot 0 of 1       x1 to slot 0 of 0         x2 to 3         x3 to 2
 *   pack      a0 b0 a1 b1                                       a2 b2 a3 b3
 *   across    to slot 1 of 2                                    to slot 1 of 0
 *   see       x1; a2 b2 a3 b3         x0; slot 1 of 0           x3; ..          x2; ..
 *
 *   L = 2
 *   across    a0 b0 to slot 1 of 2    a1 b1 to slot 1 of 3      a2 b2 to 0      a3 b3 to 1
 *   see       x1; a2 b2; slot 1 of 1  x0; slot 1 of 0; a3 b3    ..
 *
 * If rank 1 alone has a block, of four elements a b c d, rank 0 sends a b, and rank 1 c d.
 *
 * X_k goes to each other node once: in the fewest messages (packed), or in equal shares from the
 * first L ranks of the node (balanced), so that a long block is sent by several ranks. No rank may
 * end the call before all ranks have entered it, even those whose blocks are empty or do not belong
 * to the share of the leader that waits. Therefore the leader of lane i mod L waits for local rank
 * i >= L before it puts. A rank looks at slots of at most T ranks, hence L <= NEIGHBOURS_MAX. In a
 * lane it looks first for the message that arrives last.
 */
#include "algos/choice.h"
#include "algos/concatenation.h"
#include "algos/extents.h"
#include "algos/node_shares.h"
#include "algos/parts.h"
#include "algos/phases.h"
#include "algos/radix.h"

static unsigned leader(const struct shape *g, unsigned lane, unsigned node)
{
    return rank_on(g->nodes, node, lane);
}

/* ------------------------------------------------------------------ shares -------------------- */

/* Emits half a round of the allgather of one lane: its puts if r is even, its waits if r is odd. */
static bool concatenation_half(const struct shape *g, unsigned r, struct round *out)
{
    if (r / 2 >= fewest_rounds(g->size, g->radix))
        return false;
    if (r % 2 == 0)
        ncoll__concatenation_send(g, r / 2 + 1, out);
    else
        ncoll__concatenation_receive(g, r / 2 + 1, out);
    return true;
}

/* The allgather of a lane as an algorithm that takes two rounds, puts and waits, for each round. */
static const struct algorithm concatenation = {.round = concatenation_half};

/* ------------------------------------------------------------------ on the node --------------- */

static unsigned given_to(const struct hierarchy *h, unsigned i)
{
    return rank_on(h->g->nodes, h->node, (i + 1) % h->T);
}

static unsigned give_slots(const struct shape *g, unsigned T)
{
    return (g->nodes->most + T - 1) / T;
}

static void give(const struct hierarchy *h, struct round *out)
{
    if (h->M > 1)
        emit_put(out, given_to(h, h->own), h->own / h->T, in_at(0), block_count(h->g, h->g->rank));
}

/* Returns the place of x_i after it has arrived. */
static struct ref given(const struct hierarchy *h, unsigned i)
{
    unsigned to = given_to(h, i), slot = i / h->T;

    if (i == h->own)
        return in_at(0);
    return to == h->g->rank ? arrived_at(slot, 0) : arrived_at_neighbour(to, slot, 0);
}

static void await(const struct hierarchy *h, unsigned i, struct round *out)
{
    unsigned from = rank_on(h->g->nodes, h->node, i), to = given_to(h, i), slot = i / h->T;
    size_t count = block_count(h->g, from);

    if (i == h->own)
        return;
    if (to != h->g->rank)
        emit_look(out, to, from, slot, count);
    else if (h->M > 2)
        emit_shared_wait(out, from, slot, count);
    else
        emit_wait(out, from, slot, count);
}

/* True if the whole share lies within the block. */
static bool is_of_block(struct extent share, struct extent block)
{
    return block.begin <= share.begin && share.end <= block.end;
}

/* True if this rank waits for x_i before it puts anything to other nodes. */
static bool packs(const struct hierarchy *h, unsigned i)
{
    if (h->own >= h->L)
        return false;
    struct extent share = ncoll__share_of(h, h->node, h->own);
    struct extent both = overlap(share, block_in(h->g, h->node, i));
    return both.begin < both.end || (i >= h->L && i % h->L == h->own);
}

static void pack(const struct hierarchy *h, struct round *out)
{
    struct extent share = ncoll__share_of(h, h->node, h->own),
                  own = block_in(h->g, h->node, h->own);

    for (unsigned i = 0; i < h->M; i++) {
        if (!packs(h, i))
            continue;
        struct extent block = block_in(h->g, h->node, i), both = overlap(share, block);
        await(h, i, out);
        if (!is_of_block(share, own))
            emit_copy(out, scratch_at(both.begin - share.begin),
                      further(given(h, i), both.begin - block.begin), both.end - both.begin);
    }
}

/* Copies the blocks of the node to OUT, from this rank's slots and those of its neighbours. */
static void see_node(const struct hierarchy *h, struct round *out)
{
    for (unsigned i = 0; i < h->M; i++) {
        unsigned q = rank_on(h->g->nodes, h->node, i);
        if (!packs(h, i))
            await(h, i, out);
        emit_copy(out, out_block(q, 0), given(h, i), block_count(h->g, q));
    }
}

/* ------------------------------------------------------------------ across nodes -------------- */

/* Copies `count` elements to OUT. If they continue the last copy, that step is made longer. */
static void take(const struct hierarchy *h, struct ref dst, struct ref src, size_t count,
                 struct round *out)
{
    struct step *last = out->count > 0 ? &out->steps[out->count - 1] : NULL;
    bool goes_on = !has_counts(h->g) && !h->g->separate && last != NULL &&
                   last->kind == STEP_COPY && last->more == 0 && last->a.buffer == src.buffer &&
                   last->a.slot == src.slot && last->a.rank == src.rank &&
                   last->a.offset + last->count == src.offset && last->dst.buffer == BUF_OUT &&
                   last->dst.block * h->g->count + last->dst.offset + last->count ==
                       dst.block * h->g->count + dst.offset;

    if (goes_on)
        last->count += count;
    else if (h->g->separate)
        emit_copy(out, dst, src, count);
    else /* not emit_copy(): it may make repeated steps, which cannot be made longer later */
        emit(out, (struct step){.kind = STEP_COPY, .dst = dst, .a = src, .b = src, .count = count});
}

/* Copies the blocks, or parts of blocks, of X_k[j], which is at src, to OUT. */
static void take_share(const struct hierarchy *h, unsigned k, struct extent share, struct ref src,
                       struct round *out)
{
    for (unsigned i = 0; i < ranks_on(h->g->nodes, k); i++) {
        struct extent block = block_in(h->g, k, i), both = overlap(share, block);
        if (both.begin < both.end)
            take(h, out_block(rank_on(h->g->nodes, k, i), both.begin - block.begin),
                 further(src, both.begin - share.begin), both.end - both.begin, out);
    }
}

/* True if the blocks of several nodes can be copied by repeated steps. */
static bool takes_at_once(const struct shape *g)
{
    return has_counts(g) ? g->nodes->in_blocks : g->nodes->in_turn && ncoll__nodes_are_alike(g);
}

/* Copies X_k, .., X_{k+n-1}, which lie side by side at src, to OUT. */
static void take_nodes(const struct hierarchy *h, unsigned k, unsigned n, struct ref src,
                       struct round *out)
{
    size_t count = h->g->count;
    struct step step = {
        .kind = STEP_COPY, .dst_by = by_blocks(1), .dst = out_block(rank_on(h->g->nodes, k, 0), 0)};

    step.a = step.b = src;
    if (has_counts(h->g))
        ncoll__emit_uneven(out, h->g, step,
                           ranks_before(h->g->nodes, k + n) - ranks_before(h->g->nodes, k));
    for (unsigned i = 0; !has_counts(h->g) && i < h->M; i++)
        emit_copies(out, out_block(rank_on(h->g->nodes, k, i), 0), by_blocks(1),
                    further(src, i * count), by_elements((ptrdiff_t)(h->M * count)), count, n);
}

static void take_piece(const struct hierarchy *h, unsigned j, struct piece piece, struct ref src,
                       struct round *out)
{
    bool at_once = h->L == 1 && takes_at_once(h->g);

    for (size_t v = 0, n = 1; v < piece.vectors; v += n) {
        unsigned k = (unsigned)((h->node + piece.distance + v) % h->N);
        if (at_once) {
            n = piece.vectors - v < h->N - k ? piece.vectors - v : h->N - k;
            take_nodes(h, k, (unsigned)n, src, out);
            src = further(src, ncoll__nodes_elements(h->g, k, (unsigned)n));
            continue;
        }
        struct extent share = ncoll__share_of(h, k, j);
        take_share(h, k, share, src, out);
        src = further(src, share.end - share.begin);
    }
}

static struct phase lane_of(const struct hierarchy *h, unsigned j)
{
    struct phase phase = ncoll__phase_across(h->g, &concatenation, leader, j);
    struct extent share = ncoll__share_of(h, h->node, j), own = block_in(h->g, h->node, h->own);

    ncoll__share_counts(h, j, &phase.g);
    phase.slot = give_slots(h->g, h->T);
    phase.shared_wait = h->M > 1;
    phase.in = is_of_block(share, own) ? in_at(share.begin - own.begin) : scratch_at(0);
    return phase;
}

/* Emits round l of the lane that this rank leads. The blocks of its own node arrive while the first
 * messages to other nodes are in flight. */
static void lead(const struct hierarchy *h, unsigned l, struct round *out)
{
    struct phase lane = lane_of(h, h->own);

    ncoll__phase_round(&lane, 2 * (l - 1), out);
    if (l == 1)
        see_node(h, out);
    ncoll__phase_round(&lane, 2 * (l - 1) + 1, out);
    for (unsigned i = 1; i <= radix_of_round(h->g->radix, l); i++) {
        struct piece piece = ncoll__concatenation_piece(&lane.g, l, i);
        take_piece(h, h->own, piece, arrived_at(lane.slot + piece.slot, 0), out);
    }
}

/* Copies to OUT the messages of a lane that another rank of the node leads. */
static void see_lane(const struct hierarchy *h, unsigned j, struct round *out)
{
    struct phase lane = lane_of(h, j);
    unsigned at = leader(h->g, j, h->node);

    for (unsigned l = fewest_rounds(h->N, h->g->radix); l > 0; l--)
        for (unsigned i = 1; i <= radix_of_round(h->g->radix, l); i++) {
            struct piece piece = ncoll__concatenation_piece(&lane.g, l, i);
            unsigned slot = lane.slot + piece.slot;
            if (piece.vectors == 0)
                continue;
            unsigned from = leader(h->g, j, right(&lane.g, piece.distance));
            emit_look(out, at, from, slot, piece.elements);
            take_piece(h, j, piece, arrived_at_neighbour(at, slot, 0), out);
        }
}

/* ------------------------------------------------------------------ the schedule -------------- */

/* With k rounds across nodes, round 0 is "give" and "pack", rounds 1..k are those of the lane that
 * the rank leads, if any, and round k + 1 is "see". */
static bool round_of(const struct hierarchy *h, unsigned r, struct round *out)
{
    unsigned k = fewest_rounds(h->N, h->g->radix);
    bool leads = h->own < h->L;

    if (r > k + 1)
        return false;
    if (r == 0) {
        give(h, out);
        if (leads)
            pack(h, out);
        return true;
    }
    if (r <= k && leads)
        lead(h, r, out);
    if (r <= k)
        return true;
    if (!leads)
        see_node(h, out);
    for (unsigned j = 0; j < h->L; j++)
        if (j != h->own)
            see_lane(h, j, out);
    return true;
}

static size_t longer(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Returns the number of elements of the longest share of this lane that is packed in scratch. With
 * counts any share may be packed. */
static size_t longest_packed(const struct hierarchy *h, unsigned j, bool counts)
{
    size_t longest = 0;

    for (unsigned k = 0; k < (ncoll__nodes_are_alike(h->g) ? 1 : h->N); k++) {
        struct extent share = ncoll__share_of(h, k, j);
        if (counts || !is_of_block(share, block_in(h->g, k, j)))
            longest = longer(share.end - share.begin, longest);
    }
    return longest;
}

/* Blocks with counts are all taken to be as long as the longest one. */
static struct footprint footprint_of(const struct shape *g, bool balanced)
{
    struct shape even = *g;

    even.counts = even.sums = NULL;
    even.count = longest_block(g);
    const struct hierarchy h = ncoll__hierarchy_of(&even, balanced);
    struct shape lane = {.collective = COLL_ALLGATHER, .size = h.N, .radix = g->radix};
    struct footprint most = {.message = even.count, .sent = even.count};

    for (unsigned j = 0; j < h.L; j++) {
        ncoll__share_counts(&h, j, &lane);
        struct footprint needs = ncoll__concatenation_footprint(&lane);
        most.slots = give_slots(g, h.T) + needs.slots;
        most.message = longer(needs.message, most.message);
        most.scratch = longer(needs.scratch, most.scratch);
        most.scratch = longer(longest_packed(&h, j, has_counts(g)), most.scratch);
    }
    return most;
}

static bool exists(const struct shape *g, bool balanced)
{
    const struct nodes *nodes = g->nodes;

    return nodes != NULL && nodes->shared && nodes->count > 1 && nodes->count < g->size &&
           (!balanced || nodes->fewest > 1) && footprint_of(g, balanced).slots <= SLOTS_MAX;
}

static bool packed_exists(const struct shape *g)
{
    return exists(g, false);
}

static struct footprint packed_footprint(const struct shape *g)
{
    return footprint_of(g, false);
}

static bool packed_round(const struct shape *g, unsigned r, struct round *out)
{
    struct hierarchy h = ncoll__hierarchy_of(g, false);
    return round_of(&h, r, out);
}

/*
 * The blocks of a node go to other nodes as one message in each lane, and all ranks of the node
 * read them. A leader packs the share of its lane; if there are several lanes and blocks have one
 * length, the share is the leader's own block. Each lane adds one message that a node has to look
 * at. All messages between nodes share the link, whichever rank sends them. Data that is read in a
 * neighbour's slot is copied, not placed in OUT.
 */
static double cost(const struct shape *g, const struct situation *s, bool balanced)
{
    const struct nodes *nodes = g->nodes;
    double bytes = s->bytes_of_all, of_node = bytes / nodes->count;
    unsigned fewest = nodes->fewest < NEIGHBOURS_MAX ? nodes->fewest : NEIGHBOURS_MAX;
    unsigned lanes = balanced ? fewest : 1;
    struct pace near = ncoll__pace(&s->near, (size_t)(bytes / g->size), s->ranks_per_core),
                far =
                    ncoll__pace(&s->far, 0, s->ranks_per_core < lanes ? s->ranks_per_core : lanes);

    far.ranks_per_core = far.ranks_per_core > 1 ? far.ranks_per_core : 1;
    far.wait_ns = far.latency_ns + (s->ranks_per_core > 1 ? SWITCH_NS : 0);
    return near.wait_ns + (nodes->most - 1) * near.message_ns * near.ranks_per_core +
           (lanes > 1 ? 0 : of_node * COPY_BYTE_NS) +
           ncoll__rounds_ns(far, nodes->count, g->radix) +
           (nodes->count - 1) * of_node * s->far.byte_ns + lanes * near.latency_ns +
           bytes * COPY_BYTE_NS * near.ranks_per_core;
}

/* True if a rank's steps are few: there are few blocks, or a step handles many of them. */
static bool is_short(const struct shape *g, bool balanced)
{
    const struct nodes *nodes = g->nodes;

    return g->size <= SLOTS_MAX || nodes == NULL || (!balanced && takes_at_once(g)) ||
           (!has_counts(g) && nodes->in_blocks);
}

static struct fit packed_fit(const struct shape *g, const struct situation *s)
{
    return (struct fit){.gain = s->near_is_known && is_short(g, false),
                        .why = "fewest messages between nodes, seen by all ranks of a node"};
}

static double packed_cost(const struct shape *g, const struct situation *s)
{
    return cost(g, s, false);
}

const struct algorithm ncoll__hierarchical_packed = {
    .name = "hierarchical-packed",
    .summary = "a node's blocks as one message to each other node, which all its ranks read",
    .source = "Al Ahad et al., PAW-ATM 2018",
    .collectives = 1u << COLL_ALLGATHER,
    .properties = SYNCHRONISES | SHARES | USES_RADIX | TAKES_LIST | PACKS_UNEVEN,
    .exists = packed_exists,
    .footprint = packed_footprint,
    .round = packed_round,
    .peers = ncoll__peers_by_nodes,
    .fit = packed_fit,
    .cost = packed_cost,
};

static bool balanced_exists(const struct shape *g)
{
    return exists(g, true);
}

static struct footprint balanced_footprint(const struct shape *g)
{
    return footprint_of(g, true);
}

static bool balanced_round(const struct shape *g, unsigned r, struct round *out)
{
    struct hierarchy h = ncoll__hierarchy_of(g, true);
    return round_of(&h, r, out);
}

static struct fit balanced_fit(const struct shape *g, const struct situation *s)
{
    return (struct fit){.gain = s->near_is_known && is_short(g, true),
                        .why = "fewest bytes between nodes, seen by all ranks of a node"};
}

static double balanced_cost(const struct shape *g, const struct situation *s)
{
    return cost(g, s, true);
}

const struct algorithm ncoll__hierarchical_balanced = {
    .name = "hierarchical-balanced",
    .summary = "the same, but the ranks of a node send even shares of the message",
    .source = "Al Ahad et al., PAW-ATM 2018",
    .collectives = 1u << COLL_ALLGATHER,
    .properties = SYNCHRONISES | SHARES | USES_RADIX | TAKES_LIST | PACKS_UNEVEN,
    .exists = balanced_exists,
    .footprint = balanced_footprint,
    .round = balanced_round,
    .peers = ncoll__peers_by_nodes,
    .fit = balanced_fit,
    .cost = balanced_cost,
};
