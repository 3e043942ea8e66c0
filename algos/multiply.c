/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ordered recursive multiplying.
 *
 * Recursive doubling with factors of up to n+1 in place of 2: A. Ruefenacht, M. Bull, S. Booth:
 * Generalisation of recursive doubling for AllReduce, Parallel Computing 69, 2017.
 *
 *   P  ranks; n  messages a round; f_1, .., f_m  factors of at most n+1; Q = f_1 f_2 .. f_m
 *   The P ranks form Q blocks of neighbours, of the same size or one more; the first rank of block
 *   v leads it.
 *   fold in    the others of a block send to their leader, which combines in rank order
 *   round i    w = f_1 .. f_{i-1}; leaders form groups of f_i whose v differ by multiples of w, and
 *              exchange all results: each combines f_i neighbouring ranges of w blocks, in order
 *   fold out   leaders send the result to their block
 *
 * Q = P, and nothing is folded, if P is a product of at most m' + 2 such factors; otherwise
 * Q = (n+1)^m', the largest power below P. With a list, f_i = n_i + 1 as long as there are so many
 * ranks, and blocks have one rank or two: 2,1 makes 12 = 3 2 2, and 7 is 6 = 3 2 and one to fold.
 *
 * P = 7, n = 1: Q = 4, blocks {0 1} {2 3} {4 5} {6}:
 *
 *   fold in   0: x0 o x1   2: x2 o x3   4: x4 o x5   6: x6
 *   round 1   0, 2: (x0 o x1) o (x2 o x3)      4, 6: (x4 o x5) o x6
 *   round 2   0, 2, 4, 6: ((x0 o x1) o (x2 o x3)) o ((x4 o x5) o x6)
 *   fold out  0 to 1, 2 to 3, 4 to 5
 *
 * Ranges stay in rank order, so the operation need not commute. Every leader evaluates the same
 * expression, so all ranks get the same bits.
 */
#include "algos/choice.h"
#include "algos/radix.h"

#define FACTORS_MAX 32

/* The plan of an allreduce: first the fields that are the same on all ranks, then the fields of
 * this rank. */
struct multiplying {
    const struct shape *g;
    unsigned m, f[FACTORS_MAX]; /* f[0] is f_1 */
    unsigned Q;
    bool folds;
    unsigned fold_slots; /* size of the largest block, without its leader */

    unsigned v; /* number of this rank's block, which has ranks first..end-1 */
    unsigned first, end;
};

/* Finds f_1 .. f_m with product P, each at most n + 1, larger ones first. Returns false if they do
 * not exist, or are more than m_max. */
static bool factorise(unsigned P, unsigned n, unsigned m_max, struct multiplying *out)
{
    for (out->m = 0; P > 1; out->m++) {
        unsigned f = n + 1;
        while (f > 1 && P % f != 0)
            f--;
        if (f == 1 || out->m == m_max)
            return false;
        out->f[out->m] = f;
        P /= f;
    }
    return true;
}

/* Takes f_i = n_i + 1 from the list, or a smaller factor where P / (f_1 .. f_{i-1}) is less. Stops
 * at the last product that is at most P, which becomes Q. */
static void take_from_list(struct multiplying *out)
{
    out->Q = 1;
    for (unsigned left; (left = out->g->size / out->Q) > 1; out->m++) {
        unsigned f = radix_of_round(out->g->radix, out->m + 1) + 1;
        out->f[out->m] = f < left ? f : left;
        out->Q *= out->f[out->m];
    }
}

static unsigned leader(const struct multiplying *plan, unsigned v)
{
    unsigned length = plan->g->size / plan->Q, longer = plan->g->size % plan->Q;
    return v * length + (v < longer ? v : longer);
}

static unsigned block_of(const struct multiplying *plan, unsigned rank)
{
    unsigned length = plan->g->size / plan->Q, longer = plan->g->size % plan->Q;

    if (rank < longer * (length + 1))
        return rank / (length + 1);
    return (rank - longer) / length;
}

static struct multiplying plan_of(const struct shape *g)
{
    struct multiplying plan = {.g = g, .Q = g->size};
    unsigned folded = 0; /* m' */

    while (power(g->radix, folded + 1) <= g->size)
        folded++;
    if (radix_is_list(g->radix)) {
        take_from_list(&plan);
    } else if (!factorise(g->size, g->radix, folded + 2, &plan)) {
        plan.Q = (unsigned)power(g->radix, folded);
        factorise(plan.Q, g->radix, folded, &plan);
    }
    plan.folds = plan.Q < g->size;
    plan.fold_slots = (g->size - 1) / plan.Q;
    plan.v = block_of(&plan, g->rank);
    plan.first = leader(&plan, plan.v);
    plan.end = leader(&plan, plan.v + 1);
    return plan;
}

