/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps of schedules, and how algorithms emit them: see algos/schedule.h.
 */
#ifndef NCOLL_ALGOS_STEPS_H
#define NCOLL_ALGOS_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum buffer {
    BUF_IN,        /* the caller's data */
    BUF_OUT,       /* the caller's result */
    BUF_SCRATCH,   /* private to the call, footprint.scratch elements */
    BUF_ARRIVED,   /* the message of a WAIT that has ended, in slot ref.slot */
    BUF_NEIGHBOUR, /* the message of a LOOK that has ended, in the window of ref.rank */
};

/* A place in a symbolic buffer. */
struct ref {
    enum buffer buffer;
    unsigned slot;  /* for BUF_ARRIVED and BUF_NEIGHBOUR */
    unsigned rank;  /* for BUF_NEIGHBOUR; else 0 */
    unsigned block; /* for blocks in BUF_IN and BUF_OUT; else 0 */
    size_t offset;  /* elements, from the start of the message, block or buffer */
};

enum step_kind {
    STEP_PUT,     /* send count elements from a to (peer, slot), and raise the slot there */
    STEP_WAIT,    /* wait until peer has raised this rank's slot; the message has count elements */
    STEP_REDUCE,  /* dst = a op b, in this operand order */
    STEP_TAKEOUT, /* dst = x such that x op b = a; the inverse of a REDUCE with b */
    STEP_COPY,    /* dst = a */
    STEP_LOOK,    /* wait until peer has raised a slot of the neighbour `at` */
    STEP_REPEATED /* in a plan: a repeated local step; algorithms never emit this kind */
};

/* The distance, in blocks or elements, by which an operand moves on each time that a repeated step
 * is done again. */
struct stride {
    ptrdiff_t blocks, elements;
};

struct step {
    enum step_kind kind;
    unsigned peer;    /* rank of the group, for PUT, WAIT and LOOK */
    unsigned slot;    /* slot at the receiver, for PUT, WAIT and LOOK */
    unsigned at;      /* the neighbour whose slot a LOOK looks at; else 0 */
    bool shared_wait; /* for WAIT: neighbours also look at the message */
    struct ref dst, a, b;
    size_t count; /* elements */
    /* A local step may be REPEATED: it is done `more` times after the first time, in order, and
     * each time its operands have moved on by dst_by, a_by and b_by. */
    unsigned more;
    struct stride dst_by, a_by, b_by;
    /* A repeated step on blocks with counts: each time it handles the elements that this run has of
     * one block, that of the operand whose stride is in blocks; `count` is not used. An operand
     * without a stride moves on by the elements that were handled. */
    bool uneven;
};

/* The steps of one round. The caller owns the array `steps`. `full` becomes true, and stays so, if
 * the array is too short. The caller sets `repeats` (for blocks at even distances) or `uneven` (for
 * blocks with counts) to get repeated steps; otherwise the same steps are emitted one by one. */
struct round {
    struct step *steps;
    unsigned count, capacity;
    bool full, repeats, uneven;
};

struct shape;

static inline struct ref in_at(size_t offset)
{
    return (struct ref){.buffer = BUF_IN, .offset = offset};
}
static inline struct ref out_at(size_t offset)
{
    return (struct ref){.buffer = BUF_OUT, .offset = offset};
}
static inline struct ref in_block(unsigned q, size_t offset)
{
    return (struct ref){.buffer = BUF_IN, .block = q, .offset = offset};
}
static inline struct ref out_block(unsigned q, size_t offset)
{
    return (struct ref){.buffer = BUF_OUT, .block = q, .offset = offset};
}
static inline struct ref scratch_at(size_t offset)
{
    return (struct ref){.buffer = BUF_SCRATCH, .offset = offset};
}
static inline struct ref arrived_at(unsigned slot, size_t offset)
{
    return (struct ref){.buffer = BUF_ARRIVED, .slot = slot, .offset = offset};
}

static inline struct ref arrived_at_neighbour(unsigned rank, unsigned slot, size_t offset)
{
    return (struct ref){.buffer = BUF_NEIGHBOUR, .rank = rank, .slot = slot, .offset = offset};
}

