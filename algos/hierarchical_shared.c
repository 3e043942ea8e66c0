/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hierarchical barrier and allreduce with shared notifications: what comes from other nodes is seen
 * by all ranks of a node, which go on from there by themselves.
 *
 * M. A. Al Ahad, C. Simmendinger, R. Iakymchuk, E. Laure, S. Markidis: Efficient Algorithms for
 * Collective Operations with Notified Communication in Shared Windows, PAW-ATM 2018, which has the
 * late receiver: a message that has come is of no use to the node before its receiver looks at it.
 *
 *   P  ranks; N  nodes; M  ranks of a node, with local ranks 0..M-1; n  messages a round across
 *   leader  of a node, local rank 0; x_i  what local rank i brings
 *   share   local rank i > 0 puts x_i to slot i - 1 of the leader, the leader puts x_0 to slot 0 of
 *           local rank 1; each looks at all of them, and combines x = ((x_0 o x_1) o ..) o x_{M-1}
 *   across  the leaders do what is asked for with x: a barrier is n-way dissemination, an allreduce
 *           ordered recursive multiplying. The other ranks FOLLOW: they look at what comes to their
 *           leader, in each round, and combine it as it does
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
 * Where the number of nodes is no product of small factors, recursive multiplying folds some of
 * them into others: the leader of such a node hands in x and waits for the result, and its node
 * does not need x, but looks at the result alone. There x_0 is not shared, and x_i the leader's
 * business.
 *
 * Who follows first looks for what comes last, from the last round across to the first and then to
 * its own node, and combines when all is there: so it waits once, and where ranks share a core
 * takes it once. It has nothing to send that anybody could wait for meanwhile.
 *
 * Nobody passes on a result: there is no way down as in hierarchical.c, nor the change of ranks
 * that it takes, and M messages on a node in place of 2 (M - 1). In return each rank of a node
 * combines all that there is, which is for short vectors. All evaluate the same expression, in the
 * order of nodes; the operation has to commute, unless that is the order of ranks.
 */
#include "algos/phases.h"

extern const struct algorithm ncoll__dissemination, ncoll__multiply;

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

/* Across nodes; ranks that do not lead follow. */
static struct phase across_of(const struct shape *g)
{
    struct phase phase = ncoll__phase_across(g, across_algorithm(g), leader, 0);
    unsigned M = ranks_on(g->nodes, g->nodes->of[g->rank]);

    phase.follows = !phase.takes_part;
    phase.takes_part = true;
    phase.watched = M > 1;
    phase.in = M > 1 ? scratch_at(0) : in_at(0);
    phase.out = out_at(0);
    phase.slot = (unsigned)share_slots(g);
    phase.scratch = g->count;
    return phase;
}

#define ROUND_STEPS (8 * RADIX_MAX) /* more than a rank takes in a round across */

/* Whether those that follow on this rank's node need x: what the algorithm across does there,
 * besides putting, reads its IN. The same for all counts. */
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

/* The message with x_i has come to this rank, or is seen at a neighbour. Where it lies. */
static struct ref await(const struct shape *g, unsigned node, unsigned i, bool watched,
                        struct round *out)
{
    unsigned from = rank_on(g->nodes, node, i), to = rank_on(g->nodes, node, i > 0 ? 0 : 1);
    unsigned slot = i > 0 ? i - 1 : 0;

    if (from == g->rank)
        return in_at(0);
    if (to == g->rank) {
        if (watched && ranks_on(g->nodes, node) > 2)
            emit_wait_watched(out, from, slot, g->count);
        else
            emit_wait(out, from, slot, g->count);
        return landed_at(slot, 0);
    }
    emit_look(out, to, from, slot, g->count);
    return landed_near(to, slot, 0);
}

/* What it brings goes to its node: a leader's if others than itself combine. */
static void give(const struct shape *g, struct round *out)
{
    unsigned node = g->nodes->of[g->rank], own = g->nodes->local[g->rank];

    if (ranks_on(g->nodes, node) > 1 && (own > 0 || followers_combine(g)))
        emit_put(out, rank_on(g->nodes, node, own > 0 ? 0 : 1), own > 0 ? own - 1 : 0, in_at(0),
                 g->count);
}

/* x */
static void combine(const struct shape *g, struct round *out)
{
    unsigned node = g->nodes->of[g->rank], M = ranks_on(g->nodes, node);
    bool all_combine = followers_combine(g);
    struct ref combined = {0};

    if (M == 1 || (!all_combine && g->nodes->local[g->rank] > 0))
        return;
    for (unsigned i = 0; i < M; i++) {
        struct ref x = await(g, node, i, all_combine, out);
        if (i > 0)
            emit_reduce(out, scratch_at(0), combined, x, g->count);
        combined = i > 0 ? scratch_at(0) : x;
    }
}

/* The looks of a round across, or what follows on them. */
static void part_of_round(const struct phase *across, unsigned r, bool looks, struct round *out)
{
    unsigned from = out->count, to = from;

    ncoll__phase_round(across, r, out);
    for (unsigned i = from; i < out->count; i++)
        if ((out->steps[i].kind == STEP_LOOK) == looks)
            out->steps[to++] = out->steps[i];
    out->count = to;
}

/* With k rounds across: gives; looks, in k rounds; combines on the node, and in k rounds. */
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

const struct algorithm ncoll__hierarchical_shared = {
    .name = "hierarchical-shared",
    .summary = "each rank of a node sees what its ranks bring and what comes to one of them",
    .source = "Al Ahad et al., PAW-ATM 2018",
    .collectives = 1u << COLL_BARRIER | 1u << COLL_ALLREDUCE,
    .properties =
        SYNCHRONISES | SHARES | GIVES_SAME_BITS | NEEDS_COMMUTATIVE | USES_RADIX | TAKES_LIST,
    .exists = exists,
    .footprint = footprint,
    .round = round_of,
};

static bool exists_in_order(const struct shape *g)
{
    return exists(g) && g->nodes->in_blocks;
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
};
