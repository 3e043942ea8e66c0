/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trees of ranks, and the collectives along them.
 *
 *   P  ranks; s  root; v = (p - s) mod P  rank p counted from the root
 *   n  radix; m  ranks of a tree or subtree, its root included
 *
 * In a call over some of the ranks, v is the place of a rank, and P the number of places.
 *
 * Trees are numbered in preorder: a subtree of m ranks with root v has the ranks v..v+m-1, and its
 * children share v+1..v+m-1 among them, in order. So one function, which says how the ranks of a
 * subtree are shared out, defines a family of trees. The blocks of a subtree are in one piece
 * (gather, scatter), and with s = 0 operands are in rank order (reduce).
 *
 * P = 6, n = 2:   k-nomial       0 - {1, 2, 3 - {4, 5}}
 *                 k-ary          0 - {1 - {2}, 3 - {4, 5}}
 *                 fork           0 - {1 - {2}, 3 - {4 - {5}}}
 */
#ifndef NCOLL_ALGOS_TREES_H
#define NCOLL_ALGOS_TREES_H

#include "algos/radix.h"

/*
 * A family of trees: how the m ranks of a subtree are shared out among its root's children. Child i
 * = 0, 1, .. has the ranks from share(n, m, i) up to share(n, m, i + 1) - 1, counted from that
 * root. share(n, m, 0) = 1, and share(n, m, i) = m if there is no child i. No subtree has more
 * children than the whole tree.
 */
typedef size_t tree_family(unsigned n, size_t m, unsigned i);

/* The k-nomial family, k = n+1: n children with subtrees of each size 1, n+1, (n+1)^2, .., as long
 * as there are ranks. */
static inline size_t knomial_share(unsigned n, size_t m, unsigned i)
{
    size_t first = (1 + i % n) * power(n, i / n);
    return first < m ? first : m;
}

/* A rank's place in its tree. */
struct node {
    const struct shape *g;
    tree_family *share;
    unsigned root;     /* rank of the root */
    unsigned v, m;     /* this rank and the ranks below it are v..v+m-1 */
    unsigned children; /* number of children */
    unsigned parent;   /* rank of the parent */
    unsigned place;    /* index of this rank among the children of its parent */
};

/* Child i and all ranks below it. */
struct branch {
    unsigned rank;       /* rank of the child */
    unsigned first, end; /* v of the child and the ranks below it: first..end-1, the child first */
};

/* Returns this rank's place in the tree with this root over all ranks, or over all places. The rank
 * must take part in the call. */
struct node ncoll__tree_node(const struct shape *g, tree_family *share, unsigned root);
struct branch ncoll__tree_branch(const struct node *t, unsigned i);
/* Returns the number of children of the root. No rank has more. */
unsigned ncoll__tree_widest(const struct shape *g, tree_family *share);
/* True if a rank other than the root has children. */
bool ncoll__tree_is_deep(const struct shape *g, tree_family *share);

/* Emits the steps that combine IN with the messages of the children, child i in slot `slot` + i, in
 * rank order. The root leaves the result at `result`; other ranks put it to their parents, and use
 * elements 0..count-1 of scratch. */
void ncoll__tree_up(const struct node *t, unsigned slot, struct ref result, struct round *out);
/* Emits the steps that pass the data at `source` on the root to all other ranks, which get it in
 * OUT. Messages arrive in slot `slot`. */
void ncoll__tree_down(const struct node *t, unsigned slot, struct ref source, struct round *out);

/* rooted.c: bcast, reduce (of commutative operations), gather and scatter along a family of
 * trees. */
struct footprint ncoll__rooted_footprint(const struct shape *g, tree_family *share);
bool ncoll__rooted_round(const struct shape *g, tree_family *share, unsigned r, struct round *out);

/* tree_blocks.c: gather and scatter. */
void ncoll__tree_gather(const struct node *t, struct round *out);
void ncoll__tree_scatter(const struct node *t, struct round *out);
struct footprint ncoll__gather_footprint(const struct node *root);
struct footprint ncoll__scatter_footprint(const struct node *root);

#define ROOTED_COLLECTIVES                                                                         \
    (1u << COLL_BCAST | 1u << COLL_REDUCE | 1u << COLL_GATHER | 1u << COLL_SCATTER)
/* The first operand of a reduce is the root's vector, so operands are in rank order only for s =
 * 0. */
#define ROOTED_PROPERTIES (NEEDS_COMMUTATIVE | GIVES_SAME_BITS | ROTATES | PACKS_UNEVEN)

#endif
