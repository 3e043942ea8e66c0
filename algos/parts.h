/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data of a call in P parts, one for each rank. They are numbered around the ring: part q and
 * part q + P are the same. In a collective that has blocks a part is a block. In an allreduce it is
 * one of P slices of the vector, whose lengths differ by at most one: slice q goes from element
 * floor(q count / P) to floor((q+1) count / P). The parts of a call with many turns (schedule.h)
 * are another thing.
 */
#ifndef NCOLL_ALGOS_PARTS_H
#define NCOLL_ALGOS_PARTS_H

#include "algos/schedule.h"

/* An allreduce is a reduce-scatter and then an allgather, each of which is also a collective of its
 * own. scatters() is true if the call contains the first of these, gathers() if the second. */
static inline bool scatters(const struct shape *g)
{
    return g->collective != COLL_ALLGATHER;
}

static inline bool gathers(const struct shape *g)
{
    return g->collective != COLL_REDUCE_SCATTER;
}

/* Returns the number of elements in parts 0..i-1. */
static inline size_t parts_before(const struct shape *g, size_t i)
{
    if (g->collective == COLL_ALLREDUCE)
        return i * (g->count / g->size) + i * (g->count % g->size) / g->size;
    return blocks_from(g, 0, i);
}

/* Returns the number of elements in n parts, the first of which belongs to the rank at distance
 * `first` to the right. */
static inline size_t parts_from(const struct shape *g, size_t first, size_t n)
{
    if (!has_counts(g))
        return parts_before(g, g->rank + first + n) - parts_before(g, g->rank + first);
    return blocks_from(g, (g->rank + first) % g->size, n);
}

/* Returns the largest number of elements that any n <= P neighbouring parts have; with counts, and
 * more than SLOTS_MAX ranks, an upper bound. */
static inline size_t longest_parts(const struct shape *g, size_t n)
{
    if (g->counts != NULL && g->size > SLOTS_MAX) {
        size_t all = blocks_before(g, g->size), longest = n * longest_block(g);
        return longest < all ? longest : all;
    }
    size_t these = parts_before(g, n), longest = these;
    if (g->even_but_last && n > 0) {
        size_t other = (n - 1) * block_count(g, 0) + block_count(g, g->size - 1);
        return other > longest ? other : longest;
    }
    if (g->collective == COLL_ALLREDUCE)
        return these + (n * (g->count % g->size) % g->size > 0);
    for (size_t q = 0, next = n % g->size; has_counts(g) && q + 1 < g->size; q++) {
        these += block_count(g, (unsigned)next) - block_count(g, (unsigned)q);
        next = next + 1 < g->size ? next + 1 : 0;
        longest = these > longest ? these : longest;
    }
    return longest;
}

static inline struct ref in_part(const struct shape *g, unsigned q)
{
    if (in_form(g->collective) == FORM_BLOCKS)
        return in_block(q, 0);
    return in_at(g->collective == COLL_ALLREDUCE ? parts_before(g, q) : 0);
}

static inline struct ref out_part(const struct shape *g, unsigned q)
{
    if (out_form(g->collective) == FORM_BLOCKS)
        return out_block(q, 0);
    return out_at(g->collective == COLL_ALLREDUCE ? parts_before(g, q) : 0);
}

/* Returns how many of the n parts from q on one step, perhaps a repeated one, may handle: none
 * beyond part P - 1. */
static inline size_t parts_together(const struct shape *g, unsigned q, size_t n)
{
    return n < g->size - q ? n : g->size - q;
}

/* Emits a local step on n parts, no more than parts_together() returns, that have `elements`
 * elements together. Operands in IN or OUT consist of parts; the others are contiguous. The step is
 * repeated, part by part, if parts are separate or have counts of their own. */
static inline void emit_on_parts(struct round *out, const struct shape *g, struct step step,
                                 size_t n, size_t elements)
{
    bool each = g->separate && n > 1;
    struct stride parts = by_blocks(1), further = by_elements((ptrdiff_t)g->count);

    if (has_counts(g))
        further = by_elements(0);
    step.count = each ? g->count : elements;
    step.dst_by = step.dst.buffer == BUF_OUT ? parts : further;
    step.a_by = step.a.buffer == BUF_IN ? parts : further;
    step.b_by = step.b.buffer == BUF_IN ? parts : further;
    if (has_counts(g))
        ncoll__emit_uneven(out, g, step, n);
    else
        ncoll__emit_repeated(out, step, each ? n : 1);
}

static inline struct ref further(struct ref ref, size_t elements)
{
    ref.offset += elements;
    return ref;
}

/* Copies n parts that are contiguous at src to their places in OUT. The first belongs to the rank
 * at distance `first` to the right. */
static inline void emit_parts(struct round *out, const struct shape *g, size_t first, size_t n,
                              struct ref src)
{
    for (size_t i = first, taken; i < first + n; i += taken) {
        unsigned q = (unsigned)((g->rank + i) % g->size);
        taken = parts_together(g, q, first + n - i);
        size_t elements = parts_from(g, i, taken);
        emit_on_parts(out, g,
                      (struct step){.kind = STEP_COPY, .dst = out_part(g, q), .a = src, .b = src},
                      taken, elements);
        src = further(src, elements);
    }
}

#endif
