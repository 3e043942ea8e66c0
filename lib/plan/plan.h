/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans: a schedule made ready to run. A plan belongs to (group, collective, counts, type,
 * operation, root) and is made once; calls that repeat reuse it. Symbolic buffers have become
 * (base, byte offset) pairs, so that nothing but additions is left for the hot path.
 *
 * Vectors and blocks too long for the window are cut into segments of so many elements each: the
 * schedule runs once for each segment (elements i S .. (i+1) S - 1 of every block), every run an
 * epoch of its own, several at once.
 */
#ifndef NCOLL_LIB_PLAN_H
#define NCOLL_LIB_PLAN_H

#include "algos/schedule.h"
#include "lib/plan/landing.h"
#include "lib/compute/op.h"
#include "transport/transport.h"

/* What the user asked for. */
struct call_args {
    enum collective collective;
    const void *in;
    void *out;
    size_t count;
    /* NULL, or [size] of the group: elements of each block and where it starts. Of the side that
     * has blocks; of an alltoall, of OUT, and the other two of IN. */
    const size_t *counts, *displs;
    const size_t *sends, *send_displs;
    int root;
    ncoll_type type;
    ncoll_op op;
    unsigned radix;    /* 0: chosen; for the library's own calls */
    unsigned sync;     /* NCOLL_STRICT_*; of a barrier: what it is part of a strict call for */
    bool needs_counts; /* the user has to give them */
    bool internal;     /* a call of the library's own: what users force does not apply */
    const struct algorithm *algorithm; /* NULL: chosen; for the library's own calls */
    const struct op *own_op;           /* in place of op; of the library's own calls */
    struct card errand; /* what the messages of a call of the library's own say; all 0: itself */
    bool once;          /* its plan is of no use a second time; of the library's own */
};

enum base {
    BASE_IN,
    BASE_OUT,
    BASE_SCRATCH, /* this epoch's part of the window's scratch */
    BASE_SLOTS,   /* the first of this epoch's slots */
    BASE_BULK,    /* this epoch's part of the bulk area */
    BASES,
    /* the same two of the plan's neighbours, one after the other */
    BASES_NEAR = BASES + 2 * NEIGHBOURS_MAX
};

struct operand {
    uint32_t base; /* enum base */
    size_t offset; /* bytes */
};

struct instruction {
    enum step_kind kind;
    unsigned slot;
    unsigned peer;       /* group rank, for PUT, WAIT and LOOK */
    unsigned near;       /* of the plan's neighbours, for LOOK */
    bool watched;        /* a WAIT for what neighbours look at */
    struct endpoint *to; /* for PUT; set when the plan is wired */
    struct operand dst, a, b;
    bool staged; /* a PUT from a copy in scratch, a COPY to there */
    bool lands;  /* a PUT or COPY of a message that may have landed in OUT; a WAIT for one */
    bool apart;  /* a WAIT: it may only if IN and OUT are apart */
    unsigned char shows; /* a PUT to a rank of the node: enum shows */
    unsigned char
        reads;       /* long messages that may be shown, or lent, to this rank: READS_A, READS_B */
    bool far;        /* a PUT of such a message to another node */
    unsigned landed; /* the slot of what a is, if it lands or is read; */
    unsigned landed_b;   /* and of b */
    struct operand user; /* of a PUT: the source of the copy; where the message has landed */
    size_t count;        /* elements */
    size_t len_bytes;
    size_t bulk_offset; /* for PUT, when len_bytes > SLOT_PAYLOAD */
    uint64_t amount;    /* of the card, for PUT and WAIT */
};

/* From where a put may be shown: from scratch (that of the run, or a copy there); from IN. LENDS:
 * it may be lent, from IN or OUT. */
enum shows { SHOWS_SCRATCH = 1, SHOWS_IN = 2, LENDS = 4 };
enum reads { READS_A = 1, READS_B = 2 };

struct program {
    uint64_t first_segment;   /* the first that it is for */
    size_t longest_staged;    /* bytes of the longest PUT that is staged */
    bool in_is_overwritten;   /* in place, by OUT: something that is put from IN */
    bool stages_for_far;      /* some PUT that is staged goes to another node */
    bool stages_unlent;       /* some PUT that is staged cannot be lent: copies are needed */
    bool lent_is_overwritten; /* in place, by OUT: something that is lent from IN, unanswered */
    struct instruction *instructions;
    unsigned count, capacity;
    struct landing *landings; /* by sender */
    unsigned n_landings;
};

/* A rank of the node at whose slots this one looks. */
struct neighbour {
    unsigned rank;             /* of the group */
    struct window_view window; /* set when the plan is wired */
};

struct plan {
    struct call_args key; /* no buffers; the arrays are the plan's */
    size_t longest;       /* see ncoll__plan() */
    const struct algorithm *algorithm;
    unsigned radix;
    struct card card;
    struct op op;
    size_t element;    /* bytes */
    size_t segment;    /* S, elements, >= 1 */
    uint64_t segments; /* >= 1 */
    unsigned lanes;    /* of them that go on at once */
    unsigned from;     /* enum choice_from; */
    const char *why;   /* and what for, in words */
    struct program *programs;
    unsigned n_programs;
    unsigned *peers;     /* ranks of the group to connect */
    unsigned *distances; /* to the right, of each */
    unsigned n_peers;
    unsigned *senders; /* group ranks that put to this one */
    unsigned n_senders;
    struct neighbour neighbours[NEIGHBOURS_MAX];
    unsigned n_neighbours;
    unsigned depth; /* most messages of one peer that can be in flight towards this rank */
    bool synchronises;
    bool shares;          /* ranks look at slots of their neighbours */
    bool has_bulk;        /* some put is longer than a slot */
    bool stages;          /* some put is staged */
    bool shows_in;        /* some put may be shown from IN */
    bool lends;           /* some put may be lent */
    enum lending lending; /* whether all peers to whom it lends may fetch, once that is known */
    uint64_t inviting;    /* segments, from the first one, whose messages land alike; 0: none do */
    size_t in_bytes, out_bytes; /* of IN and OUT, to the end of the last block; 0: there is none */
    bool wired;
    bool kept;      /* the group knows it; else it goes with its last user */
    unsigned users; /* calls that have not ended */
};

struct ncoll_group;

/* The largest segment (elements of the longest block) that the group's window allows; 0 if not even
 * one element fits. */
size_t ncoll__plan_segment(const struct ncoll_group *g, const struct algorithm *algorithm,
                           const struct shape *shape, size_t element, size_t longest);

/*
 * Finds or makes the plan of a call, which has been checked, for one more user. longest: elements
 * of the longest block on any rank, where this rank cannot know it (alltoall with counts); else 0.
 * NCOLL_OK or an error, recorded.
 */
int ncoll__plan(struct ncoll_group *g, const struct call_args *args, size_t longest,
                struct plan **out);
/* Whether what the arrays of the arguments hold, if there are any, is what the plan was made for.
 */
bool ncoll__same_arrays(const struct ncoll_group *g, const struct plan *plan,
                        const struct call_args *args);
void ncoll__plan_leave(struct ncoll_group *g, struct plan *plan);
/* Forgets all plans of a group; those in use go with their last users. */
void ncoll__plans_free(struct ncoll_group *g);
/* Looks up the endpoints of the plan's puts, once its peers are connected. */
int ncoll__plan_wire(struct ncoll_group *g, struct plan *plan);

#endif
