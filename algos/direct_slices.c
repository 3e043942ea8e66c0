/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce of long vectors in two steps: each rank combines one slice of all vectors, and puts the
 * result to all other ranks.
 *
 * M. A. Al Ahad, C. Simmendinger, R. Iakymchuk, E. Laure, S. Markidis: Efficient Algorithms for
 * Collective Operations with Notified Communication in Shared Windows, PAW-ATM 2018: ranks of a
 * node reduce slices in place. Here it is direct.c twice, over notified writes.
 *
 *   P  ranks; p  this one; x_q[j]  slice j of q's vector; distance d = 1..P-1
 *   scatter   p puts x_p[p + d] to p + d; the message from p - d has slot d - 1
 *   combine   x_0[p] o .. o x_{P-1}[p], in rank order, in scratch
 *   gather    p puts the result to p + d; the result of p - d has slot P - 1 + d - 1
 *
 * P = 3, rank 1:
 *
 *   puts x1[2] to 2, x1[0] to 0   gets x0[1], x2[1]   (x0 o x1) o x2 of slice 1
 *   puts that to 2 and 0          gets slice 0 from 0, slice 2 from 2
 *
 * It takes two rounds where the ring takes 2 (P-1), and sends as few bytes as the ring, but in each
 * round each rank sends a message to each other. It suits ranks that can read each other's memory,
 * since the result need not be copied for each of them. Each slice is combined on one rank, so all
 * ranks get the same bits; and in rank order, so the operation need not commute. With its result a
 * rank tells the others that it has read the slices which they sent to it: when all results have
 * arrived at a rank, the rank's input is not needed any more.
 */
#include "algos/choice.h"
#include "algos/parts.h"
#include "algos/radix.h"

static bool exists(const struct shape *g)
{
    return 2 * (g->size - 1) <= SLOTS_MAX;
}

static struct footprint footprint(const struct shape *g)
{
    if (g->size == 1)
        return (struct footprint){0};
    return (struct footprint){
        .slots = 2 * (g->size - 1),
        .scratch = longest_parts(g, 1),
        .message = longest_parts(g, 1),
        .sent = longest_parts(g, g->size - 1),
    };
}

/* Returns the number of elements of the slice of the rank at distance d to the right. */
static size_t elements(const struct shape *g, unsigned d)
{
    return parts_from(g, d, 1);
}

static void scatter(const struct shape *g, struct round *out)
{
    for (unsigned d = 1; d < g->size; d++)
        emit_put(out, right(g, d), d - 1, in_part(g, right(g, d)), elements(g, d));
}

static void combine(const struct shape *g, struct round *out)
{
    struct ref combined = in_part(g, g->rank);

    for (unsigned q = 0; q < g->size; q++) {
        struct ref slice = in_part(g, g->rank);
        if (q != g->rank) {
            slice = arrived_at((g->rank + g->size - q) % g->size - 1, 0);
            emit_wait(out, q, slice.slot, elements(g, 0));
        }
        if (q > 0)
            emit_reduce(out, scratch_at(0), combined, slice, elements(g, 0));
        combined = q > 0 ? scratch_at(0) : slice;
    }
}

static void gather(const struct shape *g, struct round *out)
{
    for (unsigned d = 1; d < g->size; d++)
        emit_put(out, right(g, d), g->size - 1 + d - 1, scratch_at(0), elements(g, 0));
    emit_copy(out, out_part(g, g->rank), scratch_at(0), elements(g, 0));
    for (unsigned d = 1; d < g->size; d++) {
        unsigned slot = g->size - 1 + d - 1;
        size_t count = elements(g, g->size - d);
        emit_wait(out, left(g, d), slot, count);
        emit_copy(out, out_part(g, left(g, d)), arrived_at(slot, 0), count);
    }
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    if (g->size == 1 && r == 0) {
        emit_copy(out, out_at(0), in_at(0), g->count);
        return true;
    }
    if (r > 1 || g->size == 1)
        return false;
    if (r == 0) {
        scatter(g, out);
        combine(g, out);
    } else {
        gather(g, out);
    }
    return true;
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    bool reads = ncoll__reads_slices(g, s);

    return (struct fit){.strength = !reads                         ? FIT_NONE
                                    : ncoll__root_is_quicker(g, s) ? FIT_READ - 1
                                                                   : FIT_READ,
                        .why = "ranks read each other's memory"};
}

const struct algorithm ncoll__direct_slices = {
    .name = "direct-slices",
    .summary = "each rank combines a slice and gives it to all",
    .source = "Al Ahad et al., PAW-ATM 2018",
    .collectives = 1u << COLL_ALLREDUCE,
    .properties = SYNCHRONISES | GIVES_SAME_BITS | SAME_DISTANCES,
    .acknowledges = 1u << COLL_ALLREDUCE,
    .exists = exists,
    .footprint = footprint,
    .round = round_of,
    .peers = ncoll__peers_all,
    .fit = fit,
};
