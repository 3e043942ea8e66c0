/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hierarchical barrier and allreduce with shared notifications: all ranks of a node see the
 * messages that arrive from other nodes, and each continues with them by itself.
 *
 * M. A. Al Ahad, C. Simmendinger, R. Iakymchuk, E. Laure, S. Markidis: Efficient Algorithms for
 * Collective Operations with Notified Communication in Shared Windows, PAW-ATM 2018. It describes
 * the problem of the late receiver: without shared notifications a message that has arrived is of
 * no use to the node until its receiver looks at it.
 *
 *   P  ranks; N  nodes; M  ranks of a node, with local ranks 0..M-1; n  messages a round across
 *   leader  of a node: local rank 0; x_i  the vector of local rank i
 *   share   local rank i > 0 puts x_i to slot i - 1 of the leader, the leader puts x_0 to slot 0 of
 *           local rank 1; each looks at all of them, and combines x = ((x_0 o x_1) o ..) o x_{M-1}
 *   across  the leaders carry out the collective with x: a barrier as n-way dissemination, an
 *           allreduce as ordered recursive multiplying. The other ranks FOLLOW: in each round they
 *           look at the messages to their leader, and combine them as the leader does
 *
 * P = 4, nodes {0 1} {2 3}, an allreduce:
 *
 *             rank 0                  rank 1                     rank 2, 3
 *   share     x0 to slot 0 of 1       x1 to slot 0 of 0          the same
 *             waits for x1            waits for x0
 *   across    x0 o x1 to slot 1 of 2                             2: x2 o x3 to slot 1 of 0
 *             waits for slot 1        looks at slot 1 of 0       2 waits, 3 looks at slot 1 of 2
 *             (x0 o x1) o (x2 o x3), each of them
 *
 * If the number of nodes is no product of small factors, recursive multiplying folds some nodes
 * into others. The leader of such a node sends x and waits for the result. The other ranks of this
 * node do not need x, and look at the result only; so x_0 is not put, and only the leader combines
 * the x_i.
 *
 * A rank that follows looks first for the message that arrives last: from the last round across
 * nodes back to the first, and then on its own node. It combines when all messages have arrived. So
 * it waits only once, and takes a core only once if ranks share cores. No other rank waits for it
 * meanwhile, since it sends nothing.
 *
 * No rank passes a result on. The phase "down" of hierarchical.c, and the context switches that it
 * costs, are not needed, and a node takes M messages in place of 2 (M - 1). In return each rank of
 * a node combines everything, so this is for short vectors. All ranks evaluate the same expression,
 * in the order of nodes; the operation has to commute, unless this is the order of ranks.
 */
#include "algos/choice.h"
#include "algos/phases.h"

extern const struct algorithm ncoll__multiply;

static bool exists(const struct shape *g)
{
    const struct nodes *nodes = g->nodes;

    return nodes != NULL && nodes->shared && nodes->count > 1 && nodes->count < g->size &&
           nodes->most - 1 <= SLOTS_MAX;
}

static unsigned leader(const struct shape *g, unsigned subgroup, unsigned node)
{
    (void)subgroup;
    return rank_on(g->nodes, node, 0);
}

static size_t share_slots(const struct shape *g)
{
    return g->nodes->most - 1;
}

static const struct algorithm *across_algorithm(const struct shape *g)
{
    return g->collective == COLL_BARRIER ? &ncoll__dissemination : &ncoll__multiply;
}

/* Returns the phase across nodes. Ranks that do not lead their node follow its leader. */
static struct phase across_of(const struct shape *g)
{
    struct phase phase = ncoll__phase_across(g, across_algorithm(g), leader, 0);
    unsigned M = ranks_on(g->nodes, node_of(g->nodes, g->rank));

    phase.follows = !phase.takes_part;
    phase.takes_part = true;
    phase.shared_wait = M > 1;
    phase.in = M > 1 ? scratch_at(0) : in_at(0);
    phase.out = out_at(0);
    phase.slot = (unsigned)share_slots(g);
    phase.scratch = g->count;
    return phase;
}

#define ROUND_STEPS (8 * RADIX_MAX) /* more steps than a rank takes in a round across nodes */

/* True if the followers on this rank's node need x, since their leader combines x across nodes, and
 * does not only put it. The answer is the same for all counts. */
static bool followers_combine(const struct shape *g)
{
    struct shape one = *g;
    struct step steps[ROUND_STEPS];
    struct round round = {.steps = steps, .capacity = ROUND_STEPS};

    if (g->collective == COLL_BARRIER)
        return true;
    one.count = 1;
    struct phase across = ncoll__phase_across(&one, across_algorithm(&one), leader, 0);
    across.takes_part = true;
    for (unsigned r = 0; ncoll__phase_round(&across, r, &round); r++) {
        for (unsigned i = 0; i < round.count; i++)
            if (steps[i].kind == STEP_REDUCE &&
                (steps[i].a.buffer == BUF_IN || steps[i].b.buffer == BUF_IN))
                return true;
        round.count = 0;
    }
    return false;
}

/* Waits until the message with x_i has arrived at this rank, or at a neighbour that this rank looks
 * at, and returns the place of x_i. */
static struct ref await(const struct shape *g, unsigned node, unsigned i, bool shared_wait,
                        struct round *out)
{
    unsigned from = rank_on(g->nodes, node, i), to = rank_on(g->nodes, node, i > 0 ? 0 : 1);
    unsigned slot = i > 0 ? i - 1 : 0;

