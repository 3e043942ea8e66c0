/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two-window dissemination: an allreduce in ceil(log_{n+1} P) rounds for every P and n.
 *
 * J. Bruck, C.-T. Ho: Efficient Global Combine Operations in Multi-Port Message-Passing Systems,
 * Parallel Processing Letters 3(4), 1993.
 *
 *   P  ranks; p  this one; n  messages a round (their "ports"); k = ceil(log_{n+1} P) rounds
 *   W_k = P, W_{t-1} = ceil(W_t / (n+1)), so W_0 = 1
 *   S_t  window: the vectors of p, p-1, .., p - W_t + 1 combined
 *   U_t  the same without p's own: p-1, .., p - W_t + 1; empty where W_t = 1
 *
 * Both windows grow by the same n pieces, which begin at distance W = W_{t-1}:
 *
 *   e = (n+1) W - W_t  pieces are one vector short: the last e
 *   piece i <= n - e   is S_{t-1} of the rank at distance i W to the left
 *   piece i >  n - e   is U_{t-1} of the rank at distance i W - (i - (n - e)): the q-th short piece
 *                      starts q - 1 earlier than a whole one would, and U starts one further
 *
 * P = 5, n = 1: W = 1, 2, 3, 5, so e = 0, 1, 1. Rank 0:
 *
 *   S_0 = x0    S_1 = x0 o x4    S_2 = S_1 o U_1 of rank 4 = x0 o x4 o (x3)
 *   U_0 = -     U_1 = x4         U_2 = U_1 o U_1 of rank 4 = x4 o (x3)
 *   S_3 = S_2 o U_2 of rank 3 = (x0 o x4 o x3) o (x2 o x1)
 *
 * With a list n_1 .. n_k, n is n_t in round t. Every vector is combined once, for any commutative
 * operation.
 */
#include "algos/choice.h"
#include "algos/radix.h"

/* The rounds of an allreduce: k rounds, and round t has n_{t + skipped} messages. With a list, the
 * window need not grow in the first rounds; such rounds are left out. */
struct rounds {
    const struct shape *g;
    unsigned k, skipped;
};

/* The parameters of round t of an allreduce, which are the same on all ranks. */
struct growth {
    const struct shape *g;
    unsigned t, k;
    unsigned T;      /* last round that sends U, 0 if none does; U_t is kept for t < T */
    size_t W;        /* W_{t-1} */
    unsigned whole;  /* n - e: number of pieces that are S_{t-1} */
    unsigned pieces; /* number of pieces that are not empty */
    unsigned slot;   /* slot of the first piece */
};

static unsigned messages(const struct rounds *r, unsigned t)
{
    return radix_of_round(r->g->radix, t + r->skipped);
}

/* Returns the number of messages in rounds 2 .. t. */
static unsigned messages_from_2(const struct rounds *r, unsigned t)
{
    return messages_in(r->g->radix, t + r->skipped) - messages_in(r->g->radix, 1 + r->skipped);
}

/* Returns W_t: P divided by n + 1 for each of the rounds k .. t + 1, rounded up each time. */
static size_t window(const struct rounds *r, unsigned t)
{
    size_t W = r->g->size;
    for (unsigned u = r->k; u > t; u--)
        W = (W + messages(r, u)) / (messages(r, u) + 1);
    return W;
}

static struct rounds rounds_of(const struct shape *g)
{
    struct rounds r = {.g = g, .k = fewest_rounds(g->size, g->radix)};

    while (r.k > 1 && window(&r, 1) == 1) {
        r.skipped++;
        r.k--;
    }
    return r;
}

/* Returns n - e in round t, the number of pieces that are S_{t-1}. */
static unsigned whole_pieces(const struct rounds *r, unsigned t)
{
    unsigned n = messages(r, t);
    return (unsigned)(window(r, t) - window(r, t - 1) * (n + 1) + n);
}

static unsigned last_round_of_U(const struct rounds *r)
{
    unsigned T = r->k;
    while (T > 1 && whole_pieces(r, T) == messages(r, T))
        T--;
    return T > 1 ? T : 0; /* U_0 is empty */
}

static struct growth growth_of(const struct rounds *r, unsigned t)
{
    unsigned whole = whole_pieces(r, t);

