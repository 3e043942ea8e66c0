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
 * follow from their distances. The length of a block is known only to its first sender and its last
 * receiver, so in an alltoall with counts each block has as much room on its way as the longest one
 * of all ranks; what is in the rest of the room does not matter. With a list n_1 .. n_k the digit
 * of round l is in base n_{l+1} + 1, and its weight the product of the bases before it.
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

/*
 * Message z of round l has the w blocks from z w on, and again after each (n+1) w blocks. Blocks
 * whose lower digits are all 0 are still in IN. Any other block has come in an earlier message: if
 * its highest lower digit that is not 0 is digit m, and has the value y, in message y of round m.
 * There (n+1)^m such blocks lie side by side. So a message is packed by a few repeated steps.
 */

/* Packs the blocks of IN for the ranks at distances j, j + step, j + 2 step, .. to the right. Their
 * places in scratch, counted in blocks, are `at`, at + w, at + 2 w, .. */
static void pack_own(const struct shape *g, size_t j, size_t step, size_t at, size_t w,
                     struct round *out)
{
    struct stride further = by_elements((ptrdiff_t)(w * g->count));

    for (size_t times = (g->size - 1 - j) / step + 1, taken; times > 0; times -= taken) {
        unsigned q = right(g, j);
        taken = (g->size - 1 - q) / step + 1; /* up to rank P - 1 */
        taken = taken < times ? taken : times;
        ncoll__emit_block_copies(out, g, scratch_at(at * g->count), further, in_block(q, 0),
                                 by_blocks((ptrdiff_t)step), taken);
        j += taken * step;
        at += taken * w;
    }
}

/* Packs those blocks of message z of round l that came in message y of round m. The first block of
 * message z has its place in scratch at `at`, counted in blocks. */
static void pack_arrived(const struct shape *g, unsigned l, unsigned z, unsigned m, unsigned y,
                         size_t at, struct round *out)
{
    size_t w = power(g->radix, l), period = power(g->radix, l + 1), n = power(g->radix, m);
    size_t first = z * w + y * n; /* n blocks from here on, and again after each `period` */
    size_t times = first + n <= g->size ? (g->size - first - n) / period + 1 : 0;
    size_t cut = first + times * period, step = period / power(g->radix, m + 1) * n;
    unsigned slot = messages_in(g->radix, m) + y - 1;

    at += y * n;
    emit_copies(out, scratch_at(at * g->count), by_elements((ptrdiff_t)(w * g->count)),
                arrived_at(slot, with_digit(g, m, y, first) * g->count),
                by_elements((ptrdiff_t)(step * g->count)), n * g->count, times);
    if (cut < g->size)
        emit_copy(out, scratch_at((at + times * w) * g->count),
                  arrived_at(slot, with_digit(g, m, y, cut) * g->count),
                  (g->size - cut) * g->count);
}

static void index_round(const struct shape *g, unsigned l, struct round *out)
{
    unsigned n = radix_of_round(g->radix, l + 1), slot = messages_in(g->radix, l);
    size_t w = power(g->radix, l), packed = 0;

    for (unsigned m = 0; m < l; m++)
        packed += blocks_to(g, m, radix_of_round(g->radix, m + 1));
    for (unsigned z = 1; z <= n && z * w < g->size; z++) {
        size_t blocks = with_digit(g, l, z, g->size);
        pack_own(g, z * w, power(g->radix, l + 1), packed, w, out);
        for (unsigned m = 0; m < l; m++)
            for (unsigned y = 1; y <= radix_of_round(g->radix, m + 1); y++)
                pack_arrived(g, l, z, m, y, packed, out);
        emit_put(out, right(g, z * w), slot + z - 1, scratch_at(packed * g->count),
                 blocks * g->count);
        packed += blocks;
    }
    for (unsigned z = 1; z <= n && z * w < g->size; z++)
        emit_wait(out, left(g, z * w), slot + z - 1, with_digit(g, l, z, g->size) * g->count);
}

/* Copies the first blocks of message y of round m, which are for this rank, to OUT: block j comes
 * from p - j. */
static void unpack(const struct shape *g, unsigned m, unsigned y, struct round *out)
{
    size_t n = power(g->radix, m), first = y * n, end = first + n < g->size ? first + n : g->size;
    unsigned slot = messages_in(g->radix, m) + y - 1;

    for (size_t j = first, next; j < end; j = next) {
        next = j <= g->rank && g->rank + 1 < end ? g->rank + 1 : end; /* down to rank 0 */
        ncoll__emit_block_copies(out, g, out_block(left(g, j), 0), by_blocks(-1),
                                 arrived_at(slot, (j - first) * g->count),
                                 by_elements((ptrdiff_t)g->count), next - j);
    }
}

static void alltoall(const struct shape *g, unsigned l, struct round *out)
{
    index_round(g, l, out);
    if (l + 1 < fewest_rounds(g->size, g->radix))
        return;
    emit_copy(out, out_block(g->rank, 0), in_block(g->rank, 0), block_count(g, g->rank));
    for (unsigned m = 0; m <= l; m++)
        for (unsigned y = 1; y <= radix_of_round(g->radix, m + 1); y++)
            unpack(g, m, y, out);
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
    bool pays = g->sends == NULL && ncoll__index_ns(g, s) < ncoll__direct_ns(g, s);
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
    .properties = SYNCHRONISES | USES_RADIX | TAKES_LIST | SAME_DISTANCES | PADS_BLOCKS,
    .footprint = footprint,
    .round = round_of,
    .fit = fit,
    .cost = cost,
};
