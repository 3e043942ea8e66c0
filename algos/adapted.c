/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adapted n-way dissemination allreduce.
 *
 * V. End, R. Yahyapour, C. Simmendinger, T. Alrutz: Adaption of the n-way Dissemination Algorithm
 * for GASPI Split-Phase Allreduce, INFOCOMP 2015, section IV.
 *
 * Rounds 1 to k-1 are those of n-way dissemination (dissemination.c): S_l, the partial result of
 * round l, combines (n+1)^l vectors. The last round brings exactly the vectors that are missing:
 *
 *   N       = (n+1)^(k-1), the vectors in S_{k-1}
 *   g_l[j]  data boundary: how far a rank has combined after part j of round l, in the order
 *           x_p | S_0 of r_{1,1} | .. | S_0 of r_{1,n} | S_1 of r_{2,1} | ..
 *   g^s_l[j]  the same on the rank s N to the left; g_B: just before the receiver's own vector
 *
 * The nearest s - 1 ranks at distances N, 2N, .. send S_{k-1}. The last one, at s N, sends its
 * prefix: the vectors that it had combined up to g^s_lsnd[jsnd]. If these are too many, the
 * receiver takes out its own prefix: the vectors that it had combined up to g_lrcv[jrcv]. Each rank
 * keeps both prefixes in the round in which they arise. tuple.c finds (s, l_snd, l_rcv, j_snd,
 * j_rcv).
 *
 *   n = 2   P   N   tuple            case   last round of rank 0
 *           5   3   (1, 1, 0, 2, 0)  4      S0_1 o (x2 o x1)
 *           6   3   (2, 0, 0, 0, 0)  3      S0_1 o S3_1
 *           8   3   (2, 1, 0, 2, 0)  4      S0_1 o S5_1 o (x2 o x1)
 *          13   9   (1, 2, 1, 1, 1)  1      S0_2 o ((x4 o x3 o x2) o (x1 o x0 o x12))
 *                                           without (x0 o x12)
 *
 * If the operation has an inverse, the prefix is taken out of S_{k-1} before the waits of the last
 * round. Otherwise the rest of S_{k-1} is combined again from the messages that arrived. A tuple
 * does not exist for every (P, n).
 */
#include "algos/choice.h"
#include "algos/radix.h"
#include "algos/tuple.h"

/* The data that the rounds of one allreduce have in common. */
struct adapted {
    const struct shape *g;
    unsigned k;
    struct tuple tuple;
};

static struct adapted adapted_of(const struct shape *g)
{
    struct adapted a = {.g = g, .k = fewest_rounds(g->size, g->radix)};
    ncoll__tuple(g->size, g->radix, &a.tuple);
    return a;
}

static bool exists(const struct shape *g)
{
    struct tuple tuple;
    return g->size == 1 || ncoll__tuple(g->size, g->radix, &tuple);
}

static bool same(struct boundary a, struct boundary b)
{
    return a.l == b.l && a.j == b.j;
}

/* True if the last round uses S_{k-1} as a whole: sends it, or combines it. If not, the last round
 * combines its only message with what is left of S_{k-1} without the prefix. */
static bool needs_whole(const struct adapted *a)
{
    return a->tuple.senders > 1 || !a->tuple.takes_out || a->g->inverse;
}

/* True if the prefix up to boundary b needs a place of its own in scratch. The rank's own vector
 * and whole partial results have places already. */
static bool apart(const struct adapted *a, struct boundary b)
{
    return b.l > 0 && b.j < a->g->radix && (b.l < a->k - 1 || needs_whole(a));
}

static bool keeps_sent(const struct adapted *a)
{
    return apart(a, a->tuple.send);
}

static bool keeps_taken_out(const struct adapted *a)
{
    return a->tuple.takes_out && a->g->inverse && apart(a, a->tuple.out);
}

/* Returns the number of places in scratch for S_1, S_2, .. */
static unsigned partials(const struct adapted *a)
{
    return needs_whole(a) || a->tuple.send.l == a->k - 1 ? a->k - 1 : a->k - 2;
}

static struct footprint footprint(const struct shape *g)
{
    struct adapted a = adapted_of(g);

    if (a.k == 0)
        return (struct footprint){0};
    return (struct footprint){
        .slots = (a.k - 1) * g->radix + a.tuple.senders,
        .scratch = (partials(&a) + keeps_sent(&a) + keeps_taken_out(&a)) * g->count,
        .message = g->count,
        .sent = g->count,
    };
}

/* Returns the place where the vectors up to boundary b are combined. A prefix that is not needed
 * later shares the place of its round's result. */
