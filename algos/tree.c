/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Up a tree and down again: a reduction to rank 0, then a broadcast of its result.
 *
 * The k-nomial tree, k = n + 1, of knomial.c: J. Pjesivac-Grbovic, T. Angskun, G. Bosilca,
 * G. E. Fagg, E. Gabriel, J. J. Dongarra: Performance Analysis of MPI Collective Operations,
 * Cluster Computing 10, 2007 (with the binomial tree, n = 1).
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
#include "algos/trees.h"

#define SLOT_DOWN 0u
#define SLOT_UP   1u

static struct footprint footprint(const struct shape *g)
{
    if (g->size == 1)
        return (struct footprint){0};
    return (struct footprint){
        .slots = SLOT_UP + ncoll__tree_widest(g, knomial_share),
        .scratch = ncoll__tree_is_deep(g, knomial_share) ? g->count : 0,
        .message = g->count,
        .sent = g->count,
    };
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    struct node t = ncoll__tree_node(g, knomial_share, 0);

    if (r == 0)
        ncoll__tree_up(&t, SLOT_UP, out_at(0), out);
    else if (r == 1 && g->size > 1)
        ncoll__tree_down(&t, SLOT_DOWN, out_at(0), out);
    else
        return false;
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
