/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One notified write from the root to each rank, or from each rank to the root: bcast, scatter,
 * gather, reduce.
 *
 *   P  ranks; p  this one; s  the root; distance d = 1..P-1
 *   the rank at distance d to the right of the root gets its message at turn P - d; its message to
 *   the root has slot d - 1
 *
 * P = 4, s = 2:
 *
 *   bcast     2 puts x2 to 1, 0, 3
 *   scatter   2 puts x2[1] to 1, x2[0] to 0, x2[3] to 3
 *   gather    3, 0, 1 put x3, x0, x1 to 2
 *   reduce    the same messages, and 2 combines ((x0 o x1) o x2) o x3
 *
 * It takes one round, but P - 1 messages at the root. The root sends to the ranks in the order of
 * the other trees, which begin with the most distant branch. In the opposite order the rank that is
 * served last in one call would be the first to begin the next call, and would wait longest there.
 * A reduction is combined in rank order, so the operation need not commute. If a gather is done in
 * parts, some of the ranks put in each part, and slots are counted from the first of these ranks.
 * Empty blocks of a gather or scatter with counts are not sent.
 */
#include "algos/choice.h"
#include "algos/parts.h"
#include "algos/radix.h"

static bool to_root(const struct shape *g)
{
    return g->collective == COLL_GATHER || g->collective == COLL_REDUCE;
}

/* In a gather each distance is a turn; the other collectives are not done in parts. */
static unsigned turns(const struct shape *g)
{
    return g->collective == COLL_GATHER ? g->size - 1 : 0;
}

static bool exists(const struct shape *g)
{
    return !to_root(g) || turns_of_part(g, g->size - 1) <= SLOTS_MAX;
}

static struct footprint footprint(const struct shape *g)
{
    if (g->size == 1)
        return (struct footprint){0};
    return (struct footprint){
        .slots = to_root(g) ? turns_of_part(g, g->size - 1) : 1,
        .scratch = g->collective == COLL_REDUCE && g->root > 1 ? g->count : 0,
        .message = longest_block(g),
        .sent = longest_parts(g, g->collective == COLL_SCATTER ? g->size - 1 : 1),
    };
}

/* Returns the rank at distance d to the right of the root. */
static unsigned peer(const struct shape *g, unsigned d)
{
    return (g->root + d) % g->size;
}

static unsigned slot_of(const struct shape *g, unsigned q)
{
    return (q + g->size - g->root) % g->size - 1;
}

static void give(const struct shape *g, struct round *out)
{
    bool blocks = g->collective == COLL_SCATTER;

    for (unsigned d = g->size - 1; d > 0; d--) {
        unsigned q = peer(g, d);
        if (!has_no_message(g, block_count(g, q)))
            emit_put(out, q, 0, blocks ? in_block(q, 0) : in_at(0), block_count(g, q));
    }
    emit_copy(out, out_at(0), blocks ? in_block(g->rank, 0) : in_at(0), block_count(g, g->rank));
}

static void take(const struct shape *g, struct round *out)
{
    if (has_no_message(g, block_count(g, g->rank)))
        return;
    emit_wait(out, g->root, 0, block_count(g, g->rank));
    emit_copy(out, out_at(0), arrived_at(0, 0), block_count(g, g->rank));
}

static void gather(const struct shape *g, struct round *out)
{
    unsigned first = first_turn(g, g->size - 1), n = end_of_turns(g, g->size - 1) - first;

    if (first == 0)
        emit_copy(out, out_block(g->rank, 0), in_at(0), block_count(g, g->rank));
    for (unsigned slot = 0; slot < n; slot++) {
        unsigned q = peer(g, first + slot + 1);
        if (has_no_message(g, block_count(g, q)))
            continue;
        emit_wait(out, q, slot, block_count(g, q));
        emit_copy(out, out_block(q, 0), arrived_at(slot, 0), block_count(g, q));
    }
}

/* Emits the put of a rank other than the root, if its turn belongs to this part. */
static void put_to_root(const struct shape *g, struct round *out)
{
    unsigned turn = slot_of(g, g->rank), first = first_turn(g, g->size - 1);

    if (turn >= first && turn < end_of_turns(g, g->size - 1))
        emit_put(out, g->root, turn - first, in_at(0), block_count(g, g->rank));
}

/* Combines in rank order. OUT may be the memory of IN, so it is not written before the root's own
 * vector has been combined. */
static void reduce(const struct shape *g, struct round *out)
{
    struct ref combined = in_at(0);

    for (unsigned q = 0; q < g->size; q++) {
        struct ref vector = in_at(0), result = q < g->root ? scratch_at(0) : out_at(0);
        if (q != g->root) {
            vector = arrived_at(slot_of(g, q), 0);
            emit_wait(out, q, vector.slot, g->count);
        }
        if (q > 0)
            emit_reduce(out, result, combined, vector, g->count);
        combined = q > 0 ? result : vector;
    }
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    size_t own = block_count(g, g->rank);

    if (r > 0)
        return false;
    if (g->size == 1)
        emit_copy(out, out_at(0), in_at(0), own);
    else if (to_root(g) && g->rank != g->root && has_no_message(g, own))
        return true;
    else if (to_root(g) && g->rank != g->root)
        put_to_root(g, out);
    else if (g->rank != g->root)
        take(g, out);
    else if (!to_root(g))
        give(g, out);
    else if (g->collective == COLL_GATHER)
        gather(g, out);
    else
        reduce(g, out);
    return true;
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    bool blocks = g->collective == COLL_GATHER || g->collective == COLL_SCATTER;

    if (g->collective == COLL_BCAST && g->size > 2 && s->bytes >= READ_FLAT_BYTES &&
        reads_each_other(s, s->bytes))
        return (struct fit){.strength = FIT_READ, .why = "ranks read each other's memory"};
    /* with more than SLOTS_MAX connections the root gains nothing */
    if (!blocks || g->size - 1 > SLOTS_MAX)
        return (struct fit){.strength = FIT_NONE};
    return (struct fit){.strength =
                            g->size > 2 && s->bytes >= FLAT_BLOCK_BYTES ? FIT_LONG : FIT_ANYTHING,
                        .why = "long data"};
}

const struct algorithm ncoll__flat = {
    .name = "flat",
    .summary = "one message between the root and each rank",
    .source = "folklore",
    .collectives = 1u << COLL_BCAST | 1u << COLL_REDUCE | 1u << COLL_GATHER | 1u << COLL_SCATTER,
    .properties = GIVES_SAME_BITS | ROTATES | ROOT_HAS_ALL,
    .exists = exists,
    .footprint = footprint,
    .round = round_of,
    .turns = turns,
    .peers = ncoll__peers_all,
    .fit = fit,
};
