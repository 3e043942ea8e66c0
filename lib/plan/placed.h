/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placed messages are put straight into the receiver's OUT, not into its window.
 *
 * A receiver advertises these places to the sender when the call starts. The message may arrive at
 * any time from then until its wait ends. So it may be placed in a stretch of OUT only if that
 * makes no difference to the schedule:
 *
 *   L1  all of it is copied there by one step, and is read by that step and by puts only;
 *   L2  no other step writes there;
 *   L3  no step reads there, as OUT, before that copy does;
 *   L4  in place: no step reads IN there, at any time;
 *   L5  no neighbour reads the message.
 *
 * Then the copy is left out, and puts that pass the message on send it from OUT. The rule is pure:
 * the compiler follows it, and test/verify proves it for every schedule.
 */
#ifndef NCOLL_LIB_PLACED_H
#define NCOLL_LIB_PLACED_H

#include "algos/schedule.h"

/* A message that may be placed in OUT. */
struct placed {
    unsigned slot, peer; /* of the wait for the message */
    size_t at, count;    /* its place: elements, from the start of OUT */
    bool apart;          /* only if IN and OUT do not overlap: L4 does not hold */
};

/* The elements before each block of a buffer: at[q] before block q. With counts, blocks lie side by
 * side, and only each STARTS_EVERYth start is there. at NULL: there are none. */
struct starts {
    const size_t *at, *counts;
};
#define STARTS_EVERY 16u

/* Returns the number of starts that are there of n blocks with counts. */
static inline unsigned starts_in(unsigned n)
{
    return (n + STARTS_EVERY - 1) / STARTS_EVERY;
}

/* Returns the elements before block q. */
static inline size_t ncoll__start_of(const struct starts *starts, size_t q)
{
    size_t i = q - q % STARTS_EVERY, start;

    if (starts->counts == NULL)
        return starts->at[q];
    for (start = starts->at[i / STARTS_EVERY]; i < q; i++)
        start += starts->counts[i];
    return start;
}

/* The starts of the blocks of IN and OUT. If there are none, there is a block every in_each or
 * out_each elements; those are 0 for a vector. */
struct block_starts {
    struct starts in, out;
    size_t in_each, out_each;
};

/* Returns the start of a block of IN or OUT. */
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

/* True if an uneven step that goes on from block `first` by so many blocks has the block. */
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