    return (struct growth){
        .g = r->g,
        .t = t,
        .k = r->k,
        .T = last_round_of_U(r),
        .W = window(r, t - 1),
        .whole = whole,
        .pieces = t == 1 ? whole : messages(r, t),
        .slot = t == 1 ? 0 : whole_pieces(r, 1) + messages_from_2(r, t - 1),
    };
}

static struct footprint footprint(const struct shape *g)
{
    struct rounds r = rounds_of(g);

    if (r.k == 0)
        return (struct footprint){0};
    unsigned T = last_round_of_U(&r);
    return (struct footprint){
        .slots = whole_pieces(&r, 1) + messages_from_2(&r, r.k),
        .scratch = (r.k - 1 + (T > 0 ? T - 1 : 0)) * g->count,
        .message = g->count,
        .sent = g->count,
    };
}

static struct ref S_of(const struct growth *w, unsigned t)
{
    return t == 0 ? in_at(0) : t == w->k ? out_at(0) : scratch_at((t - 1) * w->g->count);
}

static struct ref U_of(const struct growth *w, unsigned t)
{
    return scratch_at((w->k - 1 + t - 1) * w->g->count);
}

/* Returns the distance to the left of the sender of piece i. */
static size_t distance(const struct growth *w, unsigned i)
{
    return i * w->W - (i > w->whole ? i - w->whole : 0);
}

static struct ref await_piece(const struct growth *w, unsigned i, struct round *out)
{
    unsigned slot = w->slot + i - 1;
    emit_wait(out, left(w->g, distance(w, i)), slot, w->g->count);
    return arrived_at(slot, 0);
}

static void grow_S(const struct growth *w, struct round *out)
{
    struct ref combined = S_of(w, w->t - 1);

    for (unsigned i = 1; i <= w->pieces; i++) {
        struct ref piece = await_piece(w, i, out);
        emit_reduce(out, S_of(w, w->t), combined, piece, w->g->count);
        combined = S_of(w, w->t);
    }
}

/* Combines the pieces with each other first, in the place of U_t, and then with both windows. */
static void grow_S_and_U(const struct growth *w, struct round *out)
{
    struct ref pieces = await_piece(w, 1, out);

    for (unsigned i = 2; i <= w->pieces; i++) {
        struct ref piece = await_piece(w, i, out);
        emit_reduce(out, U_of(w, w->t), pieces, piece, w->g->count);
        pieces = U_of(w, w->t);
    }
    emit_reduce(out, S_of(w, w->t), S_of(w, w->t - 1), pieces, w->g->count);
    if (w->t > 1)
        emit_reduce(out, U_of(w, w->t), U_of(w, w->t - 1), pieces, w->g->count);
    else if (w->pieces == 1)
        emit_copy(out, U_of(w, w->t), pieces, w->g->count);
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    struct rounds rounds = rounds_of(g);

    if (g->size == 1 && r == 0) {
        emit_copy(out, out_at(0), in_at(0), g->count);
        return true;
    }
    if (r >= rounds.k)
        return false;

    struct growth w = growth_of(&rounds, r + 1);
    for (unsigned i = 1; i <= w.pieces; i++)
        emit_put(out, right(g, distance(&w, i)), w.slot + i - 1,
                 i <= w.whole ? S_of(&w, w.t - 1) : U_of(&w, w.t - 1), g->count);
    if (w.t < w.T)
        grow_S_and_U(&w, out);
    else
        grow_S(&w, out);
    return true;
}

/* If the operation is idempotent, dissemination comes first. */
static struct fit fit(const struct shape *g, const struct situation *s)
{
    (void)g;
    return (struct fit){.strength = !s->any_bits    ? FIT_NONE
                                    : s->idempotent ? FIT_SHORT - 1
                                                    : FIT_SHORT,
                        .why = "fewest rounds for every number of ranks"};
}

const struct algorithm ncoll__two_window = {
    .name = "two-window",
    .summary = "two-window dissemination, ceil(log_{n+1} P) rounds for every size",
    .source = "Bruck and Ho, Parallel Processing Letters 3(4), 1993",
    .collectives = 1u << COLL_ALLREDUCE,
    .properties = SYNCHRONISES | NEEDS_COMMUTATIVE | USES_RADIX | TAKES_LIST | SAME_DISTANCES,
    .footprint = footprint,
    .round = round_of,
    .fit = fit,
    .cost = ncoll__cost_of_rounds,
};
