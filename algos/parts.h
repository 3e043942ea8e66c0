/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data in parts, one for each rank, numbered around the ring: part q and part q + P are the
 * same. In a collective that has blocks a part is a block. In an allreduce it is one of P slices of
 * the vector, whose lengths differ by at most one: slice q goes from element floor(q count / P) to
 * floor((q+1) count / P).
 */
#ifndef NCOLL_ALGOS_PARTS_H
#define NCOLL_ALGOS_PARTS_H

#include "algos/schedule.h"

/* True for collectives that contain the first phase, and the second phase, of an allreduce. Each
 * phase is also a collective of its own. */
static inline bool scatters(const struct shape *g)
{
    return g->collective != COLL_ALLGATHER;
}

static inline bool gathers(const struct shape *g)
{
    return g->collective != COLL_REDUCE_SCATTER;
}

/* Returns the elements of parts 0..i-1. */
static inline size_t parts_before(const struct shape *g, size_t i)
{
    size_t elements = 0;

    if (g->collective == COLL_ALLREDUCE)
        return i * (g->count / g->size) + i * (g->count % g->size) / g->size;
    if (g->counts == NULL)
        return i * g->count;
    for (size_t q = 0; q < i; q++)
        elements += g->counts[q % g->size];
    return elements;
}

/* Returns the elements of n parts, the first of which belongs to the rank at distance `first` to
 * the right. */
static inline size_t parts_from(const struct shape *g, size_t first, size_t n)
{
    size_t elements = 0;

    if (g->counts == NULL)
        return parts_before(g, g->rank + first + n) - parts_before(g, g->rank + first);
    for (size_t i = first; i < first + n; i++)
        elements += g->counts[(g->rank + i) % g->size];
    return elements;
}

/* Returns the most elements that n <= P neighbouring parts have. */
static inline size_t longest_parts(const struct shape *g, size_t n)
{
    size_t these = parts_before(g, n), longest = these;

    if (g->collective == COLL_ALLREDUCE)
        return these + (n * (g->count % g->size) % g->size > 0);
    for (size_t q = 0; g->counts != NULL && q + 1 < g->size; q++) {
        these += g->counts[(q + n) % g->size] - g->counts[q];
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

/* Returns how many of the n parts from q on one step may take together; it may be repeated. */
static inline size_t parts_together(const struct shape *g, unsigned q, size_t n)
{
    size_t side_by_side = g->counts != NULL ? 1 : g->size - q;
    return n < side_by_side ? n : side_by_side;
}

/* Emits a local step on n parts, which parts_together() allows, with `elements` in all. `part` is
 * the operand that is in IN or OUT; the others are contiguous. The step is repeated, part by part,
 * if parts are separate. */
static inline void emit_on_parts(struct round *out, const struct shape *g, struct step step,
                                 size_t n, size_t elements)
{
    bool each = g->separate && n > 1;
    struct stride parts = by_blocks(1), further = by_elements((ptrdiff_t)g->count);

    step.count = each ? g->count : elements;
    step.dst_by = step.dst.buffer == BUF_OUT ? parts : further;
    step.a_by = step.a.buffer == BUF_IN ? parts : further;
    step.b_by = step.b.buffer == BUF_IN ? parts : further;
    ncoll__emit_repeated(out, step, each ? n : 1);
}

static inline struct ref further(struct ref ref, size_t elements)
{
    ref.offset += elements;
    return ref;
}

/* Copies n parts that are contiguous at src to their places in OUT. */
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
