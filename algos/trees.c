/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bcast and reduce along any tree; see trees.h for symbols and numbering.
 *
 * Bcast, P = 6, the binomial tree, s = 0. A rank passes the message on from the slot in which it
 * arrived, first to the child with the most ranks below it; then it copies it to OUT:
 *
 *   0 to 4, 2, 1     4 to 5     2 to 3
 *
 * Reduce is the reverse. A rank combines the messages of its children in order, so its partial
 * result always covers a range of v, which grows to the right:
 *
 *   1 to 0, 3 to 2, 5 to 4     0: x0 o x1     2: x2 o x3     4: x4 o x5
 *   2 to 0                     0: (x0 o x1) o (x2 o x3)
 *   4 to 0                     0: ((x0 o x1) o (x2 o x3)) o (x4 o x5)
 *
 * For other roots the operands are rotated, so the operation has to commute.
 */
#include "algos/trees.h"

static unsigned count_children(tree_family *share, unsigned n, size_t m)
{
    unsigned i = 0;
    while (share(n, m, i) < m)
        i++;
    return i;
}

static unsigned rank_of(const struct node *t, size_t v)
{
    return (unsigned)(t->g->rank_at != NULL ? t->g->rank_at[v] : (v + t->root) % t->g->size);
}

struct node ncoll__tree_node(const struct shape *g, tree_family *share, unsigned root)
{
    struct node t = {.g = g, .share = share, .root = root, .m = places_of(g)};
    unsigned v = g->rank_at != NULL ? own_place_of(g) : (g->rank + g->size - root) % g->size;

    while (t.v != v) {
        unsigned i = 0;
        while (share(g->radix, t.m, i + 1) <= v - t.v)
            i++;
        struct branch b = ncoll__tree_branch(&t, i);
        t.parent = rank_of(&t, t.v);
        t.place = i;
        t.v = b.first;
        t.m = b.end - b.first;
    }
    t.children = count_children(share, g->radix, t.m);
    return t;
}

struct branch ncoll__tree_branch(const struct node *t, unsigned i)
{
    unsigned n = t->g->radix;
    struct branch b = {.first = t->v + (unsigned)t->share(n, t->m, i),
                       .end = t->v + (unsigned)t->share(n, t->m, i + 1)};
    b.rank = rank_of(t, b.first);
    return b;
}

unsigned ncoll__tree_widest(const struct shape *g, tree_family *share)
{
    return count_children(share, g->radix, places_of(g));
}

bool ncoll__tree_is_deep(const struct shape *g, tree_family *share)
{
    return places_of(g) > 1 + ncoll__tree_widest(g, share);
}

void ncoll__tree_up(const struct node *t, unsigned slot, struct ref result, struct round *out)
{
    size_t count = t->g->count;
    struct ref dst = t->v == 0 ? result : scratch_at(0);
    struct ref combined = in_at(0);

    for (unsigned i = 0; i < t->children; i++) {
        emit_wait(out, ncoll__tree_branch(t, i).rank, slot + i, count);
        emit_reduce(out, dst, combined, arrived_at(slot + i, 0), count);
        combined = dst;
    }
    if (t->v != 0)
        emit_put(out, t->parent, slot + t->place, combined, count);
    else if (t->children == 0)
        emit_copy(out, result, combined, count);
}

void ncoll__tree_down(const struct node *t, unsigned slot, struct ref source, struct round *out)
{
    size_t count = t->g->count;

    if (t->v != 0) {
        emit_wait(out, t->parent, slot, count);
        source = arrived_at(slot, 0);
    }
    for (unsigned i = t->children; i-- > 0;)
        emit_put(out, ncoll__tree_branch(t, i).rank, slot, source, count);
    if (source.buffer != BUF_OUT)
        emit_copy(out, out_at(0), source, count);
}
