/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather and alltoall in ceil(log_{n+1} P) rounds.
 *
 * J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby: Efficient Algorithms for All-to-All
 * Communications in Multiport Message-Passing Systems, IEEE TPDS 8(11), 1997: their concatenation,
 * which is in algos/concatenation.h, and their index algorithm, which is here.
 *
 *   P  ranks; p  this one; n  messages a round; k = ceil(log_{n+1} P) rounds l = 0..k-1
 *   w = (n+1)^l   weight of digit l of a distance, in base n+1
 *   j  the block for the rank at distance j to the right, or the block that p has in its place
 *   message z of round l: the blocks j that have digit z in place l, in this order, go z w to the
 *   right
 *
 * A block goes j to the right in all, in as many steps as j has digits that are not 0. Then p has,
 * in place j, the block of p - j. P = 5, n = 1, rank 0:
 *
 *   round 0   sends j = 1, 3: x0[1] x0[3]   to 1   gets x4[0] x4[2]   from 4
 *   round 1   sends j = 2, 3: x0[2] x4[2]   to 2   gets x3[0] x2[0]   from 3
 *   round 2   sends j = 4:    x0[4]         to 4   gets x1[0]         from 1
 *
 * Blocks that have arrived are sent on by way of scratch, where the blocks of a message lie side by
 * side. For P <= n+1 there is one message for each pair of ranks. The blocks that share a message
 * follow from their distances. Their lengths are known to their senders only, so the algorithm
 * cannot do an alltoall with counts. With a list n_1 .. n_k the digit of round l is in base n_{l+1}
 * + 1, and its weight the product of the bases before it.
 */
#include "algos/choice.h"
#include "algos/concatenation.h"
#include "algos/parts.h"
#include "algos/radix.h"

/* Returns the number of distances below `end` whose digit l is z. */
static size_t with_digit(const struct shape *g, unsigned l, unsigned z, size_t end)
{
    size_t w = power(g->radix, l), period = power(g->radix, l + 1);
    size_t rest = end % period > z * w ? end % period - z * w : 0;

    return end / period * w + (rest < w ? rest : w);
}

/* Returns the number of blocks in messages 1..z of round l. */
static size_t blocks_to(const struct shape *g, unsigned l, unsigned z)
{
    size_t blocks = 0;

    for (unsigned y = 1; y <= z; y++)
        blocks += with_digit(g, l, y, g->size);
    return blocks;
}

static struct footprint footprint(const struct shape *g)
{
    unsigned k = fewest_rounds(g->size, g->radix);
    struct footprint needs = {0};

    if (g->collective == COLL_ALLGATHER)
        return ncoll__concatenation_footprint(g);
    if (k == 0)
        return needs;
    for (unsigned l = 0; l < k; l++) {
        size_t longest = with_digit(g, l, 1, g->size) * g->count;
        needs.message = longest > needs.message ? longest : needs.message;
        needs.scratch += blocks_to(g, l, radix_of_round(g->radix, l + 1)) * g->count;
    }
    needs.slots = messages_in(g->radix, k - 1) + (unsigned)((g->size - 1) / power(g->radix, k - 1));
    return needs;
}

/* Returns the place of block j before round l. */
static struct ref block(const struct shape *g, unsigned l, size_t j)
{
    while (l-- > 0) {
        unsigned n = radix_of_round(g->radix, l + 1);
        unsigned z = (unsigned)(j / power(g->radix, l) % (n + 1));
        if (z > 0)
            return arrived_at(messages_in(g->radix, l) + z - 1, with_digit(g, l, z, j) * g->count);
    }
    return in_block(right(g, j), 0);
}

static void index_round(const struct shape *g, unsigned l, struct round *out)
{
    unsigned n = radix_of_round(g->radix, l + 1), slot = messages_in(g->radix, l);
    size_t w = power(g->radix, l), packed = 0;

    for (unsigned m = 0; m < l; m++)
        packed += blocks_to(g, m, radix_of_round(g->radix, m + 1));
    for (unsigned z = 1; z <= n && z * w < g->size; z++) {
        size_t first = packed;
        for (size_t j = z * w; j < g->size; j++)
            if (j / w % (n + 1) == z)
                emit_copy(out, scratch_at(packed++ * g->count), block(g, l, j), g->count);
        emit_put(out, right(g, z * w), slot + z - 1, scratch_at(first * g->count),
                 (packed - first) * g->count);
    }
    for (unsigned z = 1; z <= n && z * w < g->size; z++)
        emit_wait(out, left(g, z * w), slot + z - 1, with_digit(g, l, z, g->size) * g->count);
}

static void alltoall(const struct shape *g, unsigned l, struct round *out)
{
    index_round(g, l, out);
    if (l + 1 < fewest_rounds(g->size, g->radix))
        return;
    for (size_t j = 0; j < g->size; j++)
        emit_copy(out, out_block(left(g, j), 0), block(g, l + 1, j), g->count);
}

static void allgather(const struct shape *g, unsigned l, struct round *out)
{
    ncoll__concatenation_round(g, l + 1, out);
    if (l == 0)
        emit_copy(out, out_block(g->rank, 0), in_at(0), block_count(g, g->rank));
    for (unsigned i = 1; i <= radix_of_round(g->radix, l + 1); i++) {
        struct piece piece = ncoll__concatenation_piece(g, l + 1, i);
        emit_parts(out, g, piece.distance, piece.vectors, arrived_at(piece.slot, 0));
    }
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    if (g->size == 1 && r == 0) {
        emit_copy(out, out_at(0), in_at(0), block_count(g, 0));
        return true;
    }
    if (r >= fewest_rounds(g->size, g->radix))
        return false;
    if (g->collective == COLL_ALLTOALL)
        alltoall(g, r, out);
    else
        allgather(g, r, out);
    return true;
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    if (g->collective == COLL_ALLGATHER)
        return (struct fit){.strength = FIT_SHORT, .why = "short data"};
    bool pays = ncoll__index_ns(g, s) < ncoll__direct_ns(g, s);
    return (struct fit){.strength = pays ? FIT_SHORT + 1 : FIT_FEW_SLOTS, .why = "fewer messages"};
}

/* In an allgather each rank sends all blocks but one, for any radix. If ranks share cores, rounds
 * are expensive; otherwise one message a round is best. */
static double cost(const struct shape *g, const struct situation *s)
{
    if (g->collective != COLL_ALLGATHER || (s->ranks_per_core <= 1 && g->radix > 1))
        return -1;
    return ncoll__rounds_ns(ncoll__pace(&s->far, 0, s->ranks_per_core), g->size, g->radix) +
           s->bytes_of_all * (g->size - 1) / g->size * s->far.byte_ns * s->ranks_per_core;
}

const struct algorithm ncoll__bruck = {
    .name = "bruck",
    .summary = "n-way dissemination of blocks, ceil(log_{n+1} P) rounds",
    .source = "Bruck et al., IEEE TPDS 8(11), 1997",
    .collectives = 1u << COLL_ALLGATHER | 1u << COLL_ALLTOALL,
    .properties = SYNCHRONISES | USES_RADIX | TAKES_LIST | SAME_DISTANCES | REGULAR_ONLY,
    .footprint = footprint,
    .round = round_of,
    .fit = fit,
    .cost = cost,
};
