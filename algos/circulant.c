/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce-scatter, allgather, and allreduce as one after the other, in ceil(log2 P) rounds each, on
 * a circulant graph.
 *
 * J. L. Traeff: Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms, 2024
 * (arXiv:2410.14234); the allgather is the dissemination of Bruck et al., 1997, with these skips.
 *
 *   P  ranks; p  this one; q = ceil(log2 P)  rounds a phase
 *   s_q = P, s_{k-1} = ceil(s_k / 2), so s_0 = 1   the skips
 *   R[i]  p's partial result of block p + i mod P; in the beginning the block of its own vector
 *   reduce-scatter   for k = q..1: sends R[s_{k-1}..s_k - 1] to p + s_{k-1}; combines the message
 *                    from p - s_{k-1} with R[0..]; in the end R[0] is the result
 *   allgather        for k = 1..q: sends R[0..s_k - s_{k-1} - 1] to p - s_{k-1}; the message from
 *                    p + s_{k-1} is R[s_{k-1}..s_k - 1]
 *
 * P = 5, so s = 1, 2, 3, 5. Rank 0, ([i] for block i):
 *
 *   reduce-scatter   sends [3] [4] to 3   x0[0] o x2[0]     x0[1] o x2[1]
 *                    sends [2] to 2       .. o x3[0]
 *                    sends [1] to 1       .. o (x4[0] o x1[0])
 *   allgather        sends [0] to 4       gets [1] from 1
 *                    sends [0] to 3       gets [2] from 2
 *                    sends [0] [1] to 2   gets [3] [4] from 3
 *
 * Each rank sends P - 1 blocks in a phase, as few as on a ring, but in fewer rounds. The operation
 * has to commute; each block is combined once, so all ranks get the same bits. R lies in scratch in
 * the order of i, since it is sent in this order.
 */
#include "algos/choice.h"
#include "algos/parts.h"
#include "algos/radix.h"

/* Returns the skip s_k. */
static unsigned skip(const struct shape *g, unsigned k)
{
    unsigned s = g->size;

    for (unsigned l = fewest_rounds(g->size, 1); l > k; l--)
        s = (s + 1) / 2;
    return s;
}

/* Returns the number of blocks R[0], R[1], .. of the allgather that are kept side by side in
 * scratch, since some message sends them together. */
static unsigned kept(const struct shape *g)
{
    return gathers(g) && g->size / 2 > 1 ? g->size / 2 : 0;
}

/* Returns the number of elements of scratch for R[1..P-1] of the reduce-scatter; the same on all
 * ranks. */
static size_t reduced_elements(const struct shape *g)
{
    return scatters(g) ? longest_parts(g, g->size - 1) : 0;
}

static struct footprint footprint(const struct shape *g)
{
    unsigned q = fewest_rounds(g->size, 1);

    if (q == 0)
        return (struct footprint){0};
    return (struct footprint){
        .slots = q * (scatters(g) + gathers(g)),
        .scratch = reduced_elements(g) + longest_parts(g, kept(g)),
        .message = longest_parts(g, g->size / 2),
        .sent = gathers(g) ? longest_parts(g, 1) : 0,
    };
}

/* Returns the place of R[i] of the reduce-scatter, i > 0. */
static struct ref reduced(const struct shape *g, size_t i)
{
    return scratch_at(parts_from(g, 1, i - 1));
}

/* Returns the place of R[i] of the allgather. */
static struct ref gathered(const struct shape *g, size_t i)
{
    return scratch_at(reduced_elements(g) + parts_from(g, 0, i));
}

/* Writes R[i..j-1] to scratch: blocks of IN, combined with those of the message `arrived`; NULL: no
 * message, copies IN. */
static void take_in(const struct shape *g, size_t i, size_t j, const struct ref *arrived,
                    struct round *out)
{
    struct ref at = reduced(g, i), from = arrived_at(0, 0);

    if (arrived != NULL)
        from = further(*arrived, parts_from(g, 0, i));
    for (size_t taken; i < j; i += taken) {
        unsigned block = right(g, i);
        taken = parts_together(g, block, j - i);
        size_t count = parts_from(g, i, taken);
        struct step step = {.kind = STEP_REDUCE, .dst = at, .a = in_part(g, block), .b = from};
        if (arrived == NULL) {
            step.kind = STEP_COPY;
            step.b = step.a;
        }
        emit_on_parts(out, g, step, taken, count);
        at = further(at, count);
        from = further(from, count);
    }
}

static void reduce_scatter(const struct shape *g, unsigned k, struct round *out)
{
    unsigned q = fewest_rounds(g->size, 1), slot = q - k;
    size_t s = skip(g, k - 1), n = skip(g, k) - s; /* n blocks are sent */
    struct ref arrived = arrived_at(slot, 0), own = out_part(g, g->rank);

    if (k == q) {
        take_in(g, n, g->size, NULL, out);
        own = in_part(g, g->rank);
    }
    emit_put(out, right(g, s), slot, reduced(g, s), parts_from(g, s, n));
    emit_wait(out, left(g, s), slot, parts_from(g, 0, n));
    if (k == q)
        take_in(g, 1, n, &arrived, out);
    else
        emit_reduce(out, reduced(g, 1), reduced(g, 1), further(arrived, parts_from(g, 0, 1)),
                    parts_from(g, 1, n - 1));
    emit_reduce(out, out_part(g, g->rank), own, arrived, parts_from(g, 0, 1));
}

