/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plan is a schedule made ready to run. It belongs to (group, collective, counts, type,
 * operation, root), is made once, and is used again by later calls with the same arguments. Its
 * symbolic buffers are (base, byte offset) pairs, so that the hot path has only additions to do.
 *
 * Vectors and blocks that are too long for the window are cut into segments of S elements each. The
 * schedule runs once for each segment (elements i S .. (i+1) S - 1 of every block). Each run is an
 * epoch of its own, and several run at the same time. If a schedule takes more slots than there
 * are, each segment is done in parts, which are runs as well.
 */
#ifndef NCOLL_LIB_PLAN_H
#define NCOLL_LIB_PLAN_H

#include "algos/schedule.h"
#include "lib/base/arguments.h"
#include "lib/base/run.h"
#include "lib/compute/op.h"
#include "lib/plan/placed.h"
#include "transport/transport.h"

struct operand {
    uint64_t base : 8;    /* enum base */
    uint64_t offset : 56; /* bytes */
};

/* The routes that a message may take, and conditions on them. The compiler notes them for each put
 * and each wait. At the start of a run it is decided which routes are possible for puts from IN and
 * from OUT (struct run.can). */
enum routes {
    MAY_SLOT = 1u << ROUTE_SLOT,
    MAY_BULK = 1u << ROUTE_BULK,
    MAY_PLACED = 1u << ROUTE_PLACED,
    MAY_PEER_READ = 1u << ROUTE_PEER_READ, /* a PUT whose data is in scratch, or is copied there */
    MAY_SINGLE_COPY = 1u << ROUTE_SINGLE_COPY,
    MAY_PEER_READ_IN = 1u << 5, /* a PUT whose data the receiver may read in IN itself */
    FROM_COPY = 1u << 6,        /* a PUT from a copy in scratch, or the COPY that makes it */
    /* `a` is part of a long message, whose place depends on its route */
    FROM_MESSAGE = 1u << 7,
    FROM_MESSAGE_B = 1u << 8, /* `b` is part of such a message */
    /* a PUT that passes on a part of a long message; the device can send it only from the window */
    FROM_WINDOW = 1u << 9,
    IF_APART = 1u << 10, /* a WAIT: placed only if IN and OUT do not overlap */
    /* a run: the device can send from the buffer itself, so that no copy is needed */
    CAN_REGISTERED = 1u << 11,
    NEEDS_COPY = 1u << 12, /* a run: some put needs the copy in scratch */
};

/* The operand of a repeated step that moves on by whole blocks with counts; EVEN: there is none. */
enum uneven { EVEN, UNEVEN_DST, UNEVEN_A, UNEVEN_B };

/* A compiled step. It is small, since plans consist mostly of instructions. */
struct instruction {
    enum step_kind kind : 8;
    unsigned neighbour : 7; /* index in the plan's neighbours; for LOOK */
    bool shared_wait : 1;   /* a WAIT whose message neighbours look at */
    unsigned routes : 16;   /* enum routes; a WAIT with 0: SLOT or BULK only */
    uint16_t slot;
    uint16_t message_a, message_b; /* slots of the messages of FROM_MESSAGE and FROM_MESSAGE_B */
    unsigned peer;                 /* rank of the group; for PUT, WAIT and LOOK */
    struct operand dst, a, b;
    size_t count; /* elements */
    size_t len_bytes;
    union {
        struct { /* a message */
            /* a PUT: its source in the schedule, of which `a` may be a copy; a WAIT: the place of
             * the message in OUT */
            struct operand user;
            size_t bulk_offset;  /* for PUT and WAIT, when len_bytes > SLOT_PAYLOAD */
            uint64_t amount;     /* amount in the signature, for PUT and WAIT */
            struct endpoint *to; /* for PUT; set when the peers of the plan are connected */
        };
        struct {                    /* REPEATED: see struct step */
            unsigned repeated : 16; /* enum step_kind */
            unsigned uneven : 16;   /* enum uneven; if it is not EVEN, `count` is the first block */
            unsigned more;
            /* strides in bytes, or in blocks for an operand that moves on by blocks */
            ptrdiff_t dst_by, a_by, b_by;
        };
    };
};
_Static_assert(sizeof(struct instruction) == 88, "no field has room to spare");
_Static_assert(SLOTS_MAX <= UINT16_MAX && BASES_NEAR < 1 << 8, "they fit");

