/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alltoall over a grid of ranks: two hops of about sqrt(P) messages each (grid.c), or three of
 * about P^(1/3) messages each (cube.c).
 *
 * S. H. Bokhari: Multiphase Complete Exchange on a Circuit Switched Hypercube, ICPP 1991; L. V.
 * Kale, S. Kumar, K. Varadarajan: A Framework for Collective Personalized Communication, IPDPS
 * 2003.
 *
 *   hop l    is done in cells of n ranks each; the cell of hop 0 has all P ranks, n = P
 *   m        number of parts of a cell, which are the cells of the next hop: m = ceil(n^(1/h)) if h
 *            hops are left, so the last hop has m = n parts of one rank; n = m q + r
 *   (x, y)   place of a rank in its cell: its number there is y m + x. The rank belongs to part x,
 *            and has number y in it. The first r parts have q + 1 ranks, the others q
 *   hop      a rank puts to each other part, as one message, all that it has for the ranks of that
 *            part: to the rank with its own y. A shorter part has no rank with y = q; there rank
 *            x mod q takes the message
 *   senders  of (x, y): the ranks with this y, (x, y) included, in the order of their parts; in a
 *            shorter part also the ranks with y = q that put to (x, y)
 *   sources  the ranks whose blocks a rank has for its part after the hop: those that its senders
 *            had before the hop, sender by sender
 *
 * P = 5 in two hops, m = 3 parts {0 3} {1 4} {2}, so q = 1, r = 2; then the parts are the cells:
 *
 *   hop 0     0 to 1, 2   1 to 0, 2   2 to 0, 1   3 to 4, 2   4 to 3, 2
 *   sources   0: 0 1 2    1: 0 1 2    2: 0 1 2 3 4    3: 3 4    4: 3 4
 *   hop 1     0 to 3      3 to 0      1 to 4      4 to 1
 *
 * Each block takes two or three messages, where bruck.c sends it log P / 2 times; and a rank has
 * about 2 sqrt(P) or 3 P^(1/3) peers, where direct.c has P - 1. Parts are made of the lowest digits
 * of the ranks' numbers first, so the sources of a rank are neighbours, whose blocks lie side by
 * side in OUT. After hop 0 the blocks are sorted by the rank that they are for: a TABLE in scratch
 * has a row for each rank of the cell, with a block of each source. Ranks on the way do not know
 * the lengths of the blocks, so in an alltoall with counts each block has as much room there as the
 * longest one of all ranks. A rank puts in a hop when all messages of the hop before have arrived,
 * so no rank ends the call before all have entered it.
 */
#include "algos/grids.h"

#define HOPS_MAX 3

struct hop {
    unsigned n, m, q, r, x, y;
    unsigned slots;         /* the message of sender k has slot `slots` + k */
    unsigned sources;       /* number of sources of this rank before the hop */
    size_t table, messages; /* offsets in scratch, in blocks: of table and packed messages */
};

struct grid {
    const struct shape *g;
    unsigned hops;
    struct hop hop[HOPS_MAX];
    size_t scratch; /* length of scratch, in blocks */
};

static unsigned part_length(const struct hop *h, unsigned x)
{
    return h->q + (x < h->r);
}

/* ------------------------------------------------------------------ senders, sources ---------- */

/* Returns the number of senders of (x, y). */
static unsigned senders(const struct hop *h, unsigned y)
{
    if (y == h->q)
        return h->r;
    return h->m + (h->x >= h->r && y < h->r ? (h->r - y + h->q - 1) / h->q : 0);
}

/* Returns the largest number of senders that a rank of the cell has: that of (m - 1, 0). */
static unsigned most_senders(const struct hop *h)
{
    return h->m + (h->r + h->q - 1) / h->q;
}

/* Returns the number in the cell of sender k of (x, y). */
static unsigned sender(const struct hop *h, unsigned y, unsigned k)
{
    return k < h->m ? y * h->m + k : h->q * h->m + y + (k - h->m) * h->q;
}

/* Returns how many sources the rank with this number in this rank's cell of hop l has before
 * hop l. */
static unsigned sources(const struct grid *t, unsigned l, unsigned number)
{
    unsigned total = 0;

    if (l <= 1)
        return l == 0 ? 1 : senders(&t->hop[0], number);
    for (unsigned k = 0; k < senders(&t->hop[l - 1], number); k++)
        total += sources(t, l - 1, sender(&t->hop[l - 1], number, k));
    return total;
}

/* Returns the rank that has this number in this rank's cell of hop l. */
static unsigned rank_of(const struct grid *t, unsigned l, unsigned number)
{
    while (l-- > 0)
        number = number * t->hop[l].m + t->hop[l].x;
    return number;
}

/* ------------------------------------------------------------------ the grid ------------------ */

/* Returns ceil(n^(1/h)). */
static unsigned root_of(unsigned n, unsigned h)
{
    for (uint64_t m = 1;; m++) {
        uint64_t power = m;
        for (unsigned i = 1; i < h; i++)
            power *= m;
        if (power >= n)
            return (unsigned)m;
    }
}

