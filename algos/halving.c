/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter in rank order by recursive halving, for operations that do not commute.
 *
 * R. Thakur, R. Rabenseifner, W. Gropp: Optimization of Collective Communication Operations in
 * MPICH, IJHPCA 19(1), 2005, section 4.3, from the nearest partner to the farthest, so that partial
 * results cover ranges of ranks. A rank then ends with the block whose number is its own with the
 * bits reversed, and sends it to the rank that it belongs to.
 *
 *   P  ranks; k = floor(log2 P)
 *   v = 0..2^k - 1   stands for the ranks floor(v P / 2^k) to floor((v+1) P / 2^k) - 1, one rank or
 *                    a pair of ranks; cell v is the blocks of these ranks
 *   fold             the second rank of a pair puts its vector to the first, which combines both
 *   level j = 0..k-1   v has partial results for 2^(k-j) cells side by side. It puts one half of
 *                    them to the partner v xor 2^j, and combines the other half with the partner's
 *                    message: v keeps the lower half if bit j of v is 0
 *   spread           v has the result of the cell with the number rev(v), the k bits of v reversed,
 *                    and puts each of its blocks to the rank that it belongs to
 *
 * P = 5, so k = 2, cells {0} {1} {2} {3 4} of the ranks 0, 1, 2, 3:
 *
 *   fold      4 puts x4[0 1] and x4[2 3 4] to 3, which combines x3 o x4
 *   level 0   0 puts x0[2 3 4] to 1, 1 puts x1[0 1] to 0; 2 puts x2[2 3 4] to 3, and 3 puts (x3 o
 *             x4)[0 1] to 2
 *   level 1   0 puts (x0 o x1)[1] to 2, 2 puts ..[0] to 0; 1 puts ..[3 4] to 3, 3 puts ..[2] to 1
 *   spread    0 has block 0, 1 has 2, 2 has 1, 3 has 3 and 4: 1 to 2, 2 to 1, 3 to 4
 *
 * A rank sends about P blocks, as few as any algorithm, in log P rounds. Partial results lie in
 * scratch, each block at the place that it has in the vector. Each slot of a window has room for
 * the longest message, so with many ranks no message has more than 1/2^S of the blocks, S = 3, and
 * more blocks are sent as several messages. With few ranks S = 1.
 */
#include "algos/choice.h"
#include "algos/parts.h"
#include "algos/radix.h"

/* With more ranks than this S is 3, and long messages are divided. */
#define WHOLE_RANKS 256u

struct halving {
    const struct shape *g;
    unsigned k, S;
    unsigned v;
    bool is_folded; /* this is the second rank of a pair */
};

static unsigned levels(unsigned P)
{
    unsigned k = 0;

    while (P >> (k + 1) > 0)
        k++;
    return k;
}

/* Returns the first rank that v stands for, which is also the first block of cell v. */
static unsigned first_of(const struct halving *h, unsigned v)
{
    return (unsigned)((uint64_t)v * h->g->size >> h->k);
}

static struct halving halving_of(const struct shape *g)
{
    struct halving h = {.g = g, .k = levels(g->size), .S = g->size > WHOLE_RANKS ? 3 : 1};

    h.S = h.S < h.k ? h.S : h.k;
    h.v = (unsigned)(((((uint64_t)g->rank + 1) << h.k) - 1) / g->size);
    h.is_folded = g->rank != first_of(&h, h.v);
    return h;
}

static bool has_pairs(const struct halving *h)
{
    return h->g->size > 1u << h->k;
}

static bool is_paired(const struct halving *h)
{
    return first_of(h, h->v + 1) - first_of(h, h->v) > 1;
}

static unsigned reversed(const struct halving *h, unsigned v)
{
    unsigned result = 0;

    for (unsigned j = 0; j < h->k; j++)
        result |= (v >> j & 1) << (h->k - 1 - j);
    return result;
}

/* Blocks first..end-1. */
struct range {
    unsigned first, end;
};

