/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dissemination with early partial results: an allreduce for any P.
 *
 * M. A. Al Ahad, C. Simmendinger, R. Iakymchuk, E. Laure, S. Markidis: Efficient Algorithms for
 * Collective Operations with Notified Communication in Shared Windows, PAW-ATM 2018, section III.
 *
 *   P = c_l 2^l + .. + c_1 2 + c_0, c_l = 1   ranks; p  this one
 *   S_k  the vectors of p and of the 2^k - 1 ranks to its left combined; S_0 = x_p
 *   round k = 0..l-1   S_{k+1} = S_k o S_k of p - 2^k
 *   then               S_l o S_j of p - D_j, for each j < l with c_j = 1, larger ones first
 *   D_j = c_l 2^l + .. + c_{j+1} 2^{j+1}   the vectors that S_l and the larger S_j cover already
 *
 * S_j is sent to p + D_j as soon as it is complete, at the start of round j, so that it arrives
 * while the rounds go on. For P = 7 = 4 + 2 + 1 rank 0 sends and combines:
 *
 *   round 0   S_0 to 1, early to 6   S_1 = x0 o x6
 *   round 1   S_1 to 2, early to 4   S_2 = S_1 o S_1 of 5, which is x5 o x4
 *   then                             (S_2 o S_1 of 3, which is x3 o x2) o S_0 of 1
 *
 * P = 11 = 8 + 2 + 1:
 *
 *   round 0   S_0 to 1, early to 10   S_1 = x0 o x10
 *   round 1   S_1 to 2, early to 8    S_2 = S_1 o S_1 of 9
 *   round 2   S_2 to 4                S_3 = S_2 o S_2 of 7
 *   then                              (S_3 o S_1 of 3) o S_0 of 1
 *
 * It takes floor(log2 P) rounds, and the rest of the time until the early messages have arrived.
 * Each vector is combined once, so any commutative operation will do.
 */
#include "algos/choice.h"
#include "algos/radix.h"

/* Returns l, the largest number with 2^l <= P. */
static unsigned largest_bit(unsigned P)
{
    unsigned l = 0;
    while (P >> l > 1)
        l++;
    return l;
}

static bool sent_early(const struct shape *g, unsigned j)
{
    return j < largest_bit(g->size) && (g->size >> j & 1) != 0;
}

/* Returns D_j. */
static unsigned covered(const struct shape *g, unsigned j)
{
    return g->size >> (j + 1) << (j + 1);
}

/* Returns the slot of the early message with S_j. The slots of early messages follow those of the
 * rounds, in the order of j. */
static unsigned early_slot(const struct shape *g, unsigned j)
{
    unsigned slot = largest_bit(g->size);

    for (unsigned i = 0; i < j; i++)
        slot += sent_early(g, i);
    return slot;
}

static struct footprint footprint(const struct shape *g)
{
    unsigned l = largest_bit(g->size);

    if (l == 0)
        return (struct footprint){0};
    return (struct footprint){
        .slots = early_slot(g, l),
        .scratch = (l - 1) * g->count,
        .message = g->count,
        .sent = g->count,
    };
}

/* Returns the place of S_k. */
static struct ref held(const struct shape *g, unsigned k)
{
    return k == 0                      ? in_at(0)
           : k == largest_bit(g->size) ? out_at(0)
                                       : scratch_at((k - 1) * g->count);
}

static void disseminate(const struct shape *g, unsigned k, struct round *out)
{
    size_t distance = (size_t)1 << k;

    emit_put(out, right(g, distance), k, held(g, k), g->count);
    if (sent_early(g, k))
        emit_put(out, right(g, covered(g, k)), early_slot(g, k), held(g, k), g->count);
    emit_wait(out, left(g, distance), k, g->count);
    emit_reduce(out, held(g, k + 1), held(g, k), arrived_at(k, 0), g->count);
}

static void complete(const struct shape *g, struct round *out)
{
    for (unsigned j = largest_bit(g->size); j-- > 0;)
        if (sent_early(g, j)) {
            emit_wait(out, left(g, covered(g, j)), early_slot(g, j), g->count);
            emit_reduce(out, out_at(0), out_at(0), arrived_at(early_slot(g, j), 0), g->count);
        }
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    unsigned l = largest_bit(g->size);

    if (g->size == 1 && r == 0) {
        emit_copy(out, out_at(0), in_at(0), g->count);
        return true;
    }
    if (r < l)
        disseminate(g, r, out);
    else if (r == l && early_slot(g, l) > l)
        complete(g, out);
    else
        return false;
    return true;
}

const struct algorithm ncoll__early = {
    .name = "early",
    .summary = "2-way dissemination, floor(log2 P) rounds, with partial results sent ahead",
    .source = "Al Ahad et al., PAW-ATM 2018",
    .collectives = 1u << COLL_ALLREDUCE,
    .properties = SYNCHRONISES | NEEDS_COMMUTATIVE | SAME_DISTANCES,
    .footprint = footprint,
    .round = round_of,
    .peers = ncoll__peers_twice, /* peers of the rounds, and of early messages */
};