/* Returns the grid as rank p sees it. */
static struct grid grid_of(const struct shape *g, unsigned hops, unsigned p)
{
    struct grid t = {.g = g, .hops = hops};
    unsigned n = g->size, slots = 0;

    for (unsigned l = 0; l < hops; l++) {
        struct hop *h = &t.hop[l];
        h->n = n;
        h->m = l + 1 < hops ? root_of(n, hops - l) : n;
        h->q = n / h->m;
        h->r = n % h->m;
        h->x = p % h->m;
        h->y = p / h->m;
        h->slots = slots;
        h->sources = sources(&t, l, p);
        h->table = t.scratch;
        t.scratch += l > 0 ? (size_t)n * h->sources : 0;
        h->messages = t.scratch;
        t.scratch += l + 1 < hops ? (size_t)(n - part_length(h, h->x)) * h->sources : 0;
        slots += n > 1 ? most_senders(h) : 0;
        n = part_length(h, h->x);
        p = h->y;
    }
    return t;
}

/* ------------------------------------------------------------------ hops ---------------------- */

/* Copies the blocks that this rank has for the ranks of its cell into the table. They are the
 * blocks for its own part, in IN or in the table of the last hop, and the messages of the last
 * hop. */
static void sort(const struct grid *t, unsigned l, struct round *out)
{
    const struct hop *h = &t->hop[l], *last = &t->hop[l - 1];
    size_t count = t->g->count, before = 0;
    struct stride row = by_elements((ptrdiff_t)(h->sources * count));

    for (unsigned k = 0; k < senders(last, last->y); k++) {
        size_t its = sources(t, l - 1, sender(last, last->y, k));
        struct ref dst = scratch_at((h->table + before) * count);
        struct ref src = arrived_at(last->slots + k, 0);
        size_t further = its * count;
        before += its;
        if (k == last->x && l == 1) {
            ncoll__emit_block_copies(out, t->g, dst, row, in_block(last->x, 0),
                                     by_blocks((ptrdiff_t)last->m), h->n);
            continue;
        }
        if (k == last->x) {
            src = scratch_at((last->table + last->x * its) * count);
            further *= last->m;
        }
        emit_copies(out, dst, row, src, by_elements((ptrdiff_t)further), its * count, h->n);
    }
}

/* Packs the message to a part, and returns its place. It consists of blocks of IN in hop 0, and of
 * rows of the table later; in the last hop it is one row, which is not packed. packed: number of
 * rows in earlier messages. */
static struct ref message_to(const struct grid *t, unsigned l, unsigned part, size_t packed,
                             struct round *out)
{
    const struct hop *h = &t->hop[l];
    size_t row = h->sources * t->g->count;
    struct ref message = scratch_at(h->messages * t->g->count + packed * row);
    struct ref first = scratch_at(h->table * t->g->count + part * row);

    if (l + 1 == t->hops)
        return first;
    if (l == 0)
        ncoll__emit_block_copies(out, t->g, message, by_elements((ptrdiff_t)row), in_block(part, 0),
                                 by_blocks((ptrdiff_t)h->m), part_length(h, part));
    else
        emit_copies(out, message, by_elements((ptrdiff_t)row), first,
                    by_elements((ptrdiff_t)(h->m * row)), row, part_length(h, part));
    return message;
}

static void put_all(const struct grid *t, unsigned l, struct round *out)
{
    const struct hop *h = &t->hop[l];
    size_t packed = 0;

    for (unsigned i = 1; i < h->m; i++) {
        unsigned part = (h->x + i) % h->m, length = part_length(h, part);
        bool has_place = h->y < length;
        unsigned y = has_place ? h->y : h->x % h->q, k = has_place ? h->x : h->m + h->x / h->q;
        struct ref message = message_to(t, l, part, packed, out);
        emit_put(out, rank_of(t, l, y * h->m + part), h->slots + k, message,
                 (size_t)length * h->sources * t->g->count);
        packed += length;
    }
}

static void wait_for(const struct grid *t, unsigned l, unsigned k, struct round *out)
{
    const struct hop *h = &t->hop[l];
    unsigned number = sender(h, h->y, k);

    emit_wait(out, rank_of(t, l, number), h->slots + k,
              (size_t)part_length(h, h->x) * sources(t, l, number) * t->g->count);
}

/* Blocks that lie side by side in a message, and belong side by side in OUT. */
struct run {
    unsigned first, n;
    struct ref src;
};

static void copy_run(const struct grid *t, struct run *run, struct round *out)
{
    ncoll__emit_block_copies(out, t->g, out_block(run->first, 0), by_blocks(1), run->src,
                             by_elements((ptrdiff_t)t->g->count), run->n);
    run->src.offset += run->n * t->g->count;
    run->n = 0;
}

static void take_ranks(const struct grid *t, unsigned first, unsigned n, struct run *run,
                       struct round *out)
{
    if (run->n > 0 && first != run->first + run->n)
        copy_run(t, run, out);
    if (run->n == 0)
        run->first = first;
    run->n += n;
}

/* Copies to OUT the blocks of the sources that a rank has before hop l >= 1, except for the last
 * run, which is left in *run. number: that of the rank in this rank's cell of hop l. */
