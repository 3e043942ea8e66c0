/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by gathering all vectors everywhere, then combining them in rank order.
 *
 * J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby: Efficient Algorithms for All-to-All
 * Communications in Multiport Message-Passing Systems, IEEE TPDS 8(11), 1997 (their concatenation
 * algorithm, with n messages a round).
 *
 *   P  ranks; p  this one; n  messages a round; k = ceil(log_{n+1} P) rounds l = 1..k
 *   w = (n+1)^(l-1)  vectors that a rank has before round l: x_p, x_{p-1}, .., x_{p-w+1}
 *   piece i of round l: all of these, from the rank at distance i w; what is past P is left out
 *
 * P = 5, n = 1, rank 0:
 *
 *   round 1   has x0             gets x4       from 4
 *   round 2   has x0 x4          gets x3 x2    from 3
 *   round 3   has x0 x4 x3 x2    gets x1       from 1
 *   then      x0 o x1 o x2 o x3 o x4
 *
 * All ranks evaluate the same expression, so they get the same bits; nothing is asked of the
 * operation. A rank receives P - 1 vectors, which suits short ones.
 */
#include "algos/radix.h"

/* Vectors in piece i of the round in which a rank has w; 0 if there is no such piece. */
static size_t piece_vectors(const struct shape *g, size_t w, unsigned i)
{
    size_t missing = g->size > i * w ? g->size - i * w : 0;
    return missing < w ? missing : w;
}

static struct footprint footprint(const struct shape *g)
{
    unsigned n = g->radix;
    unsigned k = fewest_rounds(g->size, n);

    if (k == 0)
        return (struct footprint){0};
    size_t w = power(n, k - 1);
    unsigned last = (unsigned)((g->size - 1) / w);
    size_t earlier = k > 1 ? power(n, k - 2) : 0;
    size_t longest = piece_vectors(g, w, 1);
    return (struct footprint){
        .slots = (k - 1) * n + last,
        .scratch = w * g->count,
        .message = (longest > earlier ? longest : earlier) * g->count,
        .sent = g->count,
    };
}

/* Where x_q is once everything has come: in scratch in the order of distance, but for the pieces of
 * the last round, which stay where they landed. */
static struct ref vector(const struct shape *g, unsigned k, unsigned q)
{
    size_t w = power(g->radix, k - 1);
    size_t distance = (g->rank + g->size - q) % g->size;

    if (distance < w)
        return scratch_at(distance * g->count);
    return landed_at((unsigned)((k - 1) * g->radix + distance / w - 1), distance % w * g->count);
}

static void combine_in_rank_order(const struct shape *g, unsigned k, struct round *out)
{
    struct ref combined = vector(g, k, 0);

    for (unsigned q = 1; q < g->size; q++) {
        emit_reduce(out, out_at(0), combined, vector(g, k, q), g->count);
        combined = out_at(0);
    }
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    unsigned n = g->radix;
    unsigned k = fewest_rounds(g->size, n);

    if (g->size == 1 && r == 0) {
        emit_copy(out, out_at(0), in_at(0), g->count);
        return true;
    }
    if (r >= k)
        return false;

    size_t w = power(n, r);
    unsigned slot = r * n;
    for (unsigned i = 1; i <= n && piece_vectors(g, w, i) > 0; i++)
        emit_put(out, right(g, i * w), slot + i - 1, r == 0 ? in_at(0) : scratch_at(0),
                 piece_vectors(g, w, i) * g->count);
    if (r == 0)
        emit_copy(out, scratch_at(0), in_at(0), g->count);
    for (unsigned i = 1; i <= n && piece_vectors(g, w, i) > 0; i++) {
        size_t elements = piece_vectors(g, w, i) * g->count;
        emit_wait(out, left(g, i * w), slot + i - 1, elements);
        if (r + 1 < k)
            emit_copy(out, scratch_at(i * w * g->count), landed_at(slot + i - 1, 0), elements);
    }
    if (r + 1 == k)
        combine_in_rank_order(g, k, out);
    return true;
}

const struct algorithm ncoll__gather = {
    .name = "gather",
    .summary = "n-way dissemination allgather, then combination in rank order",
    .source = "Bruck et al., IEEE TPDS 8(11), 1997",
    .collectives = 1u << COLL_ALLREDUCE,
    .properties = SYNCHRONISES | GIVES_SAME_BITS | USES_RADIX | SAME_DISTANCES,
    .footprint = footprint,
    .round = round_of,
};