static inline void emit(struct round *out, struct step step)
{
    if (out->count == out->capacity)
        out->full = true;
    else
        out->steps[out->count++] = step;
}

static inline void emit_put(struct round *out, unsigned peer, unsigned slot, struct ref src,
                            size_t count)
{
    emit(out,
         (struct step){.kind = STEP_PUT, .peer = peer, .slot = slot, .a = src, .count = count});
}

static inline void emit_wait(struct round *out, unsigned peer, unsigned slot, size_t count)
{
    emit(out, (struct step){.kind = STEP_WAIT, .peer = peer, .slot = slot, .count = count});
}

/* Emits a wait for a message that neighbours look at. */
static inline void emit_shared_wait(struct round *out, unsigned peer, unsigned slot, size_t count)
{
    emit(out,
         (struct step){
             .kind = STEP_WAIT, .peer = peer, .slot = slot, .shared_wait = true, .count = count});
}

/* Emits a wait until the message of rank `peer` has arrived in slot `slot` of neighbour `at`. */
static inline void emit_look(struct round *out, unsigned at, unsigned peer, unsigned slot,
                             size_t count)
{
    emit(out,
         (struct step){.kind = STEP_LOOK, .peer = peer, .slot = slot, .at = at, .count = count});
}

/* If the local step continues the last one in `out`, repeats that one once more, and returns
 * true. */
bool ncoll__repeats_last(struct round *out, const struct step *step);

/* Emits a local step. A step on no elements (as in a barrier) is left out. */
static inline void emit_local(struct round *out, enum step_kind kind, struct ref dst, struct ref a,
                              struct ref b, size_t count)
{
    struct step step = {.kind = kind, .dst = dst, .a = a, .b = b, .count = count};

    if (count > 0 && !(out->repeats && ncoll__repeats_last(out, &step)))
        emit(out, step);
}

/* Emits a local step that is done `times` times. */
void ncoll__emit_repeated(struct round *out, struct step step, size_t times);
/* Emits a local step that is done `times` times on blocks with counts (struct step, `uneven`).
 * Exactly one operand has a stride in blocks; in a copy `a` and `b` count as one operand. */
void ncoll__emit_uneven(struct round *out, const struct shape *g, struct step step, size_t times);
/* Returns the number of elements of the block with which an uneven step begins. */
size_t ncoll__uneven_count(const struct shape *g, const struct step *step);
/* Returns the single step that a repeated step does the i-th time, counted from 0. */
struct step ncoll__step_of(const struct step *step, unsigned i);

static inline struct stride by_blocks(ptrdiff_t blocks)
{
    return (struct stride){.blocks = blocks};
}

static inline struct stride by_elements(ptrdiff_t elements)
{
    return (struct stride){.elements = elements};
}

/* Emits `times` copies of count elements each; dst and src move on by their strides. */
static inline void emit_copies(struct round *out, struct ref dst, struct stride dst_by,
                               struct ref src, struct stride src_by, size_t count, size_t times)
{
    ncoll__emit_repeated(out,
                         (struct step){.kind = STEP_COPY,
                                       .dst = dst,
                                       .a = src,
                                       .b = src,
                                       .count = count,
                                       .dst_by = dst_by,
                                       .a_by = src_by,
                                       .b_by = src_by},
                         times);
}

/* Emits copies of `times` blocks that lie at regular distances in IN or OUT. With counts, each copy
 * has the length of its block. */
void ncoll__emit_block_copies(struct round *out, const struct shape *g, struct ref dst,
                              struct stride dst_by, struct ref src, struct stride src_by,
                              size_t times);

static inline void emit_reduce(struct round *out, struct ref dst, struct ref a, struct ref b,
                               size_t count)
{
    emit_local(out, STEP_REDUCE, dst, a, b, count);
}

static inline void emit_takeout(struct round *out, struct ref dst, struct ref a, struct ref b,
                                size_t count)
{
    emit_local(out, STEP_TAKEOUT, dst, a, b, count);
}

static inline void emit_copy(struct round *out, struct ref dst, struct ref src, size_t count)
{
    emit_local(out, STEP_COPY, dst, src, src, count);
}

#endif
