/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placed messages are put straight into the receiver's OUT, not into its window.
 *
 * A receiver advertises the places in OUT to the sender when the call starts. The message may
 * arrive at any time from then until its wait ends. So it may be placed in a stretch of OUT only if
 * that makes no difference to the schedule:
 *
 *   L1  one step copies the whole message there, and only this step and puts read the message;
 *   L2  no other step writes there;
 *   L3  no step reads that stretch of OUT before this copy;
 *   L4  in place: no step ever reads the part of IN that lies there;
 *   L5  no neighbour reads the message.
 *
 * Then the copy is left out, and puts that pass the message on send it from OUT. The rules depend
 * on nothing but the schedule: the compiler applies them, and test/verify proves them for every
 * schedule.
 */
#ifndef NCOLL_LIB_PLACED_H
#define NCOLL_LIB_PLACED_H

#include "algos/schedule.h"

/* A message that may be placed in OUT. */
struct placed {
    unsigned slot, peer; /* slot of the message, and its sender */
    size_t at, count;    /* place in OUT: first element, number of elements */
    bool apart;          /* L4 does not hold: placed only if IN and OUT do not overlap */
};

/* The starts of the blocks of a buffer, in elements. Without counts, at[q] is the start of block q.
 * With counts, blocks lie side by side, and at[i] is the start of block i * STARTS_EVERY. at NULL:
 * no starts are stored. */
struct starts {
    const size_t *at, *counts;
};
#define STARTS_EVERY 16u

/* Returns the number of starts that are stored for n blocks with counts. */
static inline unsigned starts_in(unsigned n)
{
    return (n + STARTS_EVERY - 1) / STARTS_EVERY;
}

/* Returns the start of block q, in elements. */
static inline size_t ncoll__start_of(const struct starts *starts, size_t q)
{
    size_t i = q - q % STARTS_EVERY, start;

    if (starts->counts == NULL)
        return starts->at[q];
    for (start = starts->at[i / STARTS_EVERY]; i < q; i++)
        start += starts->counts[i];
    return start;
}

/* The starts of the blocks of IN and OUT. If none are stored, a block begins every in_each or
 * out_each elements; these are 0 for a vector. */
struct block_starts {
    struct starts in, out;
    size_t in_each, out_each;
};

/* Returns the start of the block of IN or OUT in which `ref` lies, in elements. */
static inline size_t ncoll__block_start(const struct block_starts *places, struct ref ref)
{
    const struct starts *starts = ref.buffer == BUF_IN ? &places->in : &places->out;

    if (starts->at != NULL)
        return ncoll__start_of(starts, ref.block);
    return ref.block * (ref.buffer == BUF_IN ? places->in_each : places->out_each);
}

/* Returns, for a call in place, the element of OUT at which element 0 of IN lies. */
static inline ptrdiff_t ncoll__in_place_shift(const struct shape *g, struct block_starts places)
{
    bool in_blocks = in_form(g->collective) == FORM_BLOCKS;
    bool out_blocks = out_form(g->collective) == FORM_BLOCKS;

    if (!in_blocks && out_blocks)
        return (ptrdiff_t)ncoll__block_start(&places, out_block(g->rank, 0));
    if (in_blocks && !out_blocks)
        return -(ptrdiff_t)ncoll__block_start(&places, in_block(g->rank, 0));
    return 0;
}

/* True if `block` is one of the blocks of an uneven step: first, first + by, first + 2 by, ..,
 * first + more by. */
static inline bool ncoll__uneven_has(unsigned first, ptrdiff_t by, unsigned more, unsigned block)
{
    ptrdiff_t apart = (ptrdiff_t)block - (ptrdiff_t)first;

    return apart % by == 0 && apart / by >= 0 && apart / by <= (ptrdiff_t)more;
}

/* Lists the messages of at least `least` elements that may be placed in OUT on one rank, in the
 * order of the steps that copy them. `out` has room for one message per slot. Returns their
 * number. */
unsigned ncoll__list_placed(const struct shape *g, const struct step *steps, unsigned n_steps,
                            struct block_starts places, size_t least, struct placed *out);

#endif
