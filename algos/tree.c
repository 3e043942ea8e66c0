/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Up a tree and down again: a reduction to rank 0, then a broadcast of its result.
 *
 * The tree is the k-nomial one, k = n + 1, of S. Kumar, D. Faraj, et al. (as recursive k-ing in
 * J. Pjesivac-Grbovic et al.: Performance Analysis of MPI Collective Operations, Cluster Computing
 * 10, 2007, with the binomial tree for n = 1).
 *
 *   P  ranks; p  this one; n  children at each level
 *   w_l = (n+1)^l          ranks below one of level l, itself included
 *   parent of p            p without its lowest digit that is not 0, in base n+1
 *   children of p          p + i w_l, i = 1..n, for the levels l below that digit
 *
 * P = 6, n = 1:
 *
 *   up     1 to 0, 3 to 2, 5 to 4     0: x0 o x1     2: x2 o x3     4: x4 o x5
 *          2 to 0                     0: (x0 o x1) o (x2 o x3)
 *          4 to 0                     0: ((x0 o x1) o (x2 o x3)) o (x4 o x5)
 *   down   0 to 4, 2, 1; 4 to 5; 2 to 3
 *
 * 2 (P-1) messages in all, where dissemination needs about P log P: that pays where ranks outnumber
 * processors, so that work adds up and each wait costs a change of ranks. A rank combines ranges in
 * rank order, so the operation need not commute; all ranks get what rank 0 has computed.
 */
#include "algos/radix.h"

#define SLOT_DOWN 0u

struct tree {
    const struct shape *g;
    unsigned levels; /* below this rank: its children are at levels 0..levels-1 */
    size_t w;        /* (n+1)^levels: the weight of this rank's lowest digit */
    unsigned parent;
};

static struct tree tree_of(const struct shape *g)
{
    struct tree t = {.g = g, .w = 1};
    size_t base = g->radix + 1;

    while (t.w < g->size && g->rank / t.w % base == 0) {
        t.w *= base;
        t.levels++;
    }
    t.parent = (unsigned)(g->rank - g->rank / t.w % base * t.w);
    return t;
}

static struct footprint footprint(const struct shape *g)
{
    unsigned k = fewest_rounds(g->size, g->radix);

    if (k == 0)
        return (struct footprint){0};
    return (struct footprint){
        .slots = 1 + (k - 1) * g->radix + (unsigned)((g->size - 1) / power(g->radix, k - 1)),
        .scratch = (g->size > g->radix + 2 ? 2 : 1) * g->count, /* n+1 has a child */
        .message = g->count,
        .sent = g->count,
    };
}

/* The i-th child of level l, 0 if there is none. */
static unsigned child(const struct tree *t, unsigned l, unsigned i)
{
    size_t rank = t->g->rank + i * power(t->g->radix, l);
    return rank < t->g->size ? (unsigned)rank : 0;
}

static bool is_leaf(const struct tree *t)
{
    return t->levels == 0 || child(t, 0, 1) == 0;
}

static void up(const struct tree *t, struct round *out)
{
    const struct shape *g = t->g;
    struct ref combined = in_at(0);
    unsigned q;

    for (unsigned l = 0; l < t->levels; l++)
        for (unsigned i = 1; i <= g->radix && (q = child(t, l, i)) != 0; i++) {
            unsigned slot = SLOT_DOWN + 1 + l * g->radix + i - 1;
            emit_wait(out, q, slot, g->count);
            emit_reduce(out, scratch_at(0), combined, landed_at(slot, 0), g->count);
            combined = scratch_at(0);
        }
    if (g->rank != 0)
        emit_put(out, t->parent,
                 SLOT_DOWN + 1 + t->levels * g->radix + (unsigned)((g->rank - t->parent) / t->w) -
                     1,
                 combined, g->count);
}

static void down(const struct tree *t, struct round *out)
{
    const struct shape *g = t->g;
    struct ref result = scratch_at(0);
    unsigned q;

    if (g->rank != 0) {
        emit_wait(out, t->parent, SLOT_DOWN, g->count);
        result = landed_at(SLOT_DOWN, 0);
        if (!is_leaf(t)) {
            result = scratch_at(g->count);
            emit_copy(out, result, landed_at(SLOT_DOWN, 0), g->count);
        }
    }
    for (unsigned l = t->levels; l-- > 0;)
        for (unsigned i = 1; i <= g->radix && (q = child(t, l, i)) != 0; i++)
            emit_put(out, q, SLOT_DOWN, result, g->count);
    emit_copy(out, out_at(0), result, g->count);
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    struct tree t = tree_of(g);

    if (g->size == 1 && r == 0) {
        emit_copy(out, out_at(0), in_at(0), g->count);
        return true;
    }
    if (g->size == 1 || r > 1)
        return false;
    if (r == 0)
        up(&t, out);
    else
        down(&t, out);
    return true;
}

const struct algorithm ncoll__tree = {
    .name = "tree",
    .summary = "k-nomial tree, k = n+1: up to rank 0 and down again",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .collectives = 1u << COLL_BARRIER | 1u << COLL_ALLREDUCE,
    .properties = SYNCHRONISES | GIVES_SAME_BITS | USES_RADIX,
    .footprint = footprint,
    .round = round_of,
};