static void allgather(const struct shape *g, unsigned k, struct round *out)
{
    unsigned q = fewest_rounds(g->size, 1), slot = k - 1 + (scatters(g) ? q : 0);
    size_t s = skip(g, k - 1), n = skip(g, k) - s;
    size_t end = s + n < kept(g) ? s + n : kept(g);
    struct ref own = scatters(g) ? out_part(g, g->rank) : in_part(g, g->rank);

    emit_put(out, left(g, s), slot, n == 1 ? own : gathered(g, 0), parts_from(g, 0, n));
    if (k == 1 && kept(g) > 0)
        emit_copy(out, gathered(g, 0), own, parts_from(g, 0, 1));
    if (k == 1 && !scatters(g))
        emit_copy(out, out_part(g, g->rank), own, parts_from(g, 0, 1));
    emit_wait(out, right(g, s), slot, parts_from(g, s, n));
    if (s < end)
        emit_copy(out, gathered(g, s), arrived_at(slot, 0), parts_from(g, s, end - s));
    emit_parts(out, g, s, n, arrived_at(slot, 0));
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    unsigned q = fewest_rounds(g->size, 1);

    if (g->size == 1 && r == 0) {
        emit_copy(out, out_part(g, 0), in_part(g, 0), parts_before(g, 1));
        return true;
    }
    if (r >= q * (scatters(g) + gathers(g)))
        return false;
    if (scatters(g) && r < q)
        reduce_scatter(g, q - r, out);
    else
        allgather(g, r % q + 1, out);
    return true;
}

/*
 * True if it is faster to combine slices of 1/P of the vector and to collect them, in k rounds
 * each, than to combine whole vectors in k rounds. If each rank has a core of its own, all messages
 * of a round proceed at the same time, and where slices would pay, the ring is better still. If
 * ranks share cores, the bytes that they send add up. If all ranks share few cores, and a context
 * switch costs more than a message, a tree to one rank and back takes fewer rounds for as many
 * bytes.
 */
static bool slices_pay(const struct shape *g, const struct situation *s)
{
    const struct message_cost *cost = &s->any;
    double k = fewest_rounds(g->size, 1), sent = 2.0 * (g->size - 1) / g->size;
    double rounds = k * (ncoll__wait_ns(s) + cost->message_ns * s->ranks_per_core);
    double vector = (double)s->bytes * cost->byte_ns * s->ranks_per_core;

    if (g->size <= 2 || s->ranks_per_core <= 1 || (k - sent) * vector < rounds)
        return false;
    if (cost->message_ns >= SWITCH_NS || g->size - 1 > RADIX_MAX)
        return true;
    struct pace pace = ncoll__pace(&s->far, s->bytes, s->ranks_per_core);
    return ncoll__tree_ns(pace, g->size, g->size - 1) >= 2 * rounds + sent * vector;
}

/* Returns the estimated time of a reduce-scatter. It sends as many blocks as that of direct.c, but
 * in k rounds of one message in place of P - 1 messages. */
static double scatter_ns(const struct shape *g, const struct situation *s)
{
    const struct message_cost *cost = &s->any;
    double block = (double)s->bytes * cost->byte_ns * s->ranks_per_core;

    return fewest_rounds(g->size, 1) * (ncoll__wait_ns(s) + cost->message_ns * s->ranks_per_core) +
           (g->size - 1.0) * block;
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    if (g->collective == COLL_ALLREDUCE)
        return (struct fit){
            .strength = slices_pay(g, s)                               ? FIT_LONG
                        : g->size > 2 && s->bytes >= LONG_VECTOR_BYTES ? FIT_SHORT + 1
                                                                       : FIT_NONE,
            .why = s->ranks_per_core > 1 ? "fewer bytes; ranks share cores" : "fewer bytes"};
    if (g->collective == COLL_ALLGATHER)
        return (struct fit){.strength = FIT_NONE};
    bool pays = scatter_ns(g, s) < ncoll__direct_ns(g, s);
    return (struct fit){.strength = pays ? FIT_SHORT : FIT_FEW_SLOTS, .why = "fewer messages"};
}

const struct algorithm ncoll__circulant = {
    .name = "circulant",
    .summary = "circulant graph: ceil(log2 P) rounds to scatter, as many to gather",
    .source = "Traeff, arXiv:2410.14234, 2024",
    .collectives = 1u << COLL_ALLREDUCE | 1u << COLL_ALLGATHER | 1u << COLL_REDUCE_SCATTER,
    .properties = SYNCHRONISES | GIVES_SAME_BITS | NEEDS_COMMUTATIVE | SAME_DISTANCES,
    .footprint = footprint,
    .round = round_of,
    .fit = fit,
};
