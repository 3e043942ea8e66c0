/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One notified write from each rank to each other: alltoall, allgather, reduce-scatter.
 *
 * R. Iakymchuk et al.: Efficient and Eventually Consistent Collective Operations, 2022, section
 * IV-B (alltoall).
 *
 *   P  ranks; p  this one; distance d = 1..P-1
 *   p puts to p + d, for each d in turn, then waits for all messages to itself: that of p - d has
 *   slot d - 1
 *
 * All ranks are at the same d at about the same time, so the messages to a rank are spread out.
 * Alltoall, P = 3:
 *
 *   rank 0   puts x0[1] to 1, x0[2] to 2   gets x2[0] from 2, x1[0] from 1
 *   rank 1   puts x1[2] to 2, x1[0] to 0   gets x0[1] from 0, x2[1] from 2
 *   rank 2   puts x2[0] to 0, x2[1] to 1   gets x1[2] from 1, x0[2] from 0
 *
 * If the call is done in parts, each part has some of the distances, and the slots of a part are
 * counted from the first of these.
 *
 * No block is sent twice, which suits long blocks and few ranks. A reduce-scatter combines in rank
 * order, so the operation need not commute. In an alltoall with counts, pairs with nothing to send
 * leave the message out, so a rank does not wait for every other.
 */
#include "algos/choice.h"
#include "algos/parts.h"
#include "algos/radix.h"

/* Each distance is a turn. A reduce-scatter cannot be done in parts, since it combines all messages
 * in the order of ranks. */
static unsigned turns(const struct shape *g)
{
    return g->collective != COLL_REDUCE_SCATTER ? g->size - 1 : 0;
}

static bool exists(const struct shape *g)
{
    return turns_of_part(g, g->size - 1) <= SLOTS_MAX;
}

/* True in an alltoall with counts: empty messages are left out, and a rank knows only its own
 * counts. */
static bool is_irregular_alltoall(const struct shape *g)
{
    return g->sends != NULL;
}

static struct footprint footprint(const struct shape *g)
{
    struct footprint needs = {.slots = turns_of_part(g, g->size - 1), .message = longest_block(g)};

    if (g->size == 1)
        return (struct footprint){0};
    if (!is_irregular_alltoall(g)) {
        needs.sent = longest_parts(g, g->collective == COLL_ALLGATHER ? 1 : needs.slots);
        return needs;
    }
    needs.message = g->count;
    for (unsigned d = first_turn(g, g->size - 1); d < end_of_turns(g, g->size - 1); d++)
        needs.sent += send_count(g, right(g, d + 1));
    return needs;
}

static void put_all(const struct shape *g, struct round *out)
{
    unsigned first = first_turn(g, g->size - 1), n = end_of_turns(g, g->size - 1) - first;

    for (unsigned slot = 0; slot < n; slot++) {
        unsigned q = right(g, first + slot + 1);
        if (g->collective == COLL_ALLGATHER)
            emit_put(out, q, slot, in_at(0), block_count(g, g->rank));
        else if (!is_irregular_alltoall(g))
            emit_put(out, q, slot, in_block(q, 0), block_count(g, q));
        else if (send_count(g, q) > 0)
            emit_put(out, q, slot, in_block(q, 0), send_count(g, q));
    }
}

static void collect(const struct shape *g, struct round *out)
{
    struct ref own = g->collective == COLL_ALLGATHER ? in_at(0) : in_block(g->rank, 0);
    unsigned first = first_turn(g, g->size - 1), n = end_of_turns(g, g->size - 1) - first;

    if (first == 0)
        emit_copy(out, out_block(g->rank, 0), own, block_count(g, g->rank));
    for (unsigned slot = 0; slot < n; slot++) {
        unsigned q = left(g, first + slot + 1);
        if (is_irregular_alltoall(g) && block_count(g, q) == 0)
            continue;
        emit_wait(out, q, slot, block_count(g, q));
        emit_copy(out, out_block(q, 0), arrived_at(slot, 0), block_count(g, q));
    }
}

static void combine(const struct shape *g, struct round *out)
{
    size_t count = block_count(g, g->rank);
    struct ref combined = out_at(0);

    for (unsigned q = 0; q < g->size; q++) {
        struct ref vector = in_block(g->rank, 0);
        if (q != g->rank) {
            vector = arrived_at((g->rank + g->size - q) % g->size - 1, 0);
            emit_wait(out, q, vector.slot, count);
        }
        if (q > 0)
            emit_reduce(out, out_at(0), combined, vector, count);
        combined = q > 0 ? out_at(0) : vector;
    }
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    if (r > 0)
        return false;
    put_all(g, out);
    if (g->collective != COLL_REDUCE_SCATTER)
        collect(g, out);
    else if (g->size > 1)
        combine(g, out);
    else
        emit_copy(out, out_at(0), in_block(0, 0), block_count(g, 0));
    return true;
}

/* In an allgather each block is copied once and then read by all ranks at the same time. With more
 * than SLOTS_MAX messages the plan would be long, so the algorithm runs only if a user asks for
 * it. */
static struct fit fit(const struct shape *g, const struct situation *s)
{
    if (g->size - 1 > SLOTS_MAX)
        return (struct fit){.strength = FIT_NONE};
    if (g->collective != COLL_ALLGATHER)
        return (struct fit){.strength = FIT_SHORT, .why = "short data"};
    if (g->size > 2 && reads_each_other(s, s->bytes))
        return (struct fit){.strength = FIT_READ, .why = "ranks read each other's memory"};
    return (struct fit){.strength = FIT_ANYTHING,
                        .why = "the operation or the counts allow no other"};
}

const struct algorithm ncoll__direct = {
    .name = "direct",
    .summary = "one message from each rank to each other",
    .source = "Iakymchuk et al., 2022",
    .collectives = 1u << COLL_ALLTOALL | 1u << COLL_ALLGATHER | 1u << COLL_REDUCE_SCATTER,
    .properties = GIVES_SAME_BITS | SAME_DISTANCES,
    .exists = exists,
    .footprint = footprint,
    .round = round_of,
    .turns = turns,
    .peers = ncoll__peers_all,
    .fit = fit,
};
