/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prefixes by distance doubling: scan and exscan.
 *
 * W. D. Hillis, G. L. Steele: Data Parallel Algorithms, CACM 29(12), 1986; P. M. Kogge, H. S.
 * Stone, IEEE TC C-22(8), 1973; here with n messages a round.
 *
 *   P  ranks; p  this one; n  messages a round; k = ceil(log_{n+1} P) rounds l = 0..k-1
 *   w = (n+1)^l
 *   S_l  x_{p-w+1} o .. o x_p, or from x_0 on if that is nearer; S_0 = x_p, the last S is the scan
 *   U_l  the same without x_p; the last U is the exscan
 *   round l   sends S_l to p + w, .., p + n w, as far as there are such ranks;
 *             S_{l+1} = S_l of p - n w o .. o S_l of p - w o S_l, as far as there are such ranks,
 *             and U_{l+1} likewise with U_l
 *
 * P = 6, n = 1, rank 5 and rank 2:
 *
 *   round 0   S_1 = x4 o x5                   S_1 = x1 o x2
 *   round 1   S_2 = S_1 of 3 o S_1            S_2 = x0 o S_1: complete
 *   round 2   S_3 = S_2 of 1 o S_2: complete
 *
 * Neighbouring ranges are combined in rank order, so the operation need not commute. S of a rank is
 * complete as soon as w > p, and is still sent in the rounds after that. An exscan leaves out each
 * S that no rank needs. With a list n_1 .. n_k, n is n_{l+1} in round l. A rank receives only from
 * ranks to its left.
 */
#include "algos/choice.h"
#include "algos/radix.h"

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* True if p sends S_l. */
static bool sends(const struct shape *g, unsigned l)
{
    return g->rank + power(g->radix, l) < g->size;
}

/* Returns the number of levels l whose S_l is kept in scratch. */
static unsigned levels_in_scratch(const struct shape *g)
{
    unsigned l = fewest_rounds(g->size, g->radix) - 1;

    /* S_l is needed if the first rank that has not completed S_{l-1} has a rank to send S_l to. */
    while (g->collective == COLL_EXSCAN && l > 0 &&
           power(g->radix, l - 1) + power(g->radix, l) >= g->size)
        l--;
    return l;
}

static struct footprint footprint(const struct shape *g)
{
    unsigned k = fewest_rounds(g->size, g->radix);
    struct footprint needs = {.message = g->count, .sent = g->count};

    if (k == 0)
        return (struct footprint){0};
    needs.slots = messages_in(g->radix, k - 1) + (unsigned)((g->size - 1) / power(g->radix, k - 1));
    needs.scratch = levels_in_scratch(g) * g->count;
    if (g->collective == COLL_SCAN && g->size > power(g->radix, 1) + 1)
        needs.sent += g->count; /* rank 1 sends its result */
    return needs;
}

/* Returns the place of S_l. */
static struct ref held(const struct shape *g, unsigned l)
{
    unsigned c = fewest_rounds(g->rank + 1, g->radix);

    if (g->rank == 0 || l == 0)
        return in_at(0);
    if (g->collective == COLL_SCAN && l >= c)
        return out_at(0);
    return scratch_at((least(l, c) - 1) * g->count);
}

/* Emits dst = message m o .. o message 1 o own, without own if that is NULL. Message i came from
 * p - i w. */
static void combine(const struct shape *g, unsigned slot, unsigned m, struct ref dst,
                    const struct ref *own, struct round *out)
{
    struct ref combined = own != NULL ? *own : arrived_at(slot, 0);

    if (own == NULL && m == 1)
        emit_copy(out, dst, combined, g->count);
    for (unsigned i = own != NULL ? 1 : 2; i <= m; i++) {
        emit_reduce(out, dst, arrived_at(slot + i - 1, 0), combined, g->count);
        combined = dst;
    }
}

static bool round_of(const struct shape *g, unsigned l, struct round *out)
{
    if (l >= fewest_rounds(g->size, g->radix) && (g->size > 1 || l > 0))
        return false;

    size_t w = power(g->radix, l);
    unsigned n = radix_of_round(g->radix, l + 1), slot = messages_in(g->radix, l);
    unsigned m = (unsigned)least(n, g->rank / w);
    struct ref own = held(g, l), result = out_at(0);

    for (unsigned i = 1; i <= n && g->rank + i * w < g->size; i++)
        emit_put(out, (unsigned)(g->rank + i * w), slot + i - 1, own, g->count);
    for (unsigned i = 1; i <= m; i++)
        emit_wait(out, (unsigned)(g->rank - i * w), slot + i - 1, g->count);
    if (m > 0 && (g->collective == COLL_SCAN || sends(g, l + 1)))
        combine(g, slot, m, held(g, l + 1), &own, out);
    if (m > 0 && g->collective == COLL_EXSCAN)
        combine(g, slot, m, result, l > 0 ? &result : NULL, out);
    if (g->rank == 0 && l == 0 && g->collective == COLL_SCAN)
        emit_copy(out, result, own, g->count);
    return true;
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    (void)g, (void)s;
    return (struct fit){.strength = FIT_SHORT, .why = "short data"};
}

/* If ranks share cores, and read a vector that is copied once for all its receivers, rounds cost
 * much more than bytes, whose time is then neglected. */
static double cost(const struct shape *g, const struct situation *s)
{
    bool once =
        s->ranks_per_core > 1 && reads_each_other(s, s->bytes) && s->bytes < READ_ONCE_BYTES;

    return ncoll__rounds_ns(ncoll__pace(&s->far, once ? 0 : s->bytes, s->ranks_per_core), g->size,
                            g->radix);
}

const struct algorithm ncoll__doubling = {
    .name = "doubling",
    .summary = "prefixes over distances 1, n+1, (n+1)^2, ..",
    .source = "Hillis and Steele, CACM 29(12), 1986",
    .collectives = 1u << COLL_SCAN | 1u << COLL_EXSCAN,
    .properties = GIVES_SAME_BITS | USES_RADIX | TAKES_LIST,
    .footprint = footprint,
    .round = round_of,
    .fit = fit,
    .cost = cost,
};