static struct ref prefix(const struct adapted *a, struct boundary b)
{
    unsigned at = b.l - 1;

    if (b.l == 0)
        return in_at(0);
    if (keeps_sent(a) && same(b, a->tuple.send))
        at = partials(a);
    else if (keeps_taken_out(a) && same(b, a->tuple.out))
        at = partials(a) + keeps_sent(a);
    return scratch_at(at * a->g->count);
}

static struct ref whole(const struct adapted *a, unsigned l)
{
    return prefix(a, (struct boundary){l, l == 0 ? 0 : a->g->radix});
}

static struct ref part(const struct adapted *a, unsigned l, unsigned j)
{
    return arrived_at((l - 1) * a->g->radix + j - 1, 0);
}

/* Returns the number of parts of round l that are combined when they arrive. */
static unsigned combined_parts(const struct adapted *a, unsigned l)
{
    if (l < a->k - 1 || needs_whole(a))
        return a->g->radix;
    return a->tuple.send.l == l ? a->tuple.send.j : 0;
}

static void early_round(const struct adapted *a, unsigned l, struct round *out)
{
    const struct shape *g = a->g;
    size_t distance = power(g->radix, l - 1);
    struct ref combined = whole(a, l - 1);

    for (unsigned j = 1; j <= g->radix; j++)
        emit_put(out, right(g, j * distance), part(a, l, j).slot, combined, g->count);
    for (unsigned j = 1; j <= g->radix; j++) {
        struct ref next = prefix(a, (struct boundary){l, j});
        emit_wait(out, left(g, j * distance), part(a, l, j).slot, g->count);
        if (j > combined_parts(a, l))
            continue;
        emit_reduce(out, next, combined, part(a, l, j), g->count);
        combined = next;
    }
}

static struct boundary after(const struct adapted *a, struct boundary b)
{
    if (b.l == 0 || b.j == a->g->radix)
        return (struct boundary){b.l + 1, 1};
    return (struct boundary){b.l, b.j + 1};
}

/* Combines S_{k-1} again without the prefix, from the parts that came after the prefix. */
static struct ref combine_again(const struct adapted *a, struct round *out)
{
    struct boundary b = after(a, a->tuple.out);
    struct ref combined = part(a, b.l, b.j);

    for (b = after(a, b); b.l < a->k; b = after(a, b)) {
        emit_reduce(out, out_at(0), combined, part(a, b.l, b.j), a->g->count);
        combined = out_at(0);
    }
    return combined;
}

/* Returns this rank's own operand, with which the messages of the last round are combined. */
static struct ref own_share(const struct adapted *a, struct round *out)
{
    if (!a->tuple.takes_out)
        return whole(a, a->k - 1);
    if (!a->g->inverse)
        return combine_again(a, out);
    emit_takeout(out, out_at(0), whole(a, a->k - 1), prefix(a, a->tuple.out), a->g->count);
    return out_at(0);
}

static void last_round(const struct adapted *a, struct round *out)
{
    const struct shape *g = a->g;
    size_t distance = power(g->radix, a->k - 1);
    unsigned senders = a->tuple.senders;

    for (unsigned i = 1; i <= senders; i++)
        emit_put(out, right(g, i * distance), part(a, a->k, i).slot,
                 i < senders ? whole(a, a->k - 1) : prefix(a, a->tuple.send), g->count);
    struct ref combined = own_share(a, out);
    for (unsigned i = 1; i <= senders; i++) {
        emit_wait(out, left(g, i * distance), part(a, a->k, i).slot, g->count);
        emit_reduce(out, out_at(0), combined, part(a, a->k, i), g->count);
        combined = out_at(0);
    }
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    struct adapted a = adapted_of(g);

    if (g->size == 1 && r == 0)
        emit_copy(out, out_at(0), in_at(0), g->count);
    else if (r >= a.k)
        return false;
    else if (r + 1 < a.k)
        early_round(&a, r + 1, out);
    else
        last_round(&a, out);
    return true;
}

const struct algorithm ncoll__adapted = {
    .name = "adapted",
    .summary = "adapted n-way dissemination with precomputed 5-tuples; not for every size",
    .source = "End et al., INFOCOMP 2015",
    .collectives = 1u << COLL_ALLREDUCE,
    .properties = SYNCHRONISES | NEEDS_COMMUTATIVE | USES_RADIX | SAME_DISTANCES,
    .exists = exists,
    .footprint = footprint,
    .round = round_of,
    .cost = ncoll__cost_of_rounds,
};
