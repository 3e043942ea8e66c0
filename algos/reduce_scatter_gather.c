/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce of long vectors: reduce slices to their ranks, then gather them at the root.
 *
 * R. Rabenseifner: Optimization of Collective Reduction Operations, ICCS 2004. Here it is the bcast
 * of scatter_allgather.c in reverse, message by message: where the bcast passes a slice on, the
 * reduce combines it. So it exists for every P, in rounds like those of J. L. Traeff: Optimal,
 * Non-pipelined Reduce-scatter and Allreduce Algorithms, 2024.
 *
 * Symbols and pieces are those of slices.h. Rounds run from l = k-1 down to 0; in each, v puts
 * piece i to v + i w. P = 5, n = 1, s = 0; the slices that each rank sends, round by round:
 *
 *                      0        1        2        3        4
 *   round 2, w = 4     .        0        1        2        3
 *   round 1, w = 2     .        34       40       01       12
 *   round 0, w = 1     .        2        .        4        0
 *   gather             .        1        23       3        4      to 0, 0, 2, 0
 *
 * Each rank but the root sends every element once. The order of operands is that of the rounds, so
 * the operation has to commute. Partial results are kept in scratch, beginning with the rank's own
 * slice, so that each piece is one message; the root keeps them in OUT.
 */
#include "algos/choice.h"
#include "algos/slices.h"

static struct footprint footprint(const struct shape *g)
{
    if (g->size == 1)
        return (struct footprint){0};
    return (struct footprint){
        .slots = 2 * piece_numbers(g),
        .scratch = g->count,
        .message = longest_piece(g),
        .sent = 0,
    };
}

/* Returns the place of the partial result of slice j, for j = v..v+P-1. */
static struct ref partial(const struct node *t, size_t j)
{
    size_t offset = slice_elements(t->g, t->v, j);
    return t->v == 0 ? out_at(offset) : scratch_at(offset);
}

static void begin(const struct node *t, struct round *out)
{
    const struct shape *g = t->g;
    size_t own = slice_start(g, t->v);

    emit_copy(out, partial(t, t->v), in_at(own), g->count - own);
    emit_copy(out, partial(t, g->size), in_at(0), own);
}

static void exchange(const struct node *t, unsigned l, struct round *out)
{
    const struct shape *g = t->g;
    size_t w = power(g->radix, l);

    for (unsigned i = 1; i <= g->radix && i * w < g->size; i++) {
        struct slices s = slices_lacking(g, t->v, l, i);
        if (s.first < s.end)
            emit_put(out, right(g, i * w), piece_number(g, l, i), partial(t, s.first),
                     slice_elements(g, s.first, s.end));
    }
    for (unsigned i = 1; i <= g->radix && i * w < g->size; i++) {
        size_t from = (t->v + g->size - i * w) % g->size, turn = from + i * w - t->v;
        struct slices s = slices_lacking(g, from, l, i);
        size_t elements = slice_elements(g, s.first, s.end);
        struct ref sum = partial(t, s.first - turn);
        if (s.first == s.end)
            continue;
        emit_wait(out, left(g, i * w), piece_number(g, l, i), elements);
        emit_reduce(out, sum, sum, arrived_at(piece_number(g, l, i), 0), elements);
    }
}

static void gather(const struct node *t, struct round *out)
{
    unsigned slot = piece_numbers(t->g);

    for (unsigned i = 0; i < t->children; i++) {
        struct branch b = ncoll__tree_branch(t, i);
        struct ref sum = partial(t, b.first);
        size_t elements = slice_elements(t->g, b.first, b.end);
        emit_wait(out, b.rank, slot + i, elements);
        emit_reduce(out, sum, sum, arrived_at(slot + i, 0), elements);
    }
    if (t->v != 0)
        emit_put(out, t->parent, slot + t->place, partial(t, t->v),
                 slice_elements(t->g, t->v, t->v + t->m));
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    unsigned k = fewest_rounds(g->size, g->radix);
    struct node t = ncoll__tree_node(g, knomial_share, g->root);

    if (r > k)
        return false;
    if (r == 0)
        begin(&t, out);
    if (r < k)
        exchange(&t, k - 1 - r, out);
    else
        gather(&t, out);
    return true;
}

/* Other ranks combine for the root. This gains nothing if ranks share cores. */
static struct fit fit(const struct shape *g, const struct situation *s)
{
    bool is_long = g->size > 2 && s->ranks_per_core <= 1 && s->bytes >= LONG_REDUCE_BYTES;

    return (struct fit){.strength = is_long ? FIT_LONG : FIT_NONE, .why = "long data"};
}

const struct algorithm ncoll__reduce_scatter_gather = {
    .name = "reduce-scatter-gather",
    .summary = "n-way reduction of slices, then k-nomial gather; for long vectors",
    .source = "Rabenseifner, ICCS 2004",
    .collectives = 1u << COLL_REDUCE,
    .properties = NEEDS_COMMUTATIVE | GIVES_SAME_BITS | USES_RADIX | ROTATES | ROOT_HAS_ALL,
    .footprint = footprint,
    .round = round_of,
    .fit = fit,
};
