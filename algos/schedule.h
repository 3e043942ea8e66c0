/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedules: what an algorithm is made of.
 *
 * An algorithm is a pure function
 *
 *     bool round(const struct shape *g, unsigned r, struct round *out);
 *
 * that emits, for one rank, round r of one collective, as steps carried out in order: the notified
 * PUTs it issues, the notifications it WAITs for, the local REDUCE, TAKEOUT and COPY steps that
 * follow; false past the last round. It knows (rank, size, count, radix) and speaks of symbolic
 * buffers; it knows no transport, clock, pointer or rank's memory. The executor (lib/), the
 * verifier (test/verify) and ncoll-explain run the same function.
 *
 * Rules that every schedule keeps, and that the verifier checks for all ranks:
 *  - a put and the wait for it are matched by (receiver, slot): exactly one put and one wait for
 * each slot used, in every call; the wait names the putting rank;
 *  - a landed message may be read from its wait to the end of the call, and is never written;
 *  - what a put sends (IN or SCRATCH) is not written later in the same call;
 *  - IN is never written; OUT is never read before it is written, never put; once any of OUT has
 * been written IN is not read any more, except as an operand of the very step that writes it at the
 * same place (so in == out works);
 *  - the end of the call on any rank depends on the entry of every rank. Together with two sets of
 *    slots used in turn (see transport/transport.h) this makes reuse of slots and scratch safe.
 */
#ifndef NCOLL_ALGOS_SCHEDULE_H
#define NCOLL_ALGOS_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RADIX_MAX 16
#define SLOTS_MAX 128 /* notification slots of one call, per receiver */

/* What one rank must know to write its part of a schedule. */
struct shape {
    unsigned rank;  /* p, 0..size-1 */
    unsigned size;  /* P, >= 1 */
    unsigned radix; /* n, 1..RADIX_MAX: messages that a rank sends at once */
    size_t count;   /* elements of the vector that is reduced; 0 for a barrier */
    bool inverse;   /* the operation has an inverse: TAKEOUT is allowed */
};

enum buffer {
    BUF_IN,      /* the caller's vector, count elements */
    BUF_OUT,     /* the caller's result, count elements */
    BUF_SCRATCH, /* private to the call, footprint.scratch elements */
    BUF_LANDED,  /* the message that a WAIT has seen; ref.slot says which */
};

/* A place in a symbolic buffer; offset in elements. */
struct ref {
    enum buffer buffer;
    unsigned slot; /* for BUF_LANDED */
    size_t offset;
};

enum step_kind {
    STEP_PUT,     /* send count elements at a to (peer, slot) and raise the slot there */
    STEP_WAIT,    /* until own slot is raised by peer; the message has count elements */
    STEP_REDUCE,  /* dst = a op b, in this operand order */
    STEP_TAKEOUT, /* dst = a op^-1 b: what a was before b was combined into it */
    STEP_COPY,    /* dst = a */
};

struct step {
    enum step_kind kind;
    unsigned peer; /* group rank, for PUT and WAIT */
    unsigned slot; /* the receiver's slot, for PUT and WAIT */
    struct ref dst, a, b;
    size_t count; /* elements */
};

/* Steps of one round. The caller owns the array; `full` sticks when it was too small for them all.
 */
struct round {
    struct step *steps;
    unsigned count, capacity;
    bool full;
};

static inline struct ref in_at(size_t offset)
{
    return (struct ref){BUF_IN, 0, offset};
}
static inline struct ref out_at(size_t offset)
{
    return (struct ref){BUF_OUT, 0, offset};
}
static inline struct ref scratch_at(size_t offset)
{
    return (struct ref){BUF_SCRATCH, 0, offset};
}
static inline struct ref landed_at(unsigned slot, size_t offset)
{
    return (struct ref){BUF_LANDED, slot, offset};
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

/* Local steps on no elements (a barrier) are left out. */
static inline void emit_local(struct round *out, enum step_kind kind, struct ref dst, struct ref a,
                              struct ref b, size_t count)
{
    if (count > 0)
        emit(out, (struct step){.kind = kind, .dst = dst, .a = a, .b = b, .count = count});
}

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

/* ------------------------------------------------------------------ the registry ------------- */

enum collective {
    COLL_BARRIER = 1,
    COLL_ALLREDUCE = 2,
};

/*
 * What a schedule needs at most on any rank; the same on all ranks of a group. scratch and message
 * grow no faster than count: footprint(c) <= c * footprint(1). The peers of a rank depend on rank,
 * size and radix only.
 */
struct footprint {
    unsigned slots; /* notification slots used: 0..slots-1, <= SLOTS_MAX */
    size_t scratch; /* elements of BUF_SCRATCH */
    size_t message; /* elements of the longest message */
};

enum property {
    /* what it asks of the operation */
    NEEDS_COMMUTATIVE = 1u << 0,
    NEEDS_IDEMPOTENT = 1u << 1, /* some contributions are combined more than once */
    /* what it promises */
    GIVES_SAME_BITS = 1u << 2, /* every rank evaluates the same expression */
    /* what it does with the radix */
    USES_RADIX = 1u << 3,
    /* about its peers: they lie at the same distances from every rank */
    SAME_DISTANCES = 1u << 4,
};

struct algorithm {
    const char *name;     /* as users write it: "dissemination" */
    const char *summary;  /* one line */
    const char *source;   /* the paper */
    unsigned collectives; /* bits 1u << enum collective */
    unsigned properties;  /* enum property */
    /* Whether it exists for this size and radix; NULL: for all. Does not depend on g->rank. */
    bool (*exists)(const struct shape *g);
    /* Does not depend on g->rank. */
    struct footprint (*footprint)(const struct shape *g);
    bool (*round)(const struct shape *g, unsigned r, struct round *out);
};

/* NULL-terminated; the index + 1 is the algorithm's number on the wire (1..15). */
extern const struct algorithm *const ncoll__algorithms[];

/* By name; NULL if there is none. */
const struct algorithm *ncoll__algorithm_find(const char *name);
unsigned ncoll__algorithm_number(const struct algorithm *algorithm);

static inline bool algorithm_exists(const struct algorithm *a, const struct shape *g)
{
    return a->exists == NULL || a->exists(g);
}

#endif
