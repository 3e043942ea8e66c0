/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by gathering all vectors everywhere, then combining them in rank order.
 *
 * The vectors are gathered as in algos/concatenation.h. P = 5, n = 1, rank 0:
 *
 *   round 1   has x0             gets x1       from 1
 *   round 2   has x0 x1          gets x2 x3    from 2
 *   round 3   has x0 x1 x2 x3    gets x4       from 4
 *   then      ((x0 o x1) o x2) o (x3 o x4)
 *
 * All ranks evaluate the same expression, so they get the same bits, whatever the operation. Halves
 * are combined apart, so an element is rounded ceil(log_2 P) times on its way into a sum of
 * floating-point numbers (N. J. Higham: The Accuracy of Floating Point Summation, SIAM J. Sci.
 * Comput. 14(4), 1993, pairwise summation), and not P - 1 times. A rank receives P - 1 vectors,
 * which suits short vectors.
 */
#include "algos/choice.h"
#include "algos/concatenation.h"
#include "algos/radix.h"

/* Returns how many combined second halves are kept in scratch at once, on all levels of combine():
 * floor(log_2 P) - 1. */
static unsigned halves(unsigned size)
{
    unsigned n = 0;

    for (; size >= 4; size /= 2)
        n++;
    return n;
}

static struct footprint footprint(const struct shape *g)
{
    struct footprint f = ncoll__concatenation_footprint(g);

    f.scratch += halves(g->size) * g->count;
    return f;
}

static struct ref half_at(const struct shape *g, unsigned level)
{
    return scratch_at(ncoll__concatenation_footprint(g).scratch + level * g->count);
}

/* Combines the vectors of ranks first..first+n-1, n > 1, in `to`. The places half_at(level),
 * half_at(level + 1), .. may be overwritten. */
static void combine(const struct shape *g, unsigned first, unsigned n, struct ref to,
                    unsigned level, struct round *out)
{
    unsigned second = first + (n + 1) / 2, rest = n / 2;
    struct ref a = n > 2 ? to : ncoll__concatenation_vector(g, first);
    struct ref b = n > 3 ? half_at(g, level) : ncoll__concatenation_vector(g, second);

    if (n > 2)
        combine(g, first, n - rest, a, level, out);
    if (n > 3)
        combine(g, second, rest, b, level + 1, out);
    emit_reduce(out, to, a, b, g->count);
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    unsigned k = fewest_rounds(g->size, g->radix);

    if (g->size == 1 && r == 0) {
        emit_copy(out, out_at(0), in_at(0), g->count);
        return true;
    }
    if (r >= k)
        return false;
    ncoll__concatenation_round(g, r + 1, out);
    if (r + 1 == k)
        combine(g, 0, g->size, out_at(0), 0, out);
    return true;
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    return (struct fit){.strength =
                            s->bytes <= GATHER_ALL_BYTES / g->size ? FIT_ANYTHING + 1 : FIT_NONE,
                        .why = "same bits on all ranks"};
}

const struct algorithm ncoll__gather = {
    .name = "gather",
    .summary = "n-way dissemination allgather, then combination in rank order",
    .source = "Bruck et al., IEEE TPDS 8(11), 1997",
    .collectives = 1u << COLL_ALLREDUCE,
    .properties = SYNCHRONISES | GIVES_SAME_BITS | USES_RADIX | TAKES_LIST | SAME_DISTANCES,
    .footprint = footprint,
    .round = round_of,
    .fit = fit,
    .cost = ncoll__cost_of_rounds,
};