struct program {
    uint64_t first_segment; /* first segment that this program is for */
    size_t longest_staged;  /* bytes of the longest PUT that sets stages_for_far */
    bool in_is_overwritten; /* in place, OUT overwrites data that is put from IN */
    /* some PUT is staged since the transport cannot send to its receiver from any memory */
    bool stages_for_far;
    bool stages_always; /* some staged PUT cannot be a single copy */
    /* in place, OUT overwrites data of a single copy from IN before it is acknowledged */
    bool single_copy_is_overwritten;
    struct instruction *instructions;
    unsigned count, capacity;
    struct placed *placed; /* messages that may be placed in OUT, sorted by sender */
    unsigned n_placed;
};

/* A rank of the node whose slots this rank looks at. */
struct neighbour {
    unsigned rank;             /* rank of the group */
    struct window_view window; /* set when the peers of the plan are connected */
};

struct plan {
    struct call_args key; /* arguments without buffers; the plan keeps the arrays: see arrays.c */
    /* starts of the blocks of IN and of OUT, in elements; kept like the arrays of the key. None if
     * all blocks have the same count and lie one after the other. */
    struct starts in, out;
    size_t longest; /* see ncoll__plan() */
    const struct algorithm *algorithm;
    unsigned radix;
    struct signature signature;
    struct op op;
    size_t element;    /* bytes of an element */
    size_t segment;    /* S: elements of each block in one segment, >= 1 */
    uint64_t segments; /* number of segments, >= 1 */
    /* number of parts of each segment, >= 1; all segments do a part before any does the next one */
    unsigned parts;
    uint64_t runs;            /* segments x parts */
    unsigned lanes;           /* segments that run at the same time */
    unsigned from;            /* enum choice_from: source of the choice */
    const char *why;          /* reason of the choice in words */
    struct program *programs; /* programs of part 0, then those of part 1, .. */
    unsigned n_programs;
    unsigned *peers;     /* ranks of the group to connect */
    unsigned *distances; /* (rank of each peer - this rank) modulo the group's size */
    unsigned n_peers;
    unsigned *senders; /* ranks of the group that put to this one */
    unsigned n_senders;
    struct neighbour neighbours[NEIGHBOURS_MAX];
    unsigned n_neighbours;
    unsigned depth; /* most messages in flight from one peer to this rank */
    bool synchronises;
    bool shares;     /* ranks look at slots of their neighbours */
    unsigned routes; /* enum routes of all puts together */
    /* the permission of all ranks that get single copies from this rank to read its memory, once
     * known */
    enum single_copy single_copy;
    /* segments, from the first one, whose messages are placed alike; 0: none are placed */
    uint64_t advertised;
    /* bytes of IN and OUT, up to the end of the last block; 0: no buffer, or empty */
    size_t in_bytes, out_bytes;
    size_t longer_bytes; /* the larger of in_bytes and out_bytes */
    /* the era in which the plan was made: see lib/base/known_calls.h */
    unsigned era;
    bool wired; /* the plan's peers are connected */
    /* the plan is in the group's table; if not, it is freed with its last user */
    bool kept;
    /* number of known calls, and of calls that have not ended, that use the plan */
    unsigned users;
    /* number of the latest look-up that found the plan */
    uint64_t looked_up;
    size_t bytes; /* bytes of the plan and all that it points to */
};

struct choice;
struct ncoll_group;

/* Returns the largest segment (elements of the longest block) that fits the group's window; 0 if
 * not even one element fits. */
size_t ncoll__plan_segment(const struct ncoll_group *g, const struct algorithm *algorithm,
                           const struct shape *shape, size_t element, size_t longest);

/* True if the window holds the whole call in one segment, however long its messages are. */
bool ncoll__plan_fits_whole(const struct ncoll_group *g, const struct algorithm *algorithm,
                            const struct shape *shape, size_t element);