static struct footprint footprint(const struct shape *g)
{
    struct multiplying plan = plan_of(g);
    struct footprint needs = {.slots = plan.fold_slots, .message = g->count, .sent = g->count};

    if (g->size == 1)
        return (struct footprint){0};
    for (unsigned i = 0; i < plan.m; i++)
        needs.slots += plan.f[i] - 1;
    needs.scratch = plan.folds ? plan.m + 1 : plan.f[plan.m - 1] > 2 ? plan.m : plan.m - 1;
    needs.scratch *= g->count;
    return needs;
}

/* Returns the place where round i combines its ranges. */
static struct ref workplace(const struct multiplying *plan, unsigned i)
{
    return scratch_at((i - 1 + plan->folds) * plan->g->count);
}

/* Returns the place of a leader's result after round i; i = 0: after folding in. A result that is
 * folded out stays in scratch, from where it is put. */
static struct ref held(const struct multiplying *plan, unsigned i)
{
    if (i == 0)
        return plan->end - plan->first > 1 ? scratch_at(0) : in_at(0);
    return i == plan->m && !plan->folds ? out_at(0) : workplace(plan, i);
}

static void fold_in(const struct multiplying *plan, struct round *out)
{
    const struct shape *g = plan->g;
    struct ref combined = in_at(0);

    if (g->rank != plan->first) {
        emit_put(out, plan->first, g->rank - plan->first - 1, in_at(0), g->count);
        return;
    }
    for (unsigned q = plan->first + 1; q < plan->end; q++) {
        unsigned slot = q - plan->first - 1;
        emit_wait(out, q, slot, g->count);
        emit_reduce(out, scratch_at(0), combined, arrived_at(slot, 0), g->count);
        combined = scratch_at(0);
    }
}

static void fold_out(const struct multiplying *plan, struct round *out)
{
    const struct shape *g = plan->g;

    if (g->rank != plan->first) {
        emit_wait(out, plan->first, 0, g->count);
        emit_copy(out, out_at(0), arrived_at(0, 0), g->count);
        return;
    }
    for (unsigned q = plan->first + 1; q < plan->end; q++)
        emit_put(out, q, 0, held(plan, plan->m), g->count);
    emit_copy(out, out_at(0), held(plan, plan->m), g->count);
}

/* Returns the receiver's slot for the message from digit `from` to digit `to`. No digit sends to
 * itself. */
static unsigned slot_of(unsigned base, unsigned from, unsigned to)
{
    return base + (from < to ? from : from - 1);
}

static void multiply(const struct multiplying *plan, unsigned i, struct round *out)
{
    const struct shape *g = plan->g;
    unsigned f = plan->f[i - 1], w = 1, base = plan->fold_slots;
    struct ref combined = {0};

    for (unsigned t = 0; t < i - 1; t++) {
        w *= plan->f[t];
        base += plan->f[t] - 1;
    }
    unsigned own = plan->v / w % f; /* the digit of v that this round changes */
    unsigned group = plan->v - own * w;

    for (unsigned turn = 1; turn < f; turn++) {
        unsigned j = (own + turn) % f;
        emit_put(out, leader(plan, group + j * w), slot_of(base, own, j), held(plan, i - 1),
                 g->count);
    }
    for (unsigned j = 0; j < f; j++) {
        struct ref range = held(plan, i - 1);
        if (j != own) {
            range = arrived_at(slot_of(base, j, own), 0);
            emit_wait(out, leader(plan, group + j * w), range.slot, g->count);
        }
        /* Only the last step writes OUT, since it may be the memory of IN. */
        struct ref next = j + 1 < f ? workplace(plan, i) : held(plan, i);
        if (j > 0)
            emit_reduce(out, next, combined, range, g->count);
        combined = j > 0 ? next : range;
    }
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    if (g->size == 1 && r == 0) {
        emit_copy(out, out_at(0), in_at(0), g->count);
        return true;
    }

    struct multiplying plan = plan_of(g);
    if (r >= plan.m + 2 * plan.folds)
        return false;
    if (plan.folds && r == 0)
        fold_in(&plan, out);
    else if (plan.folds && r == plan.m + 1)
        fold_out(&plan, out);
    else if (g->rank == plan.first)
        multiply(&plan, r + !plan.folds, out);
    return true;
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    (void)g, (void)s;
    return (struct fit){.strength = FIT_ANYTHING, .why = "same bits on all ranks"};
}

const struct algorithm ncoll__multiply = {
    .name = "multiply",
    .summary = "ordered recursive multiplying with factors up to n+1, or of a list",
    .source = "Ruefenacht, Bull and Booth, Parallel Computing 69, 2017",
    .collectives = 1u << COLL_ALLREDUCE,
    .properties = SYNCHRONISES | GIVES_SAME_BITS | USES_RADIX | TAKES_LIST,
    .footprint = footprint,
    .round = round_of,
    .fit = fit,
    .cost = ncoll__cost_of_rounds,
};