static void take(const struct grid *t, unsigned l, unsigned number, struct run *run,
                 struct round *out)
{
    const struct hop *last = &t->hop[l - 1];
    unsigned all = senders(last, number), side_by_side = all < last->m ? all : last->m;

    if (l == 1)
        take_ranks(t, sender(last, number, 0), side_by_side, run, out);
    for (unsigned k = l == 1 ? side_by_side : 0; k < all; k++)
        if (l == 1)
            take_ranks(t, sender(last, number, k), 1, run, out);
        else
            take(t, l - 1, sender(last, number, k), run, out);
}

static void unpack(const struct grid *t, struct round *out)
{
    unsigned last = t->hops - 1;
    const struct hop *h = &t->hop[last];

    for (unsigned i = 0; i < h->n; i++) {
        unsigned k = (h->x + h->n - i) % h->n;
        struct run run = {.src = arrived_at(h->slots + k, 0)};
        if (i == 0)
            run.src = scratch_at((h->table + (size_t)h->x * h->sources) * t->g->count);
        else
            wait_for(t, last, k, out);
        take(t, last, k, &run, out);
        copy_run(t, &run, out);
    }
}

bool ncoll__grid_round(const struct shape *g, unsigned hops, unsigned l, struct round *out)
{
    if (l >= (g->size > 1 ? hops : 1))
        return false;
    if (g->size == 1) {
        emit_copy(out, out_block(0, 0), in_block(0, 0), block_count(g, 0));
        return true;
    }
    struct grid t = grid_of(g, hops, g->rank);
    const struct hop *h = &t.hop[l];
    if (l > 0)
        sort(&t, l, out);
    put_all(&t, l, out);
    for (unsigned k = 0; l + 1 < hops && k < senders(h, h->y); k++)
        if (k != h->x)
            wait_for(&t, l, k, out);
    if (l + 1 == hops)
        unpack(&t, out);
    return true;
}

/* ------------------------------------------------------------------ footprint, cost, fit ------ */

/* Returns the number of blocks of the longest message of hop l in this rank's cell. It goes to one
 * of the longest parts, and comes from rank 0 or 1 of the cell, which have the most sources. */
static size_t longest_message(const struct grid *t, unsigned l)
{
    const struct hop *h = &t->hop[l];

    if (h->n == 1)
        return 0;
    size_t first = (size_t)(h->q + (h->r > 1)) * sources(t, l, 0);
    size_t second = (size_t)(h->q + (h->r > 0)) * sources(t, l, 1);
    return first > second ? first : second;
}

/* Raises *most to what a rank needs that has y = 0 in all hops but the last. */
static void add_needs(const struct grid *t, struct footprint *most)
{
    const struct hop *last = &t->hop[t->hops - 1];
    unsigned slots = last->slots + (last->n > 1 ? last->n : 0);
    size_t scratch = t->scratch * t->g->count;

    most->slots = slots > most->slots ? slots : most->slots;
    most->scratch = scratch > most->scratch ? scratch : most->scratch;
    for (unsigned l = 0; l < t->hops; l++) {
        size_t longest = longest_message(t, l) * t->g->count;
        most->message = longest > most->message ? longest : most->message;
    }
}

/* A rank needs most if in each cell it belongs to the first part, which is one of the longest, or
 * to the last part, where ranks have the most senders. */
struct footprint ncoll__grid_footprint(const struct shape *g, unsigned hops)
{
    struct footprint most = {0};

    for (unsigned way = 0; g->size > 1 && way < 1u << (hops - 1); way++) {
        unsigned p = 0, distance = 1;
        for (unsigned l = 0; l + 1 < hops; l++) {
            struct grid t = grid_of(g, hops, p);
            p += way >> l & 1 ? (t.hop[l].m - 1) * distance : 0;
            distance *= t.hop[l].m;
        }
        struct grid t = grid_of(g, hops, p);
        add_needs(&t, &most);
    }
    return most;
}

double ncoll__grid_cost(const struct shape *g, const struct situation *s, unsigned hops)
{
    double block = (double)s->bytes * s->any.byte_ns * s->ranks_per_core;
    unsigned peers = ncoll__grid_footprint(g, hops).slots;

    return hops * ncoll__wait_ns(s) + peers * s->any.message_ns * s->ranks_per_core +
           g->size * (hops * (block + PACK_NS) + (hops - 2) * PACK_NS);
}

struct fit ncoll__grid_fit(const struct shape *g, const struct situation *s, unsigned hops)
{
    double own = ncoll__grid_cost(g, s, hops);
    bool pays = g->sends == NULL && own < ncoll__direct_ns(g, s);
    struct fit fit = {.strength = pays ? FIT_SHORT + 3 : FIT_FEW_SLOTS + 2};

    fit.why = hops == 2 ? "fewer messages, sent on once" : "fewer messages, sent on twice";
    if (hops > 2)
        fit.strength = own < ncoll__grid_cost(g, s, hops - 1) ? fit.strength + 1 : fit.strength - 1;
    if (g->size < GRID_RANKS || own >= ncoll__index_ns(g, s))
        fit.strength = FIT_NONE;
    return fit;
}