/* plan.c: makes the plan of a call for the algorithm that was chosen. Returns NCOLL_OK or an error,
 * which is recorded. */
int ncoll__plan_make(struct ncoll_group *g, const struct call_args *args, size_t longest,
                     const struct op *op, const struct choice *choice, struct plan **out);
/* Frees a plan without users. */
void ncoll__plan_free(struct ncoll_group *g, struct plan *plan);
/* True if the plan was made for calls with these arguments. longest: see ncoll__plan() in
 * lib/choose/planned.h. */
bool ncoll__plan_is_for(const struct ncoll_group *g, const struct plan *plan,
                        const struct call_args *args, size_t longest);
/* True if the arrays of the arguments, if any, hold the numbers that the plan was made for. */
bool ncoll__same_arrays(const struct ncoll_group *g, const struct plan *plan,
                        const struct call_args *args);

/* arrays.c: returns a kept copy of n numbers, which all callers with equal numbers share; NULL: no
 * memory. The copy is freed when each of these callers has left it (ncoll__array_leave()). */
const size_t *ncoll__array_keep(struct ncoll_context *ctx, const size_t *numbers, unsigned n);
/* Keep an array without copying it. ncoll__array_begin() returns room for n numbers, or NULL. The
 * caller writes the numbers there. ncoll__array_end() then returns the kept array, which is another
 * one if equal numbers were kept before. */
size_t *ncoll__array_begin(struct ncoll_context *ctx, unsigned n);
const size_t *ncoll__array_end(struct ncoll_context *ctx, size_t *numbers);
/* Ends the caller's use of a kept array. NULL is allowed. */
void ncoll__array_leave(struct ncoll_context *ctx, const size_t *numbers);
/* Replaces the arrays of the arguments, of n numbers each, by kept copies. Returns false if there
 * is no memory. The arguments then also have to be given to ncoll__arrays_leave(). */
bool ncoll__arrays_keep(struct ncoll_context *ctx, struct call_args *args, unsigned n);
void ncoll__arrays_leave(struct ncoll_context *ctx, const struct call_args *args);

/* table.c: returns the plan for a call from the group's table; NULL: there is none. */
struct plan *ncoll__plan_find(struct ncoll_group *g, const struct call_args *args, size_t longest);
/* Puts a new plan into the group's table if there is a place for it. Removes plans without users if
 * all plans together take too many bytes. */
void ncoll__plan_keep(struct ncoll_group *g, const struct call_args *args, struct plan *plan);
/* Subtracts 1 from plan->users. Frees a plan that has no users and is not in the table. */
void ncoll__plan_leave(struct ncoll_group *g, struct plan *plan);
/* Initialises g->known, in which a new group remembers its calls: see lib/base/known_calls.h. */
void ncoll__known_calls_init(struct ncoll_group *g);
/* Begins a new era: forgets all recent calls and all plans. Plans in use are freed with their last
 * users. */
void ncoll__known_calls_forget(struct ncoll_group *g);

/* Returns how much of the window the plan uses: slots and bulk memory for what arrives, and the
 * scratch from which long messages are sent. */
struct window_extent ncoll__plan_extent(const struct plan *plan);
/* Looks up the endpoints of the plan's puts, once its peers are connected, and makes the window
 * ready for the plan. Returns NCOLL_OK or an error. */
int ncoll__plan_wire(struct ncoll_group *g, struct plan *plan);

/* True if `rank` is another rank of the same node whose memory this rank may read. */
bool ncoll__reads_peer(const struct ncoll_group *g, unsigned rank);
/* True if long messages between this rank and `rank` may be peer reads. */
bool ncoll__may_peer_read(const struct ncoll_group *g, unsigned rank);
/* Makes room in g->messages for messages in slots up to `slot`. Returns false if there is no
 * memory. */
bool ncoll__messages_reach(struct ncoll_group *g, unsigned slot);
/* Allocates g->readers, where peer reads are noted. Returns NCOLL_OK or NCOLL_ERR_MEMORY. */
int ncoll__routes_prepare(struct ncoll_group *g);

#endif
