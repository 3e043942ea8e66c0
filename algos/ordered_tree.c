/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduce in rank order: up a k-nomial tree to rank 0, and from there to the root.
 *
 * The tree is that of knomial.c, for n = 1 the binomial one of R. Thakur, R. Rabenseifner, W.
 * Gropp: Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005. Here it
 * is counted from rank 0, not from the root, so that its subtrees are ranges of ranks, which are
 * combined in order.
 *
 * P = 6, n = 1, s = 3:
 *
 *   1 to 0, 3 to 2, 5 to 4     0: x0 o x1     2: x2 o x3     4: x4 o x5
 *   2 to 0                     0: (x0 o x1) o (x2 o x3)
 *   4 to 0                     0: ((x0 o x1) o (x2 o x3)) o (x4 o x5)
 *   0 to 3
 *
 * The operation need not commute, and the expression does not depend on s: a vector reduced to
 * different roots gives the same bits. This costs one message more than knomial, unless s = 0.
 */
#include "algos/choice.h"
#include "algos/trees.h"

#define SLOT_RESULT 0u
#define SLOT_UP     1u

static struct footprint footprint(const struct shape *g)
{
    bool moves = g->root != 0;

    if (g->size == 1)
        return (struct footprint){0};
    return (struct footprint){
        .slots = SLOT_UP + ncoll__tree_widest(g, knomial_share),
        .scratch = moves || ncoll__tree_is_deep(g, knomial_share) ? g->count : 0,
        .message = g->count,
        .sent = g->count,
    };
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    struct node t = ncoll__tree_node(g, knomial_share, 0);

    if (r == 0) {
        ncoll__tree_up(&t, SLOT_UP, g->root == 0 ? out_at(0) : scratch_at(0), out);
        return true;
    }
    if (r > 1 || g->root == 0)
        return false;
    if (g->rank == 0)
        emit_put(out, g->root, SLOT_RESULT, scratch_at(0), g->count);
    if (g->rank == g->root) {
        emit_wait(out, 0, SLOT_RESULT, g->count);
        emit_copy(out, out_at(0), arrived_at(SLOT_RESULT, 0), g->count);
    }
    return true;
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    (void)g, (void)s;
    return (struct fit){.strength = FIT_ANYTHING, .why = "operands stay in rank order"};
}

const struct algorithm ncoll__ordered_tree = {
    .name = "ordered-tree",
    .summary = "k-nomial tree to rank 0 in rank order, then on to the root",
    .source = "Thakur et al., IJHPCA 19, 2005",
    .collectives = 1u << COLL_REDUCE,
    .properties = GIVES_SAME_BITS | USES_RADIX,
    .footprint = footprint,
    .round = round_of,
    .fit = fit,
};