    if (from == g->rank)
        return in_at(0);
    if (to == g->rank) {
        if (shared_wait && ranks_on(g->nodes, node) > 2)
            emit_shared_wait(out, from, slot, g->count);
        else
            emit_wait(out, from, slot, g->count);
        return arrived_at(slot, 0);
    }
    emit_look(out, to, from, slot, g->count);
    return arrived_at_neighbour(to, slot, 0);
}

/* Puts this rank's vector to the other ranks of its node. A leader does so only if the others
 * combine, too. */
static void give(const struct shape *g, struct round *out)
{
    unsigned node = node_of(g->nodes, g->rank), own = local_of(g->nodes, g->rank);

    if (ranks_on(g->nodes, node) > 1 && (own > 0 || followers_combine(g)))
        emit_put(out, rank_on(g->nodes, node, own > 0 ? 0 : 1), own > 0 ? own - 1 : 0, in_at(0),
                 g->count);
}

/* Combines x, the vector of the node. */
static void combine(const struct shape *g, struct round *out)
{
    unsigned node = node_of(g->nodes, g->rank), M = ranks_on(g->nodes, node);
    bool all_combine = followers_combine(g);
    struct ref combined = {0};

    if (M == 1 || (!all_combine && local_of(g->nodes, g->rank) > 0))
        return;
    for (unsigned i = 0; i < M; i++) {
        struct ref x = await(g, node, i, all_combine, out);
        if (i > 0)
            emit_reduce(out, scratch_at(0), combined, x, g->count);
        combined = i > 0 ? scratch_at(0) : x;
    }
}

/* Emits either the looks of a round across nodes, or its other steps. */
static void part_of_round(const struct phase *across, unsigned r, bool looks, struct round *out)
{
    unsigned from = out->count, to = from;

    ncoll__phase_round(across, r, out);
    for (unsigned i = from; i < out->count; i++)
        if ((out->steps[i].kind == STEP_LOOK) == looks)
            out->steps[to++] = out->steps[i];
    out->count = to;
}

/* Emits round r of a follower. With k rounds across nodes it gives its vector, then emits the looks
 * of these rounds, the last round first, then combines on its node, and then emits the other steps
 * of the k rounds. */
static bool follow(const struct shape *g, const struct phase *across, unsigned r, struct round *out)
{
    unsigned k = ncoll__phase_rounds(across);

    if (r == 0)
        give(g, out);
    else if (r <= k)
        part_of_round(across, k - r, true, out);
    else if (r == k + 1)
        combine(g, out);
    else if (r <= 2 * k + 1)
        part_of_round(across, r - k - 2, false, out);
    else
        return false;
    return true;
}

static struct footprint footprint(const struct shape *g)
{
    struct phase across = across_of(g);
    struct footprint needs = ncoll__phase_footprint(&across);

    return (struct footprint){
        .slots = (unsigned)share_slots(g) + needs.slots,
        .scratch = g->count + needs.scratch,
        .message = g->count,
        .sent = g->count,
    };
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    struct phase across = across_of(g);

    if (across.follows)
        return follow(g, &across, r, out);
    if (r > 0)
        return ncoll__phase_round(&across, r - 1, out);
    give(g, out);
    combine(g, out);
    return true;
}

#define WHY "fewest messages between nodes, seen by all ranks of a node"

static struct fit fit(const struct shape *g, const struct situation *s)
{
    (void)g, (void)s;
    return (struct fit){.gain = 1, .why = WHY};
}

/* All ranks of a node see the messages of the node's ranks and those from other nodes. Each rank
 * sends once within its node, all ranks combine these messages, and each look at a message from
 * another node adds to the time. */
static double cost(const struct shape *g, const struct situation *s)
{
    const struct nodes *nodes = g->nodes;
    struct pace near = ncoll__pace(&s->near, s->bytes, s->ranks_per_core),
                far = ncoll__pace(&s->far, s->bytes, 1);

    far.wait_ns += s->ranks_per_core > 1 ? SWITCH_NS : 0;
    return near.wait_ns + (nodes->most - 1) * near.message_ns * near.ranks_per_core +
           ncoll__rounds_ns(far, nodes->count, g->radix) + near.latency_ns;
}

const struct algorithm ncoll__hierarchical_shared = {
    .name = "hierarchical-shared",
    .summary = "each rank of a node reads the messages of its ranks and of other nodes",
    .source = "Al Ahad et al., PAW-ATM 2018",
    .collectives = 1u << COLL_BARRIER | 1u << COLL_ALLREDUCE,
    .properties =
        SYNCHRONISES | SHARES | GIVES_SAME_BITS | NEEDS_COMMUTATIVE | USES_RADIX | TAKES_LIST,
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
    return (struct fit){.gain = s->commutative ? 0 : 1, .why = WHY};
}

const struct algorithm ncoll__hierarchical_shared_ordered = {
    .name = "hierarchical-shared-ordered",
    .summary = "the same in rank order, where each node has a block of ranks",
    .source = "Al Ahad et al., PAW-ATM 2018",
    .collectives = 1u << COLL_ALLREDUCE,
    .properties = SYNCHRONISES | SHARES | GIVES_SAME_BITS | USES_RADIX | TAKES_LIST,
    .exists = exists_in_order,
    .footprint = footprint,
    .round = round_of,
    .peers = ncoll__peers_by_nodes,
    .fit = fit_in_order,
    .cost = cost,
};
