/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall over a grid of ranks: two hops of about sqrt(P) messages each.
 *
 * S. H. Bokhari: Multiphase Complete Exchange on a Circuit Switched Hypercube, ICPP 1991; L. V.
 * Kale, S. Kumar, K. Varadarajan: A Framework for Collective Personalized Communication, IPDPS
 * 2003.
 *
 *   P  ranks, in a = ceil(sqrt(P)) rows of q or q + 1 ranks side by side; P = a q + r, and the
 *      first r rows are the longer ones; rank p is in row x, column y
 *   hop 1   p puts to each other row, as one message, the blocks for the ranks of that row: to the
 *           rank of its own column y. A shorter row has no column q; there the rank of column
 *           x mod q takes the message
 *   sources of p   the ranks whose blocks for its row p then has, itself included: those of column
 *           y, row by row; in a shorter row then the ranks of column q that put to p
 *   hop 2   p puts to each other rank of its row, as one message, the blocks of its sources
 *
 * P = 5, rows {0 1} {2 3} {4}, so q = 1, r = 2:
 *
 *   hop 1     0 to 2, 4   1 to 3, 4   2 to 0, 4   3 to 1, 4   4 to 0, 2
 *   sources   0: 0 2 4    1: 1 3      2: 0 2 4    3: 1 3      4: 0 2 4 1 3
 *   hop 2     0 to 1      1 to 0      2 to 3      3 to 2
 *
 * Each block takes two messages, where bruck.c sends it log P / 2 times; and a rank has about
 * 2 sqrt(P) peers, where direct.c has P - 1. Blocks that are sent are packed in scratch. Their
 * lengths are not known on their way, so in an alltoall with counts each has as much room there as
 * the longest one of all ranks. A rank
 * puts in hop 2 when all messages of hop 1 have arrived, so no rank ends the call before all have
 * entered it.
 */
#include "algos/choice.h"

struct grid {
    const struct shape *g;
    unsigned a, q, r;
    unsigned x, y; /* of this rank */
};

static unsigned row_start(const struct grid *t, unsigned x)
{
    return x * t->q + (x < t->r ? x : t->r);
}

static unsigned row_length(const struct grid *t, unsigned x)
{
    return t->q + (x < t->r);
}

static struct grid grid_of(const struct shape *g)
{
    struct grid t = {.g = g, .a = 1};
    unsigned p = g->rank;

    while ((uint64_t)t.a * t.a < g->size)
        t.a++;
    t.q = g->size / t.a;
    t.r = g->size % t.a;
    unsigned in_longer = t.r * (t.q + 1);
    t.x = p < in_longer ? p / (t.q + 1) : t.r + (p - in_longer) / t.q;
    t.y = p - row_start(&t, t.x);
    return t;
}

/* ------------------------------------------------------------------ sources ------------------- */

/* Sources are numbered: 0..a-1 in the rank's column, by their rows, then the ranks of column q. The
 * number is the slot of the message in hop 1. A longer row's rank of column q has sources 0..r-1. */

/* Returns the number of sources of the rank in a row and column. */
static unsigned sources(const struct grid *t, unsigned x, unsigned y)
{
    if (y == t->q)
        return t->r;
    return t->a + (x >= t->r && y < t->r ? (t->r - y + t->q - 1) / t->q : 0);
}

/* Returns the source of this number that a rank in column y has. */
static unsigned source(const struct grid *t, unsigned y, unsigned number)
{
    if (number < t->a)
        return row_start(t, number) + y;
    return row_start(t, y + (number - t->a) * t->q) + t->q;
}

/* Returns the most sources of a rank: of the first one in a shorter row, if there are any. */
static unsigned most_sources(const struct grid *t)
{
    return sources(t, t->a - 1, 0);
}

/* ------------------------------------------------------------------ hops ---------------------- */

/* Returns the place of the block that the source of this number has for rank d of this rank's
 * row. */
static struct ref block_of(const struct grid *t, unsigned number, unsigned d)
{
    if (number == t->x)
        return in_block(d, 0);
    return arrived_at(number, (d - row_start(t, t->x)) * t->g->count);
}

static void to_rows(const struct grid *t, struct round *out)
{
    size_t count = t->g->count, packed = 0;

    for (unsigned i = 1; i < t->a; i++) {
        unsigned row = (t->x + i) % t->a, length = row_length(t, row), first = row_start(t, row);
        bool has_column = t->y < length;
        ncoll__emit_block_copies(out, t->g, scratch_at(packed * count),
                                 by_elements((ptrdiff_t)count), in_block(first, 0), by_blocks(1),
                                 length);
        emit_put(out, first + (has_column ? t->y : t->x % t->q),
                 has_column ? t->x : t->a + t->x / t->q, scratch_at(packed * count),
                 length * count);
        packed += length;
    }
    for (unsigned i = 0; i < sources(t, t->x, t->y); i++)
        if (i != t->x)
            emit_wait(out, source(t, t->y, i), i, row_length(t, t->x) * count);
}

/* Returns the place of the message to a column of this row. The one to this rank is left out. */
static struct ref message_to(const struct grid *t, unsigned column)
{
    size_t before = column - (column > t->y), n = row_length(t, t->x);

    return scratch_at((t->g->size - n + before * sources(t, t->x, t->y)) * t->g->count);
}

