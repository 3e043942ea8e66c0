/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * n-way dissemination.
 *
 * T. Hoefler, T. Mehlan, F. Mietke, W. Rehm: Fast Barrier Synchronization for InfiniBand, IPDPS
 * 2006; as an allreduce: V. End, R. Yahyapour, C. Simmendinger, T. Alrutz: Adaption of the n-way
 * Dissemination Algorithm for GASPI Split-Phase Allreduce, INFOCOMP 2015, section III.
 *
 *   P  ranks; p  this one; n  messages a round; k = ceil(log_{n+1} P)  rounds l = 1..k
 *   s_{l,i} = p + i (n+1)^(l-1) mod P   the ranks that p sends to in round l        (1)
 *   r_{l,i} = p - i (n+1)^(l-1) mod P   the ranks that it receives from, i = 1..n
 *   S_l     = S_{l-1} o S_{l-1} of r_{l,1} o .. o S_{l-1} of r_{l,n}                (2)
 *
 * S_l combines the vectors of p and of the (n+1)^l - 1 ranks to its left. P = 8, n = 2, rank 0:
 *
 *   round 0   round 1              round 2
 *   x0        S0_1 = x0 o x7 o x6  S0_2 = S0_1 o S5_1 o S2_1   (S2_1 holds x0 again)
 *
 * If P is not a power of n+1 the last round covers some ranks twice, so the operation has to be
 * idempotent. With a list n_1 .. n_k the powers of n+1 become (n_1 + 1) .. (n_l + 1). Messages with
 * offsets of P and more are left out, since nearer ranks bring the same vectors; so no rank sends
 * to itself.
 */
#include "algos/choice.h"
#include "algos/radix.h"

/* Returns the number of messages of round l: those whose offset is below P. */
static unsigned messages(const struct shape *g, unsigned l)
{
    size_t others = (g->size - 1) / power(g->radix, l - 1);
    unsigned n = radix_of_round(g->radix, l);

    return others < n ? (unsigned)others : n;
}

static struct footprint footprint(const struct shape *g)
{
    unsigned k = fewest_rounds(g->size, g->radix);

    if (k == 0)
        return (struct footprint){0};
    return (struct footprint){
        .slots = messages_in(g->radix, k - 1) + messages(g, k),
        .scratch = (k - 1) * g->count,
        .message = g->count,
        .sent = g->count,
    };
}

/* Returns the place of S_l. */
static struct ref partial(const struct shape *g, unsigned l, unsigned k)
{
    return l == 0 ? in_at(0) : l == k ? out_at(0) : scratch_at((l - 1) * g->count);
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    unsigned k = fewest_rounds(g->size, g->radix);
    unsigned l = r + 1;

    if (g->size == 1 && r == 0) {
        emit_copy(out, out_at(0), in_at(0), g->count);
        return true;
    }
    if (l > k)
        return false;

    size_t distance = power(g->radix, l - 1);
    unsigned n = messages(g, l);
    unsigned slot = messages_in(g->radix, r);

    for (unsigned i = 1; i <= n; i++)
        emit_put(out, right(g, i * distance), slot + i - 1, partial(g, l - 1, k), g->count);
    for (unsigned i = 1; i <= n; i++) {
        emit_wait(out, left(g, i * distance), slot + i - 1, g->count);
        emit_reduce(out, partial(g, l, k), partial(g, i == 1 ? l - 1 : l, k),
                    arrived_at(slot + i - 1, 0), g->count);
    }
    return true;
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    if (g->collective == COLL_BARRIER)
        return (struct fit){.strength = FIT_SHORT, .why = "fewest rounds"};
    return (struct fit){.strength = s->any_bits ? FIT_SHORT : FIT_NONE,
                        .why = "fewest rounds; the operation is idempotent"};
}

const struct algorithm ncoll__dissemination = {
    .name = "dissemination",
    .summary = "n-way dissemination, ceil(log_{n+1} P) rounds; repeats some contributions",
    .source = "Hoefler et al., IPDPS 2006; End et al., INFOCOMP 2015",
    .collectives = 1u << COLL_BARRIER | 1u << COLL_ALLREDUCE,
    .properties = SYNCHRONISES | NEEDS_COMMUTATIVE | NEEDS_IDEMPOTENT | USES_RADIX | TAKES_LIST |
                  SAME_DISTANCES,
    .footprint = footprint,
    .round = round_of,
    .fit = fit,
    .cost = ncoll__cost_of_rounds,
};
