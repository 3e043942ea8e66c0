/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trace of a context (NCOLL_TRACE): a ring in memory that has the latest events of this rank.
 * It is written to a file of this rank when the context is destroyed; `ncoll-explain timeline`
 * merges the files of all ranks. Without a trace ctx->trace is NULL, and nothing is recorded.
 */
#ifndef NCOLL_LIB_BASE_TRACE_H
#define NCOLL_LIB_BASE_TRACE_H

#include <stddef.h>
#include <stdint.h>

struct algorithm;
struct ncoll_context;

/* The kinds of events, and the words by which the file and the time-line name them. */
#define TRACE_KINDS(X)                                                                             \
    X(CALL, "call")       /* a call of the user's, from its first run to its end */                \
    X(OWN, "own")         /* as CALL, for a call of the library's own */                           \
    X(PUT, "put")         /* a message is put */                                                   \
    X(CREDIT, "credit")   /* the rank waits until it may put: for room, or for a credit */         \
    X(WAIT, "wait")       /* the rank waits for a message, until it sees it */                     \
    X(LOOK, "look")       /* as WAIT, for a message in the window of a neighbour */                \
    X(COMBINE, "combine") /* the rank combines two vectors */                                      \
    X(COPY, "copy")                                                                                \
    X(AWAY, "away") /* the rank was away from its core, so that it now blocks */

enum trace_kind {
#define X(kind, word) TRACE_##kind,
    TRACE_KINDS(X)
#undef X
};

/* An event. Below, CALL stands for TRACE_CALL and TRACE_OWN; fields for CALL only are marked so. */
struct trace_event {
    uint64_t begin_ns, end_ns;
    uint64_t group;                    /* name of the group */
    uint64_t epoch;                    /* epoch of the run; CALL: of its last run */
    uint64_t bytes;                    /* of the step; CALL: of the longer one of IN and OUT */
    uint64_t number;                   /* CALL only: number of the call among those of the group */
    int32_t peer;                      /* world rank of the peer; LOOK: of the receiver; -1: none */
    uint32_t slot;                     /* slot of the receiver */
    uint32_t radix;                    /* CALL only */
    int16_t status;                    /* CALL only: the status with which it has ended */
    uint8_t kind;                      /* enum trace_kind */
    uint8_t collective;                /* CALL only */
    const struct algorithm *algorithm; /* CALL only */
};

struct trace {
    struct trace_event *events; /* event i is at i % capacity */
    uint64_t count, capacity;   /* count: number of events so far */
    uint64_t now_ns;            /* when the latest step ended, and the next one begins */
};

/* Makes the trace if the settings ask for one. If there is no memory for it, the context has no
 * trace, which is logged. */
void ncoll__trace_create(struct ncoll_context *ctx);

/* Returns a new event; it takes the place of the oldest one if the ring is full. */
static inline struct trace_event *ncoll__trace_add(struct trace *t)
{
    return &t->events[t->count++ % t->capacity];
}

/* Writes the trace, if there is one, to its file, and frees it. A failure to write is logged. */
void ncoll__trace_end(struct ncoll_context *ctx);

#endif