/* Packs the blocks of a source for the ranks of some columns. */
static void pack(const struct grid *t, unsigned number, unsigned column, unsigned end,
                 struct round *out)
{
    size_t count = t->g->count;
    struct ref src = block_of(t, number, row_start(t, t->x) + column), dst = message_to(t, column);

    dst.offset += number * count;
    struct stride further = by_elements((ptrdiff_t)(sources(t, t->x, t->y) * count));
    if (src.buffer == BUF_IN)
        ncoll__emit_block_copies(out, t->g, dst, further, src, by_blocks(1), end - column);
    else
        emit_copies(out, dst, further, src, by_elements((ptrdiff_t)count), count, end - column);
}

static void within_row(const struct grid *t, struct round *out)
{
    unsigned n = row_length(t, t->x), first = row_start(t, t->x), slots = most_sources(t);
    unsigned from = sources(t, t->x, t->y);

    for (unsigned k = 0; k < from; k++) {
        pack(t, k, 0, t->y, out);
        pack(t, k, t->y + 1, n, out);
    }
    for (unsigned i = 1; i < n; i++) {
        unsigned column = (t->y + i) % n;
        emit_put(out, first + column, slots + t->y, message_to(t, column), from * t->g->count);
    }
}

/* Copies the blocks of sources number..end-1 of the rank in column y, whose ranks lie `apart`, to
 * OUT. */
static void take(const struct grid *t, unsigned y, unsigned number, unsigned end, unsigned apart,
                 struct round *out)
{
    size_t count = t->g->count;

    if (number < end)
        ncoll__emit_block_copies(out, t->g, out_block(source(t, y, number), 0),
                                 by_blocks((ptrdiff_t)apart),
                                 arrived_at(most_sources(t) + y, number * count),
                                 by_elements((ptrdiff_t)count), end - number);
}

static void unpack(const struct grid *t, struct round *out)
{
    unsigned n = row_length(t, t->x), first = row_start(t, t->x), slots = most_sources(t);
    size_t count = t->g->count;

    for (unsigned k = 0; k < sources(t, t->x, t->y); k++) {
        unsigned from = source(t, t->y, k);
        emit_copy(out, out_block(from, 0), block_of(t, k, t->g->rank), block_count(t->g, from));
    }
    for (unsigned i = 1; i < n; i++) {
        unsigned y = (t->y + n - i) % n, from = sources(t, t->x, y);
        emit_wait(out, first + y, slots + y, from * count);
        take(t, y, 0, t->r, t->q + 1, out); /* those of longer rows */
        take(t, y, t->r, from < t->a ? from : t->a, t->q, out);
        take(t, y, t->a, from, t->q * (t->q + 1), out);
    }
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    struct grid t = grid_of(g);

    if (r > 1 || (r > 0 && g->size == 1))
        return false;
    if (r == 0) {
        to_rows(&t, out);
        within_row(&t, out);
    }
    if (r == 1 || g->size == 1)
        unpack(&t, out);
    return true;
}

/* ------------------------------------------------------------------ what it takes ------------- */

static struct footprint footprint(const struct shape *g)
{
    struct grid t = grid_of(g);
    unsigned longest = t.q + (t.r > 0), most = most_sources(&t);
    size_t shorter = g->size - t.q + (size_t)(t.q - 1) * most;
    size_t longer = t.r > 0 ? g->size - longest + (size_t)t.q * t.a : 0;
    size_t second = t.q > 1 ? most : longest > 1 ? t.a : 0; /* blocks of the longest in hop 2 */

    if (g->size == 1)
        return (struct footprint){0};
    return (struct footprint){
        .slots = most + (longest > 1 ? longest : 0),
        .scratch = (shorter > longer ? shorter : longer) * g->count,
        .message = (second > longest ? second : longest) * g->count,
    };
}

static bool exists(const struct shape *g)
{
    return footprint(g).slots <= SLOTS_MAX;
}

/* Those in other rows, and those of its own. */
static unsigned peers(const struct shape *g)
{
    return footprint(g).slots;
}

/* Each block is packed and sent twice. */
static double grid_ns(const struct shape *g, const struct situation *s)
{
    double block = (double)s->bytes * s->any.byte_ns * s->ranks_per_core;

    return 2 * ncoll__wait_ns(s) + peers(g) * s->any.message_ns * s->ranks_per_core +
           2.0 * g->size * (block + PACK_NS);
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    double own = grid_ns(g, s);
    struct fit fit = {.strength = FIT_NONE, .why = "fewer messages, sent on once"};

    bool pays = g->sends == NULL && own < ncoll__direct_ns(g, s);

    if (g->size >= GRID_RANKS && own < ncoll__index_ns(g, s))
        fit.strength = pays ? FIT_SHORT + 2 : FIT_FEW_SLOTS + 1;
    return fit;
}

const struct algorithm ncoll__grid = {
    .name = "grid",
    .summary = "two hops over a grid of ranks, about sqrt(P) messages each",
    .source = "Bokhari, ICPP 1991; Kale et al., IPDPS 2003",
    .collectives = 1u << COLL_ALLTOALL,
    .properties = SYNCHRONISES | GIVES_SAME_BITS | PADS_BLOCKS,
    .exists = exists,
    .footprint = footprint,
    .round = round_of,
    .peers = peers,
    .fit = fit,
};
