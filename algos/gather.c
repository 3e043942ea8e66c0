/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by gathering all vectors everywhere, then combining them in rank order.
 *
 * They are gathered as in algos/concatenation.h. P = 5, n = 1, rank 0:
 *
 *   round 1   has x0             gets x1       from 1
 *   round 2   has x0 x1          gets x2 x3    from 2
 *   round 3   has x0 x1 x2 x3    gets x4       from 4
 *   then      x0 o x1 o x2 o x3 o x4
 *
 * All ranks evaluate the same expression, so they get the same bits, whatever the operation. A rank
 * receives P - 1 vectors, which suits short vectors.
 */
#include "algos/choice.h"
#include "algos/concatenation.h"
#include "algos/radix.h"

static void combine_in_rank_order(const struct shape *g, struct round *out)
{
    struct ref combined = ncoll__concatenation_vector(g, 0);

    for (unsigned q = 1; q < g->size; q++) {
        emit_reduce(out, out_at(0), combined, ncoll__concatenation_vector(g, q), g->count);
        combined = out_at(0);
    }
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
        combine_in_rank_order(g, out);
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
    .footprint = ncoll__concatenation_footprint,
    .round = round_of,
    .fit = fit,
    .cost = ncoll__cost_of_rounds,
};
