/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gather and scatter along any tree; see trees.h for symbols and numbering.
 *
 * A message holds the blocks of a whole subtree, v to v+m-1, one after the other. P = 6, s = 3, the
 * binomial tree; b_q is the block of rank q, and v = 0..5 are the ranks 3, 4, 5, 0, 1, 2:
 *
 *   scatter   3 to 1: b1 b2     3 to 5: b5 b0     3 to 4: b4     1 to 2: b2     5 to 0: b0
 *   gather    the same messages the other way round
 *
 * Ranks between root and leaves pass on parts of the message that arrived (scatter), or collect the
 * blocks of their subtree in scratch (gather). At the root the blocks of a subtree lie in two
 * pieces if they go past rank P - 1 (b5 b0). Each piece is copied by itself, and with counts each
 * block, since no step crosses the end of a block. In a scatter, a message of several pieces or
 * blocks is then put together in scratch. With counts nothing is sent along a branch whose blocks
 * are all empty; an allgather (tree.c) sends these messages, too, since they tell that their
 * senders have entered the call.
 */
#include "algos/trees.h"

static unsigned rank_of(const struct node *t, unsigned v)
{
    return (v + t->root) % t->g->size;
}

/* Returns the number of elements in the blocks of v = first..end-1. */
static size_t elements(const struct node *t, unsigned first, unsigned end)
{
    return blocks_from(t->g, rank_of(t, first), end - first);
}

/* Returns the end of the piece of v = first..end-1 that begins with `first`. Even in a piece,
 * blocks that are separate or have counts are copied one by one. */
static unsigned piece_end(const struct node *t, unsigned first, unsigned end)
{
    unsigned wrap = t->g->size - t->root;

    return first < wrap && wrap < end ? wrap : end;
}

/* True if the blocks of v = first..end-1 lie side by side, and one put may take them. */
static bool is_one_piece(const struct node *t, unsigned first, unsigned end)
{
    bool each = t->g->separate || has_counts(t->g);

    return piece_end(t, first, end) == end && !(each && end - first > 1);
}

/* Copies the blocks of a piece at the root between IN or OUT and a place where they are
 * contiguous. */
static void copy_piece(const struct node *t, unsigned first, unsigned end, struct ref dst,
                       struct ref src, struct round *out)
{
    bool each = t->g->separate, counts = has_counts(t->g);
    struct stride blocks = by_blocks(1), further = by_elements(counts ? 0 : (ptrdiff_t)t->g->count);
    struct step step = {.kind = STEP_COPY,
                        .dst = dst,
                        .a = src,
                        .b = src,
                        .count = each ? t->g->count : elements(t, first, end),
                        .dst_by = dst.buffer == BUF_OUT ? blocks : further,
                        .a_by = src.buffer == BUF_IN ? blocks : further};

    step.b_by = step.a_by;
    if (counts)
        ncoll__emit_uneven(out, t->g, step, end - first);
    else
        ncoll__emit_repeated(out, step, each ? end - first : 1);
}

void ncoll__tree_gather(const struct node *t, struct round *out)
{
    const struct shape *g = t->g;
    size_t have = block_count(g, g->rank);
    bool is_root = t->v == 0;

    if (is_root)
        emit_copy(out, out_block(g->rank, 0), in_at(0), have);
    else if (t->children > 0)
        emit_copy(out, scratch_at(0), in_at(0), have);

    for (unsigned i = 0; i < t->children; i++) {
        struct branch b = ncoll__tree_branch(t, i);
        size_t more = elements(t, b.first, b.end), offset = 0;
        if (has_no_message(g, more))
            continue;
        emit_wait(out, b.rank, i, more);
        if (!is_root)
            emit_copy(out, scratch_at(have), arrived_at(i, 0), more);
        have += more;
        for (unsigned v = b.first, next; is_root && v < b.end; v = next) {
            next = piece_end(t, v, b.end);
            copy_piece(t, v, next, out_block(rank_of(t, v), 0), arrived_at(i, offset), out);
            offset += elements(t, v, next);
        }
    }
    if (!is_root && !has_no_message(g, have))
        emit_put(out, t->parent, t->place, t->children > 0 ? scratch_at(0) : in_at(0), have);
}

static void scatter_from_root(const struct node *t, struct round *out)
{
    size_t scratch = 0;

    for (unsigned i = t->children; i-- > 0;) {
        struct branch b = ncoll__tree_branch(t, i);
        struct ref message = in_block(b.rank, 0);
        if (has_no_message(t->g, elements(t, b.first, b.end)))
            continue;
        if (!is_one_piece(t, b.first, b.end))
            message = scratch_at(scratch);
        for (unsigned v = b.first, next; message.buffer == BUF_SCRATCH && v < b.end; v = next) {
            next = piece_end(t, v, b.end);
            copy_piece(t, v, next, scratch_at(scratch), in_block(rank_of(t, v), 0), out);
            scratch += elements(t, v, next);
        }
        emit_put(out, b.rank, 0, message, elements(t, b.first, b.end));
    }
    emit_copy(out, out_at(0), in_block(t->g->rank, 0), block_count(t->g, t->g->rank));
}

void ncoll__tree_scatter(const struct node *t, struct round *out)
{
    size_t whole = elements(t, t->v, t->v + t->m);

    if (t->v == 0) {
        scatter_from_root(t, out);
        return;
    }
    if (has_no_message(t->g, whole))
        return;
    emit_wait(out, t->parent, 0, whole);
    for (unsigned i = t->children; i-- > 0;) {
        struct branch b = ncoll__tree_branch(t, i);
        if (has_no_message(t->g, elements(t, b.first, b.end)))
            continue;
        emit_put(out, b.rank, 0, arrived_at(0, elements(t, t->v, b.first)),
                 elements(t, b.first, b.end));
    }
    emit_copy(out, out_at(0), arrived_at(0, 0), block_count(t->g, t->g->rank));
}

struct footprint ncoll__gather_footprint(const struct node *root)
{
    struct footprint needs = {.slots = root->children, .sent = longest_block(root->g)};

    for (unsigned i = 0; i < root->children; i++) {
        struct branch b = ncoll__tree_branch(root, i);
        size_t message = elements(root, b.first, b.end);
        if (message > needs.message)
            needs.message = message;
        if (b.end - b.first > 1 && message > needs.scratch)
            needs.scratch = message;
    }
    return needs;
}

struct footprint ncoll__scatter_footprint(const struct node *root)
{
    struct footprint needs = {.slots = 1};

    for (unsigned i = 0; i < root->children; i++) {
        struct branch b = ncoll__tree_branch(root, i);
        size_t message = elements(root, b.first, b.end);
        if (message > needs.message)
            needs.message = message;
        if (!is_one_piece(root, b.first, b.end))
            needs.scratch += message;
        else
            needs.sent += message;
    }
    return needs;
}
