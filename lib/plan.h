/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans: a schedule made ready to run. A plan belongs to (group, collective, algorithm, radix,
 * count, type, operation) and is made once; calls that repeat reuse it. Symbolic buffers have
 * become (base, byte offset) pairs, so that nothing but additions is left for the hot path.
 *
 * A vector too long for the window is cut into segments: the schedule runs once for each, every run
 * an epoch of its own.
 */
#ifndef NCOLL_LIB_PLAN_H
#define NCOLL_LIB_PLAN_H

#include "algos/schedule.h"
#include "lib/op.h"
#include "transport/transport.h"

enum base {
    BASE_IN,
    BASE_OUT,
    BASE_SCRATCH, /* this epoch's half of the window's scratch */
    BASE_SLOTS,   /* this epoch's half of the slots */
    BASE_BULK,    /* this epoch's half of the bulk area */
    BASES
};

struct operand {
    uint32_t base; /* enum base */
    size_t offset; /* bytes */
};

struct instruction {
    enum step_kind kind;
    unsigned slot;
    int peer;            /* world rank, for PUT and WAIT */
    struct endpoint *to; /* for PUT; set when the plan is wired */
    struct operand dst, a, b;
    size_t count; /* elements */
    size_t len_bytes;
    size_t bulk_offset; /* for PUT, when len_bytes > SLOT_PAYLOAD */
};

struct program {
    struct instruction *instructions;
    unsigned count;
};

struct plan {
    /* the key */
    enum collective collective;
    const struct algorithm *algorithm;
    unsigned radix;
    size_t count;
    ncoll_type type;
    ncoll_op op_number;

    uint64_t card;
    struct op op;
    size_t element;       /* bytes */
    size_t segment;       /* elements that one run handles, >= 1; == count if one run does it all */
    struct program whole; /* for a segment of `segment` elements */
    struct program rest;  /* for the last, shorter one; empty if there is none */
    int *peers;           /* world ranks that it exchanges messages with */
    unsigned n_peers;
    unsigned depth; /* most messages of one peer that can be in flight towards this rank */
    bool wired;
};

struct ncoll_group;
struct call_args;

/* The segment (elements) that the group's window allows; 0 if not even one element fits. */
size_t ncoll__plan_segment(const struct ncoll_group *g, const struct algorithm *algorithm,
                           const struct shape *shape, size_t element, size_t count);

/* Finds or makes the plan of a call; it stays the group's. NCOLL_OK or an error, recorded. */
int ncoll__plan(struct ncoll_group *g, const struct call_args *args, struct plan **out);
/* Forgets all plans of a group. */
void ncoll__plans_free(struct ncoll_group *g);
/* Looks up the endpoints of the plan's puts, once its peers are connected. */
int ncoll__plan_wire(struct ncoll_group *g, struct plan *plan);

#endif