/* Returns piece i of the blocks of `cells` cells from `first` on, divided into `pieces` pieces. */
static struct range piece(const struct halving *h, unsigned first, unsigned cells, unsigned pieces,
                          unsigned i)
{
    unsigned each = cells / pieces;

    return (struct range){first_of(h, first + i * each), first_of(h, first + (i + 1) * each)};
}

static size_t elements(const struct halving *h, struct range b)
{
    return blocks_from(h->g, b.first, b.end - b.first);
}

static struct ref partial(const struct halving *h, unsigned block)
{
    return scratch_at(blocks_before(h->g, block));
}

/* True if these blocks cannot be put from IN as one message, and are packed in scratch before. */
static bool is_packed(const struct shape *g, struct range b)
{
    return (g->separate || has_counts(g)) && b.end - b.first > 1;
}

/* ------------------------------------------------------------------ rounds -------------------- */

/* Puts blocks of IN as one message. */
static void put_own(const struct halving *h, unsigned peer, unsigned slot, struct range b,
                    struct round *out)
{
    struct ref from = in_block(b.first, 0);

    if (is_packed(h->g, b)) {
        struct step pack = {.kind = STEP_COPY, .dst = partial(h, b.first), .a = from, .b = from};
        emit_on_parts(out, h->g, pack, b.end - b.first, elements(h, b));
        from = pack.dst;
    }
    emit_put(out, peer, slot, from, elements(h, b));
}

/* Combines the message with blocks of IN. own_first: IN is the first operand. */
static void combine_own(const struct halving *h, struct range b, struct ref arrived, bool own_first,
                        struct round *out)
{
    struct step step = {.kind = STEP_REDUCE, .dst = partial(h, b.first)};

    step.a = own_first ? in_block(b.first, 0) : arrived;
    step.b = own_first ? arrived : in_block(b.first, 0);
    emit_on_parts(out, h->g, step, b.end - b.first, elements(h, b));
}

static unsigned pieces_of_all(const struct halving *h)
{
    return 1u << h->S;
}

/* Returns in how many messages a rank puts one half of its partial results in level j. */
static unsigned pieces_of_level(const struct halving *h, unsigned j)
{
    return j < h->S ? 1u << (h->S - 1 - j) : 1;
}

static unsigned slot_of_level(const struct halving *h, unsigned j)
{
    unsigned slot = has_pairs(h) ? pieces_of_all(h) : 0;

    for (unsigned i = 0; i < j; i++)
        slot += pieces_of_level(h, i);
    return slot;
}

static void fold(const struct halving *h, struct round *out)
{
    unsigned p = h->g->rank;

    for (unsigned i = 0; i < pieces_of_all(h) && is_paired(h); i++) {
        struct range b = piece(h, 0, 1u << h->k, pieces_of_all(h), i);
        if (h->is_folded) {
            put_own(h, p - 1, i, b, out);
        } else {
            emit_wait(out, p + 1, i, elements(h, b));
            combine_own(h, b, arrived_at(i, 0), true, out);
        }
    }
}

/* Combines the message with the partial results or, if there are none yet (own_in_in), with IN. */
static void combine(const struct halving *h, struct range b, struct ref arrived, bool own_first,
                    bool own_in_in, struct round *out)
{
    struct ref at = partial(h, b.first);

    if (own_in_in)
        combine_own(h, b, arrived, own_first, out);
    else
        emit_reduce(out, at, own_first ? at : arrived, own_first ? arrived : at, elements(h, b));
}

static void level(const struct halving *h, unsigned j, struct round *out)
{
    /* v has the cells whose numbers begin with the lower j bits of v, reversed */
    unsigned first = reversed(h, h->v & ((1u << j) - 1)), half = 1u << (h->k - j - 1);
    unsigned slot = slot_of_level(h, j), peer = first_of(h, h->v ^ 1u << j);
    unsigned pieces = pieces_of_level(h, j);
    bool is_upper = h->v >> j & 1, own_in_in = j == 0 && !is_paired(h);
    unsigned keep = is_upper ? first + half : first, give = is_upper ? first : first + half;

    for (unsigned i = 0; i < pieces; i++) {
        struct range b = piece(h, give, half, pieces, i);
        if (own_in_in)
            put_own(h, peer, slot + i, b, out);
        else
            emit_put(out, peer, slot + i, partial(h, b.first), elements(h, b));
    }
    for (unsigned i = 0; i < pieces; i++) {
        struct range b = piece(h, keep, half, pieces, i);
        emit_wait(out, peer, slot + i, elements(h, b));
        combine(h, b, arrived_at(slot + i, 0), !is_upper, own_in_in, out);
    }
}

