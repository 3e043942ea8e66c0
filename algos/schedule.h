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
 * follow; false past the last round. It knows (collective, rank, size, root, counts, radix,
 * nodes) and speaks of symbolic buffers; it knows no transport, clock, pointer or rank's memory.
 * The executor (lib/), the verifier (test/verify) and ncoll-explain run the same function.
 *
 * What a collective does, with P ranks, rank p, root s. x_q is what rank q brings in IN: a vector,
 * or P blocks x_q[0..P-1]. o is the operation, applied in rank order unless it commutes.
 *
 *                      IN                       OUT
 *     barrier          -                        -
 *     bcast            vector, at s only        vector: x_s
 *     reduce           vector                   vector, at s only: x_0 o .. o x_{P-1}
 *     allreduce        vector                   vector: x_0 o .. o x_{P-1}
 *     scan, exscan     vector                   vector: x_0 o .. o x_p, or up to x_{p-1}; rank 0 of
 *                                               an exscan has none, and does not write OUT
 *     gather           vector                   P blocks, at s only: block q is x_q
 *     allgather        vector                   P blocks: block q is x_q
 *     scatter          P blocks, at s only      vector: x_s[p]
 *     alltoall         P blocks                 P blocks: block q is x_q[p]
 *     reduce-scatter   P blocks                 vector: x_0[p] o .. o x_{P-1}[p]
 *
 * Counts. Vectors and blocks have g->count elements, and blocks lie side by side: a step may go on
 * from one into the next. With g->counts block q (and the vector that stands for it on rank q) has
 * counts[q] elements, and no step leaves its block. In an alltoall counts[q] is what this rank gets
 * from q, sends[q] what it sends to q. Messages of no elements are sent all the same, as a word
 * that a rank has come, but for a gather, a scatter or an alltoall with counts, where both sides
 * know that there is nothing and nobody waits for such a word. An allgather has to send them:
 * rings, and all that goes round, SYNCHRONISE by them.
 *
 * In place. IN and OUT may be the same memory: where both are vectors or both P blocks, all of it;
 * a vector IN is block p of OUT (gather: at s); a vector OUT is block p of IN (scatter: at s). A
 * schedule has to come out right both ways. Reduce-scatter and alltoall are not done in place.
 *
 * Rules that every schedule keeps, and that the verifier checks for all ranks:
 *  - a put and the wait for it are matched by (receiver, slot): exactly one put and one wait for
 *    each slot used, in every call; the wait names the putting rank and the count;
 *  - a landed message may be read, and put, from its wait to the end of the call, and is never
 *    written;
 *  - what a put sends is not written later in the same call. In place, IN is not OUT in that: what
 *    was put from IN may be overwritten by writing OUT, so that the executor must not leave such a
 *    put to be read from there later on;
 *  - IN is not written (other than by writing OUT, in place); OUT is not read before it is written,
 *    and nothing of it is written but what the collective gives;
 *  - in collectives that an algorithm `answers` what a rank puts from IN has been read by its
 *    receiver for the last time, as messages say, when the rank ends, or overwrites it in place;
 *  - slots and scratch are used again some calls later, see lib/call/credit.h: the executor sees to
 * it that a rank is not overrun. A schedule that SYNCHRONISES (the end of the call on any rank
 *    depends on the entry of every rank) needs no help in that.
 *
 * Shared notifications. On nodes whose ranks see each other's windows (nodes->shared) a schedule
 * that SHARES may have a rank LOOK at a slot of a neighbour, a rank of its node: until the message
 * of some rank has come there, to be read where it lies. The receiver waits for it as for any other
 * message, by a wait that says so (WATCHED); how many neighbours look at it, and when, is up to
 * them.
 *  - a schedule that SHARES SYNCHRONISES: a slot is written again when all ranks, not the receiver
 *    alone, are known to have ended the call;
 *  - what is read there is never put (no device of this rank's knows that memory) nor written, and
 *    does not land in the receiver's OUT;
 *  - a rank looks at slots of at most NEIGHBOURS_MAX neighbours.
 */
#ifndef NCOLL_ALGOS_SCHEDULE_H
#define NCOLL_ALGOS_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RADIX_MAX      16
#define RADICES_MAX    7    /* numbers in a list */
#define SLOTS_MAX      4096 /* notification slots of one call, per receiver */
#define NEIGHBOURS_MAX 4    /* whose slots a rank looks at in one call */

/* Numbers go over the wire: append, never reorder. */
enum collective {
    COLL_BARRIER = 1,
    COLL_ALLREDUCE,
    COLL_BCAST,
    COLL_REDUCE,
    COLL_GATHER,
    COLL_SCATTER,
    COLL_ALLGATHER,
    COLL_ALLTOALL,
    COLL_REDUCE_SCATTER,
    COLL_SCAN,
    COLL_EXSCAN,
    COLLECTIVES /* one more than the last */
};

/*
 * A radix is a number n, or a list n_1, .., n_k of such numbers, one for each round, the last of
 * which goes on for the rounds after k. A list is packed into a word, k in the upper four bits and
 * n_l - 1 in four others, so that it is compared and handed on like a number. Equal lists are equal
 * words: 3,2,2 is 3,2 and 2,2 is 2.
 */
static inline bool radix_is_list(unsigned radix)
{
    return radix >> 28 != 0;
}

/* Numbers in it. */
static inline unsigned radix_length(unsigned radix)
{
    unsigned k = radix >> 28;

    return k == 0 ? 1 : k < RADICES_MAX ? k : RADICES_MAX;
}

/* n_l, l from 1 */
static inline unsigned radix_of_round(unsigned radix, unsigned l)
{
    unsigned k = radix_length(radix);

    return radix_is_list(radix) ? (radix >> 4 * ((l < k ? l : k) - 1) & 15) + 1 : radix;
}

/* 0 if one of them is out of range, or there are too many. */
unsigned ncoll__radix_list(const unsigned *n, unsigned k);
bool ncoll__radix_is_valid(unsigned radix);

#define RADIX_TEXT 32
/* "3" or "3,2" into text. Returns text. */
const char *ncoll__radix_text(unsigned radix, char text[RADIX_TEXT]);
/* The other way round; 0 if it is none. */
unsigned ncoll__radix_parse(const char *text);

/*
 * Which ranks share a node. Nodes are numbered by their first ranks: node 0 is that of rank 0. The
 * ranks of node k are ranks[first[k]], .., ranks[first[k + 1] - 1], in ascending order; a rank's
 * place among them is its local rank.
 */
struct nodes {
    unsigned count;
    unsigned fewest, most; /* ranks on one of them */
    bool in_blocks;        /* ranks follow on each other, node by node */
    bool shared;           /* ranks of a node see each other's windows */
    const unsigned *of;    /* [P]: the node of each rank */
    const unsigned *local; /* [P]: its local rank */
    const unsigned *ranks; /* [P] */
    const unsigned *first; /* [count + 1] */
};

static inline unsigned ranks_on(const struct nodes *nodes, unsigned k)
{
    return nodes->first[k + 1] - nodes->first[k];
}

/* The rank that has this local rank on node k. */
static inline unsigned rank_on(const struct nodes *nodes, unsigned k, unsigned local)
{
    return nodes->ranks[nodes->first[k] + local];
}

#define NODES_ROOM(P) (4 * (size_t)(P) + 1)
/* From something that is the same for ranks of a node, and for no others. room: NODES_ROOM(P), that
 * the result goes on pointing to. */
void ncoll__nodes_of(const uint64_t *ids, unsigned P, unsigned *room, struct nodes *out);

/* What one rank must know to write its part of a schedule. */
struct shape {
    enum collective collective;
    unsigned rank;        /* p, 0..size-1 */
    unsigned size;        /* P, >= 1 */
    unsigned root;        /* s; 0 where the collective has none */
    unsigned radix;       /* n, 1..RADIX_MAX: messages that a rank sends at once; or a list of n */
    size_t count;         /* elements of the vector or of each block; 0 for a barrier */
    const size_t *counts; /* NULL, or [size]: elements of each block */
    const size_t *sends;  /* alltoall with counts: [size]; else NULL */
    bool inverse;         /* the operation has an inverse: TAKEOUT is allowed */
    const struct nodes *nodes; /* NULL: nothing is known of them */
};

/* Elements of block q. */
static inline size_t block_count(const struct shape *g, unsigned q)
{
    return g->counts != NULL ? g->counts[q] : g->count;
}

/* Whether a message of so many elements is left out by both sides: see above. */
static inline bool has_no_message(const struct shape *g, size_t count)
{
    bool one_way = g->collective == COLL_GATHER || g->collective == COLL_SCATTER;

    return count == 0 && g->counts != NULL && (one_way || g->sends != NULL);
}

/* Elements of the longest block. */
static inline size_t longest_block(const struct shape *g)
{
    size_t longest = g->counts != NULL ? 0 : g->count;

    for (unsigned q = 0; g->counts != NULL && q < g->size; q++)
        longest = g->counts[q] > longest ? g->counts[q] : longest;
    return longest;
}

/* What a buffer of the user's is made of, where there is one. */
enum data_form {
    FORM_NONE,
    FORM_VECTOR,
    FORM_BLOCKS,
};

static inline enum data_form in_form(enum collective c)
{
    switch (c) {
    case COLL_BARRIER:
        return FORM_NONE;
    case COLL_SCATTER:
    case COLL_ALLTOALL:
    case COLL_REDUCE_SCATTER:
        return FORM_BLOCKS;
    default:
        return FORM_VECTOR;
    }
}

static inline enum data_form out_form(enum collective c)
{
    switch (c) {
    case COLL_BARRIER:
        return FORM_NONE;
    case COLL_GATHER:
    case COLL_ALLGATHER:
    case COLL_ALLTOALL:
        return FORM_BLOCKS;
    default:
        return FORM_VECTOR;
    }
}

/* Whether rank p has an IN, an OUT in this call. */
static inline bool has_in(const struct shape *g)
{
    bool at_root = g->collective == COLL_BCAST || g->collective == COLL_SCATTER;
    return in_form(g->collective) != FORM_NONE && (!at_root || g->rank == g->root);
}

static inline bool has_out(const struct shape *g)
{
    bool at_root = g->collective == COLL_REDUCE || g->collective == COLL_GATHER;
    bool none = g->collective == COLL_EXSCAN && g->rank == 0;
    return out_form(g->collective) != FORM_NONE && !none && (!at_root || g->rank == g->root);
}

static inline bool reduces(enum collective c)
{
    return c == COLL_ALLREDUCE || c == COLL_REDUCE || c == COLL_REDUCE_SCATTER || c == COLL_SCAN ||
           c == COLL_EXSCAN;
}

static inline bool is_rooted(enum collective c)
{
    return c == COLL_BCAST || c == COLL_REDUCE || c == COLL_GATHER || c == COLL_SCATTER;
}

enum buffer {
    BUF_IN,      /* the caller's data */
    BUF_OUT,     /* the caller's result */
    BUF_SCRATCH, /* private to the call, footprint.scratch elements */
    BUF_LANDED,  /* the message that a WAIT has seen; ref.slot says which */
    BUF_NEAR,    /* the message that a LOOK has seen, in the window of ref.rank */
};

/* A place in a symbolic buffer. */
struct ref {
    enum buffer buffer;
    unsigned slot;  /* for BUF_LANDED and BUF_NEAR */
    unsigned rank;  /* for BUF_NEAR; else 0 */
    unsigned block; /* for BUF_IN and BUF_OUT that are blocks; else 0 */
    size_t offset;  /* elements, from the start of the message, block or buffer */
};

enum step_kind {
    STEP_PUT,     /* send count elements at a to (peer, slot) and raise the slot there */
    STEP_WAIT,    /* until own slot is raised by peer; the message has count elements */
    STEP_REDUCE,  /* dst = a op b, in this operand order */
    STEP_TAKEOUT, /* dst = a op^-1 b: what a was before b was combined into it */
    STEP_COPY,    /* dst = a */
    STEP_LOOK,    /* until a neighbour's slot is raised by peer, as STEP_WAIT there */
};

struct step {
    enum step_kind kind;
    unsigned peer; /* group rank, for PUT, WAIT and LOOK */
    unsigned slot; /* the receiver's slot, the same */
    unsigned at;   /* the receiver, for LOOK; else 0 */
    bool watched;  /* neighbours look at it, for WAIT */
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
static inline struct ref landed_at(unsigned slot, size_t offset)
{
    return (struct ref){.buffer = BUF_LANDED, .slot = slot, .offset = offset};
}

static inline struct ref landed_near(unsigned rank, unsigned slot, size_t offset)
{
    return (struct ref){.buffer = BUF_NEAR, .rank = rank, .slot = slot, .offset = offset};
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

/* A wait for a message that neighbours look at. */
static inline void emit_wait_watched(struct round *out, unsigned peer, unsigned slot, size_t count)
{
    emit(out, (struct step){
                  .kind = STEP_WAIT, .peer = peer, .slot = slot, .watched = true, .count = count});
}

/* Until the message of rank `peer` has come to this slot of rank `at`. */
static inline void emit_look(struct round *out, unsigned at, unsigned peer, unsigned slot,
                             size_t count)
{
    emit(out,
         (struct step){.kind = STEP_LOOK, .peer = peer, .slot = slot, .at = at, .count = count});
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

/*
 * What a schedule needs at most on any rank; the same on all ranks of a group (but for an alltoall
 * with counts, where each rank computes its own). All but slots grow with the counts, and no
 * faster: with one count, footprint(c) <= c * footprint(1). The peers of a rank do not depend on
 * counts (where there is no message for no elements some are left out).
 */
struct footprint {
    unsigned slots; /* notification slots used: 0..slots-1, <= SLOTS_MAX */
    size_t scratch; /* elements of BUF_SCRATCH */
    size_t message; /* elements of the longest message */
    size_t sent;    /* elements of IN and OUT that are put, each place counted once */
};

enum property {
    /* what it asks of the operation */
    NEEDS_COMMUTATIVE = 1u << 0,
    NEEDS_IDEMPOTENT = 1u << 1, /* some contributions are combined more than once */
    /* what it promises */
    GIVES_SAME_BITS = 1u << 2, /* every rank that gets a result evaluates the same expression */
    SYNCHRONISES = 1u << 3,    /* the end of the call on any rank depends on the entry of all */
    /* what it does with the radix */
    USES_RADIX = 1u << 4,
    TAKES_LIST = 1u << 8, /* the radix may be a list; no such algorithm has a root */
    /* about its peers: they lie at the same distances from every rank; they would if the ranks were
     * counted from the root */
    SAME_DISTANCES = 1u << 5,
    ROTATES = 1u << 6,
    /* its alltoall cannot deal with counts that differ; whatever else it does can */
    REGULAR_ONLY = 1u << 7,
    /* ranks look at their neighbours' slots: see above. Exists where nodes->shared only */
    SHARES = 1u << 9,
    /* with counts that differ it packs in scratch what it puts from IN and OUT otherwise, at most
     * as much of it as is put from there with even ones */
    PACKS_UNEVEN = 1u << 10,
};

struct algorithm {
    const char *name;     /* as users write it: "dissemination" */
    const char *summary;  /* one line */
    const char *source;   /* the paper */
    unsigned collectives; /* bits 1u << enum collective */
    unsigned properties;  /* enum property */
    /* Bits of collectives in which what a rank puts from IN, long or short, is answered: the
     * receiver has read the message for the last time before, in the order that messages make, the
     * sender's end of the call, and before it overwrites in place what it has put. */
    unsigned answers;
    /* Whether it exists for this collective, size, root, radix and nodes; NULL: for all. Does not
     * depend on g->rank and counts. */
    bool (*exists)(const struct shape *g);
    /* Does not depend on g->rank. */
    struct footprint (*footprint)(const struct shape *g);
    bool (*round)(const struct shape *g, unsigned r, struct round *out);
};

/* NULL-terminated; the index + 1 is the algorithm's number on the wire. */
extern const struct algorithm *const ncoll__algorithms[];

/* By name; NULL if there is none. */
const struct algorithm *ncoll__algorithm_find(const char *name);
unsigned ncoll__algorithm_number(const struct algorithm *algorithm);

static inline bool algorithm_exists(const struct algorithm *a, const struct shape *g)
{
    bool serves = (a->collectives & 1u << g->collective) != 0 &&
                  (a->properties & TAKES_LIST || !radix_is_list(g->radix));
    return serves && (a->exists == NULL || a->exists(g));
}

#endif
