/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bcast of long vectors: scatter its slices, then gather them everywhere.
 *
 * M. Barnett, L. Shuler, S. Gupta, D. G. Payne, R. van de Geijn, J. Watts: Interprocessor
 * Collective Communication Library (InterCom), SHPCC 1994; R. Thakur, R. Rabenseifner, W. Gropp:
 * Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005. Slices that a
 * rank has got from the scatter are not sent to it again: H. Zhou, V. Marjanovic, C. Niethammer, J.
 * Gracia: A Bandwidth-saving Optimization for MPI Broadcast Collective Operation, ICPP Workshops
 * 2015. The allgather is the one of gather.c (Bruck et al. 1997), which exists for every P.
 *
 * Symbols and rounds are those of slices.h. P = 5, n = 1, s = 0; slices that each rank has:
 *
 *                      0        1        2        3        4
 *   scatter            01234    1        23       3        4
 *   round 0, w = 1     .        + 2      .        + 4      + 0
 *   round 1, w = 2     .        + 34     + 40     + 01     + 12
 *   round 2, w = 4     .        + 0      + 1      + 2      + 3
 *
 * Each rank but the root gets every element once, in about 2 log P messages. With the tree alone
 * the root would send the whole vector log P times. Slices lie in their places in OUT, so a message
 * ends at slice P - 1, and a piece that continues with slice 0 takes two messages.
 */
#include "algos/choice.h"
#include "algos/slices.h"

#define SLOT_SCATTER 0u
#define SLOT_PIECES  1u

static struct footprint footprint(const struct shape *g)
{
    if (g->size == 1)
        return (struct footprint){0};
    return (struct footprint){
        .slots = SLOT_PIECES + 2 * piece_numbers(g),
        .message = longest_piece(g),
        .sent = g->count,
    };
}

/* Returns the place from which this rank sends contiguous slices, the first of which is `first`. */
static struct ref slices_at(const struct node *t, size_t first)
{
    size_t offset = slice_start(t->g, first);
    return t->v == 0 ? in_at(offset) : out_at(offset);
}

static void scatter(const struct node *t, struct round *out)
{
    const struct shape *g = t->g;

    if (t->v != 0)
        emit_wait(out, t->parent, SLOT_SCATTER, slice_elements(g, t->v, t->v + t->m));
    for (unsigned i = t->children; i-- > 0;) {
        struct branch b = ncoll__tree_branch(t, i);
        struct ref src = t->v == 0 ? slices_at(t, b.first)
                                   : arrived_at(SLOT_SCATTER, slice_elements(g, t->v, b.first));
        emit_put(out, b.rank, SLOT_SCATTER, src, slice_elements(g, b.first, b.end));
    }
    if (t->v != 0)
        emit_copy(out, out_at(slice_start(g, t->v)), arrived_at(SLOT_SCATTER, 0),
                  slice_elements(g, t->v, t->v + t->m));
}

/* Returns part 0 of a piece, which ends with slice P - 1, or part 1, which begins with slice 0. */
static struct slices part_of(const struct shape *g, struct slices piece, unsigned part)
{
    if (part == 0 && piece.end > g->size)
        piece.end = piece.first < g->size ? g->size : piece.first;
    if (part == 1) {
        piece.first = (piece.first < g->size ? g->size : piece.first) - g->size;
        piece.end = piece.end < g->size ? piece.first : piece.end - g->size;
    }
    return piece;
}

static void send_pieces(const struct node *t, unsigned l, struct round *out)
{
    const struct shape *g = t->g;
    size_t w = power(g->radix, l);

    for (unsigned i = 1; i <= g->radix && i * w < g->size; i++) {
        unsigned slot = SLOT_PIECES + 2 * piece_number(g, l, i);
        struct slices piece = slices_lacking(g, (t->v + g->size - i * w) % g->size, l, i);
        for (unsigned part = 0; part < 2; part++) {
            struct slices s = part_of(g, piece, part);
            if (s.first < s.end)
                emit_put(out, left(g, i * w), slot + part, slices_at(t, s.first),
                         slice_elements(g, s.first, s.end));
        }
    }
}

static void await_pieces(const struct node *t, unsigned l, struct round *out)
{
    const struct shape *g = t->g;
    size_t w = power(g->radix, l);

    for (unsigned i = 1; i <= g->radix && i * w < g->size; i++) {
        unsigned slot = SLOT_PIECES + 2 * piece_number(g, l, i);
        struct slices piece = slices_lacking(g, t->v, l, i);
        for (unsigned part = 0; part < 2; part++) {
            struct slices s = part_of(g, piece, part);
            size_t elements = slice_elements(g, s.first, s.end);
            if (s.first == s.end)
                continue;
            emit_wait(out, right(g, i * w), slot + part, elements);
            emit_copy(out, out_at(slice_start(g, s.first)), arrived_at(slot + part, 0), elements);
        }
    }
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    unsigned k = fewest_rounds(g->size, g->radix);
    struct node t = ncoll__tree_node(g, knomial_share, g->root);

    if (r > k)
        return false;
    if (r == 0) {
        scatter(&t, out);
    } else {
        send_pieces(&t, r - 1, out);
        await_pieces(&t, r - 1, out);
    }
    if (r == k && t.v == 0)
        emit_copy(out, out_at(0), in_at(0), g->count);
    return true;
}

/* Other ranks send for the root. This gains nothing if ranks share cores. */
static struct fit fit(const struct shape *g, const struct situation *s)
{
    bool is_long = g->size > 2 && s->ranks_per_core <= 1 && s->bytes >= LONG_BCAST_BYTES;

    return (struct fit){.strength = is_long ? FIT_LONG : FIT_NONE, .why = "long data"};
}

const struct algorithm ncoll__scatter_allgather = {
    .name = "scatter-allgather",
    .summary = "k-nomial scatter of slices, then n-way allgather; for long vectors",
    .source = "Barnett et al., SHPCC 1994; Thakur et al., IJHPCA 19, 2005",
    .collectives = 1u << COLL_BCAST,
    .properties = GIVES_SAME_BITS | USES_RADIX | ROTATES | ROOT_HAS_ALL,
    .footprint = footprint,
    .round = round_of,
    .fit = fit,
};