static void spread(const struct halving *h, struct round *out)
{
    const struct shape *g = h->g;
    unsigned cell = reversed(h, h->v), slot = slot_of_level(h, h->k);
    unsigned end = first_of(h, cell + 1);

    for (unsigned q = first_of(h, cell); q < end && !h->is_folded; q++)
        if (q == g->rank)
            emit_copy(out, out_at(0), partial(h, q), block_count(g, q));
        else
            emit_put(out, q, slot, partial(h, q), block_count(g, q));
    if (first_of(h, cell) == g->rank)
        return;
    /* v ends with cell rev(v), so cell v, with this rank's block, is at rev(v) */
    emit_wait(out, first_of(h, cell), slot, block_count(g, g->rank));
    emit_copy(out, out_at(0), arrived_at(slot, 0), block_count(g, g->rank));
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    struct halving h = halving_of(g);

    if (g->size == 1 && r == 0) {
        emit_copy(out, out_at(0), in_block(0, 0), block_count(g, 0));
        return true;
    }
    if (r > h.k + 1 || g->size == 1)
        return false;
    if (r == 0)
        fold(&h, out);
    else if (r == h.k + 1)
        spread(&h, out);
    else if (!h.is_folded)
        level(&h, r - 1, out);
    return true;
}

/* ------------------------------------------------------------------ footprint, fit ------------ */

static struct footprint footprint(const struct shape *g)
{
    struct halving h = halving_of(g);
    struct footprint needs = {.slots = slot_of_level(&h, h.k) + (g->size > 2)};
    size_t halves[2] = {0, 0}; /* elements that are put from IN, in each half of the cells */

    if (g->size == 1)
        return (struct footprint){0};
    for (unsigned i = 0; i < pieces_of_all(&h); i++) {
        struct range b = piece(&h, 0, 1u << h.k, pieces_of_all(&h), i);
        size_t here = elements(&h, b);
        needs.message = here > needs.message ? here : needs.message;
        needs.scratch += here;
        halves[2 * i / pieces_of_all(&h)] += is_packed(g, b) ? 0 : here;
    }
    needs.sent = halves[0] > halves[1] ? halves[0] : halves[1];
    if (has_pairs(&h))
        needs.sent = halves[0] + halves[1];
    return needs;
}

/* A rank's peers are the other rank of its pair, a partner for each level, two ranks to which it
 * puts blocks of its cell, and one that puts this rank's own block to it. */
static unsigned peers(const struct shape *g)
{
    return levels(g->size) + 4;
}

static double halving_ns(const struct shape *g, const struct situation *s)
{
    const struct message_cost *cost = &s->any;
    double block = (double)s->bytes * cost->byte_ns * s->ranks_per_core;
    unsigned k = levels(g->size), folds = g->size > 1u << k;

    return (k + 1.0 + folds) * (ncoll__wait_ns(s) + cost->message_ns * s->ranks_per_core) +
           (1.0 + folds) * g->size * block;
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    bool pays = halving_ns(g, s) < ncoll__direct_ns(g, s);

    if (s->commutative)
        return (struct fit){.strength = FIT_NONE};
    return (struct fit){.strength = pays ? FIT_SHORT + 1 : FIT_FEW_SLOTS,
                        .why = "fewer messages, combined in rank order"};
}

const struct algorithm ncoll__halving = {
    .name = "halving",
    .summary = "recursive halving in rank order, about log2 P rounds",
    .source = "Thakur et al., IJHPCA 19, 2005",
    .collectives = 1u << COLL_REDUCE_SCATTER,
    .properties = SYNCHRONISES | GIVES_SAME_BITS | PACKS_UNEVEN,
    .footprint = footprint,
    .round = round_of,
    .peers = peers,
    .fit = fit,
};
