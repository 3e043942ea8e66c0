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
 * follow. It returns false past the last round. It depends on (collective, rank, size, root,
 * counts, radix, nodes) and uses symbolic buffers; it does not depend on transports, clocks,
 * addresses or memory. The executor (lib/), the verifier (test/verify) and ncoll-explain run the
 * same function.
 *
 * The collectives, with P ranks, this rank p and root s: x_q is the input of rank q in IN, a vector
 * or P blocks x_q[0..P-1]; o is the operation, applied in rank order unless it commutes.
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
 * Counts. Vectors and blocks have g->count elements, and blocks lie side by side. One step may
 * cover several neighbouring blocks, except in an alltoall, whose long blocks are cut into segments
 * with the same count for all blocks. With g->counts, block q has counts[q] elements, and so has
 * the vector that is block q on rank q (IN of a gather, OUT of a scatter); no step crosses the end
 * of a block. In an alltoall this rank gets counts[q] elements from q, and sends sends[q] elements
 * to q. An empty message is sent as well: it tells the receiver that its sender has entered the
 * call. In a gather, a scatter or an alltoall with counts, empty messages are left out, since both
 * sides know that they are empty, and no rank depends on the sender's entry. In an allgather they
 * are sent, since rings and similar schedules SYNCHRONISE by them.
 *
 * Separate blocks. If a call is cut into segments, its blocks have the same count in each segment,
 * but do not lie side by side. With g->separate no step crosses the end of a block.
 *
 * In place. IN and OUT may be the same memory. If both are vectors or both are P blocks, this holds
 * for all of it; a vector IN is then block p of OUT (in a gather only at s), and a vector OUT is
 * block p of IN (in a scatter only at s). A schedule must give the right result in place and not in
 * place. Reduce-scatter and alltoall are not done in place.
 *
 * Rules that every schedule keeps, and that the verifier checks for all ranks:
 *  - a put and the wait for it are matched by (receiver, slot): exactly one put and one wait for
 *    each slot used, in every call; the wait names the putting rank and the count;
 *  - a message that has arrived may be read, and put on to other ranks, from its wait to the end of
 *    the call, and is never written;
 *  - the data of a put is not written later in the same call. If the call is done in place, this
 *    holds for IN and OUT separately: data that was put from IN may be overwritten by writing OUT.
 *    The executor therefore must not leave the data of such a put in IN to be read there later;
 *  - IN is not written (except by writing OUT, in place). OUT is not read before it is written, and
 *    only the result of the collective is written to it;
 *  - in the collectives of algorithm.acknowledges, the receivers of data that a rank puts from IN
 *    tell the rank by later messages that they do not read the data any more. These messages arrive
 *    before that rank ends the call, and before it overwrites the data in place;
 *  - slots and scratch are used again some calls later; the executor ensures that no rank is
 *    overrun (lib/base/credit.h). This is ensured already by a schedule that SYNCHRONISES: no rank
 *    ends the call before every rank has entered it.
 *
 * Parts. A schedule that takes one slot for each rank, for the rounds of a ring or for a message
 * from each rank, may need more slots than a receiver has (SLOTS_MAX). Then the call may be done in
 * PARTS, each of which is a run of its own that uses the same slots and scratch again. A turn is
 * what takes one slot; the turns of the schedule are divided among the parts, and round() emits
 * those of part g->part. Messages and scratch of a part are gone when it ends: what the next part
 * needs of them has to lie in OUT, where a rank may keep partial results for a later part. Parts
 * are independent and may advance side by side, unless the algorithm has PARTS_FOLLOW: then a rank
 * begins a part when it has ended the one before. A part neither synchronises nor acknowledges
 * anything, even if the whole schedule does. All other rules hold for the parts carried out one
 * after the other, as for an undivided call; without PARTS_FOLLOW also for every interleaving.
 *
 * Places. In a bcast or a reduce over some of the ranks (g->places), only the ranks that have a
 * place take part. The root has place 0. Ranks without a place have neither IN nor OUT, and no
 * steps; the result of a reduce has the contributions of the ranks that take part. Only algorithms
 * with TAKES_PLACES can carry out such calls, and these algorithms carry out no others.
 *
 * Shared notifications. The ranks of a node may see each other's windows (nodes->shared). There a
 * schedule that SHARES may let a rank LOOK at a slot of a neighbour, a rank of its node: it waits
 * until the message of a certain rank has arrived in that slot, and reads the message there. The
 * receiver waits for this message as for any other; its wait is a SHARED WAIT. Any number of
 * neighbours may look at the slot, at any time of the call.
 *  - a schedule that SHARES also SYNCHRONISES: a slot is written again when all ranks, not the
 *    receiver alone, are known to have ended the call;
 *  - data that a rank reads in a neighbour's slot is never put by that rank, whose device does not
 *    know that memory. The data is never written, nor is it placed in the receiver's OUT;
 *  - a rank looks at slots of at most NEIGHBOURS_MAX neighbours.
 */
#ifndef NCOLL_ALGOS_SCHEDULE_H
#define NCOLL_ALGOS_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/steps.h"

#define RADIX_MAX      16
#define RADICES_MAX    7    /* numbers in a list of radices */
#define SLOTS_MAX      4096 /* slots that one call can use at a receiver */
#define NEIGHBOURS_MAX 4    /* neighbours whose slots a rank looks at in one call */

/* The values are sent in messages: append new ones at the end, never reorder. */
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
    COLLECTIVES /* number of the collectives, plus 1 */
};

/*
 * A radix is a number n, or a list n_1, .., n_k of such numbers, one for each round; n_k also holds
 * for all rounds after k. A list is packed into a word, with k in the upper four bits and n_l - 1
 * in four bits each, so that it is compared and handed on like a number. Equal lists are equal
 * words: 3,2,2 becomes 3,2, and 2,2 becomes 2.
 */
static inline bool radix_is_list(unsigned radix)
{
    return radix >> 28 != 0;
}

/* Returns the length of a list; 1 for a number. */
static inline unsigned radix_length(unsigned radix)
{
    unsigned k = radix >> 28;

    return k == 0 ? 1 : k < RADICES_MAX ? k : RADICES_MAX;
}

/* Returns n_l, the radix of round l = 1, 2, .. */
static inline unsigned radix_of_round(unsigned radix, unsigned l)
{
    unsigned k = radix_length(radix);

    return radix_is_list(radix) ? (radix >> 4 * ((l < k ? l : k) - 1) & 15) + 1 : radix;
}

/* Packs a list. Returns 0 if a number is out of range, or if there are too many. */
unsigned ncoll__radix_list(const unsigned *n, unsigned k);
bool ncoll__radix_is_valid(unsigned radix);

#define RADIX_TEXT 32
/* Writes "3" or "3,2" to text, and returns text. */
const char *ncoll__radix_text(unsigned radix, char text[RADIX_TEXT]);
/* Parses a text such as "3" or "3,2". Returns 0 if it is not a valid radix. */
unsigned ncoll__radix_parse(const char *text);

/* The division of the ranks into nodes. Nodes are numbered in the order of their first ranks: rank
 * 0 is on node 0. The ranks of node k are ranks[first[k]], .., ranks[first[k + 1] - 1], in
 * ascending order. A rank's index among these is its local rank. If nodes are in_blocks and have
 * `most` ranks each (the last node may have fewer), all of this follows from `most`, and the tables
 * `of`, `local`, `ranks` and `first` are not needed. */
struct nodes {
    unsigned count;
    unsigned fewest, most; /* fewest and most ranks on a node */
    bool in_blocks;        /* each node has a contiguous range of ranks, in the order of nodes */
    bool in_turn;          /* rank r is on node r mod count, and count > 1 */
    bool shared;           /* ranks of a node see each other's windows */
    unsigned size;         /* P */
    const unsigned *of;    /* [P]: the node of each rank; NULL: there are no tables */
    const unsigned *local; /* [P]: the local rank of each rank */
    const unsigned *ranks; /* [P]: the ranks, node by node */
    const unsigned *first; /* [count + 1]: index in `ranks` at which each node begins */
};

static inline unsigned node_of(const struct nodes *nodes, unsigned rank)
{
    return nodes->of != NULL ? nodes->of[rank] : rank / nodes->most;
}

/* Returns the local rank of a rank. */
static inline unsigned local_of(const struct nodes *nodes, unsigned rank)
{
    return nodes->of != NULL ? nodes->local[rank] : rank % nodes->most;
}

/* Returns the number of ranks on the nodes before node k. */
static inline unsigned ranks_before(const struct nodes *nodes, unsigned k)
{
    if (nodes->of != NULL)
        return nodes->first[k];
    return k < nodes->count ? k * nodes->most : nodes->size;
}

static inline unsigned ranks_on(const struct nodes *nodes, unsigned k)
{
    return ranks_before(nodes, k + 1) - ranks_before(nodes, k);
}

/* Returns the rank that has this local rank on node k. */
static inline unsigned rank_on(const struct nodes *nodes, unsigned k, unsigned local)
{
    unsigned at = ranks_before(nodes, k) + local;

    return nodes->of != NULL ? nodes->ranks[at] : at;
}

#define NODES_ROOM(P) (4 * (size_t)(P) + 1)
/* Divides P ranks into nodes: ranks p and q share a node if, and only if, ids[p] == ids[q]. The
 * tables of *out lie in `room`, an array of NODES_ROOM(P) numbers that the caller owns. */
void ncoll__nodes_of(const uint64_t *ids, unsigned P, unsigned *room, struct nodes *out);
/* Sets the tables to NULL if they follow from `most`. Returns true if so: `room` is then unused. */
bool ncoll__nodes_without_tables(struct nodes *nodes);

/* The facts that a rank needs to generate its part of a schedule. */
struct shape {
    enum collective collective;
    unsigned rank;  /* p, 0..size-1 */
    unsigned size;  /* P, >= 1 */
    unsigned root;  /* s; 0 where the collective has none */
    unsigned radix; /* n, 1..RADIX_MAX: messages that a rank sends at once; or a list of n */
    /* elements of the vector or of each block; 0 for a barrier; in an alltoall with counts an upper
     * bound for all blocks of all ranks, at least 1, the same on all ranks */
    size_t count;
    const size_t *counts; /* NULL, or [size]: elements of each block */
    const size_t *sends;  /* alltoall with counts: [size], elements sent to each rank; else NULL */
    /* With counts: the call handles of each block only the elements from `begin` on, at most `most`
     * of them; most 0: all. So the segments of a call can share one array of counts. */
    size_t begin, most;
    /* For a phase of the call `whole` on one of its subgroups (algos/phases.h), in place of counts:
     * count_of returns the elements of block q, sum_of those of n blocks from q on, q + n <= size.
     * count_of NULL: not such a phase, or no counts; sum_of NULL: blocks are added up. */
    size_t (*count_of)(const struct shape *whole, unsigned subgroup, unsigned q);
    size_t (*sum_of)(const struct shape *whole, unsigned subgroup, unsigned q, unsigned n);
    const struct shape *whole;
    unsigned subgroup;
    /* with count_of: all blocks but the last have the same number of elements */
    bool even_but_last;
    /* With counts: sums[i] is the number of elements before block i SUMS_EVERY; NULL: counts are
     * added up each time. */
    const size_t *sums;
    unsigned part, parts; /* part 0..parts-1 of the call; parts 0 or 1: the whole call */
    bool separate;        /* blocks have the same count, and other data may lie between them */
    /* Number of places ("Places" above); 0: all ranks take part. */
    unsigned places;
    const size_t *rank_at;     /* the rank of each place; NULL: rank (s + v) mod P has place v */
    bool inverse;              /* the operation has an inverse: TAKEOUT is allowed */
    const struct nodes *nodes; /* NULL: the nodes are not known */
};

/* Returns the number of ranks that take part. */
static inline unsigned places_of(const struct shape *g)
{
    return g->places > 0 ? g->places : g->size;
}

/* Returns the place of this rank; places_of(g) or more: the rank takes no part. */
static inline unsigned own_place_of(const struct shape *g)
{
    unsigned v = 0;

    if (g->rank_at == NULL)
        return (g->rank + g->size - g->root) % g->size;
    while (v < g->places && g->rank_at[v] != g->rank)
        v++;
    return v;
}

static inline bool takes_part(const struct shape *g)
{
    return g->places == 0 || own_place_of(g) < g->places;
}

/* Number of blocks from one entry of shape.sums to the next. */
#define SUMS_EVERY 64

/* True if the call is done in parts. */
static inline bool is_in_parts(const struct shape *g)
{
    return g->parts > 1;
}

/* turns_of_part() returns how many of the `turns` turns of the schedule the longest part has,
 * first_turn() the first turn of this part. */
static inline unsigned turns_of_part(const struct shape *g, unsigned turns)
{
    return is_in_parts(g) ? (turns + g->parts - 1) / g->parts : turns;
}

static inline unsigned first_turn(const struct shape *g, unsigned turns)
{
    unsigned first = is_in_parts(g) ? g->part * turns_of_part(g, turns) : 0;

    return first < turns ? first : turns;
}

/* Returns the turn after the last one of this part. */
static inline unsigned end_of_turns(const struct shape *g, unsigned turns)
{
    unsigned end = first_turn(g, turns) + turns_of_part(g, turns);

    return end < turns ? end : turns;
}

/* True if each block has a count of its own. */
static inline bool has_counts(const struct shape *g)
{
    return g->counts != NULL || g->count_of != NULL;
}

/* Returns how many elements of a block belong to this segment. whole: elements of the block. */
static inline size_t in_segment(const struct shape *g, size_t whole)
{
    size_t rest = whole > g->begin ? whole - g->begin : 0;

    return g->most > 0 && rest > g->most ? g->most : rest;
}

/* Returns the number of elements of block q. */
static inline size_t block_count(const struct shape *g, unsigned q)
{
    if (g->count_of != NULL)
        return g->count_of(g->whole, g->subgroup, q);
    return g->counts != NULL ? in_segment(g, g->counts[q]) : g->count;
}

/* Returns the number of elements that this rank sends to q in an alltoall. */
static inline size_t send_count(const struct shape *g, unsigned q)
{
    return g->sends != NULL ? in_segment(g, g->sends[q]) : g->count;
}

/* True if a message of this length is empty and not sent ("Counts" above). */
static inline bool has_no_message(const struct shape *g, size_t count)
{
    bool one_way = g->collective == COLL_GATHER || g->collective == COLL_SCATTER;

    return count == 0 && has_counts(g) && (one_way || g->sends != NULL);
}

/* Returns the number of elements of the longest block. */
static inline size_t longest_block(const struct shape *g)
{
    size_t longest = has_counts(g) ? 0 : g->count;

    if (g->even_but_last) {
        size_t last = block_count(g, g->size - 1);
        longest = block_count(g, 0);
        return last > longest ? last : longest;
    }
    for (unsigned q = 0; g->count_of != NULL && q < g->size; q++)
        longest = block_count(g, q) > longest ? block_count(g, q) : longest;
    for (unsigned q = 0; g->counts != NULL && q < g->size; q++)
        longest = g->counts[q] > longest ? g->counts[q] : longest;
    return g->counts != NULL ? in_segment(g, longest) : longest;
}

/* Returns the number of elements in blocks 0..q-1. */
static inline size_t blocks_before(const struct shape *g, size_t q)
{
    size_t i = g->sums != NULL ? q / SUMS_EVERY : 0;
    size_t elements = g->sums != NULL ? g->sums[i] : 0;

    if (!has_counts(g))
        return q * g->count;
    for (i *= SUMS_EVERY; i < q; i++)
        elements += block_count(g, (unsigned)i);
    return elements;
}

/* Returns the number of elements in the n blocks q, q + 1, ..; block 0 follows the last one. */
static inline size_t blocks_from(const struct shape *g, size_t q, size_t n)
{
    size_t elements = 0, all = 0, first = n < g->size - q ? n : g->size - q;

    if (!has_counts(g))
        return n * g->count;
    if (g->sum_of != NULL && n <= g->size)
        return g->sum_of(g->whole, g->subgroup, (unsigned)q, (unsigned)first) +
               g->sum_of(g->whole, g->subgroup, 0, (unsigned)(n - first));
    if (g->sums != NULL && n > SUMS_EVERY) {
        if (q + n >= g->size)
            all = (q + n) / g->size * blocks_before(g, g->size);
        return all + blocks_before(g, (q + n) % g->size) - blocks_before(g, q);
    }
    for (; n > 0; n--) {
        elements += block_count(g, (unsigned)q);
        q = q + 1 < g->size ? q + 1 : 0;
    }
    return elements;
}

/* The form of a user's buffer: vector, blocks, or no buffer. */
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

/* has_in() and has_out() return true if this rank has an IN, or an OUT, in this call. */
static inline bool has_in(const struct shape *g)
{
    bool at_root = g->collective == COLL_BCAST || g->collective == COLL_SCATTER;
    return in_form(g->collective) != FORM_NONE && (!at_root || g->rank == g->root) && takes_part(g);
}

static inline bool has_out(const struct shape *g)
{
    bool at_root = g->collective == COLL_REDUCE || g->collective == COLL_GATHER;
    bool none = g->collective == COLL_EXSCAN && g->rank == 0;
    return out_form(g->collective) != FORM_NONE && !none && (!at_root || g->rank == g->root) &&
           takes_part(g);
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

/* ------------------------------------------------------------------ the registry ------------- */

/*
 * The slots and memory that a schedule needs at most on any rank. The footprint is the same on all
 * ranks of a group, except in an alltoall with counts, where each rank computes its own. All fields
 * but slots grow at most in proportion to the counts: if all counts are c, footprint(c) <= c *
 * footprint(1). The peers of a rank do not depend on the counts, except that peers to which no
 * message goes are left out.
 */
struct footprint {
    unsigned slots; /* notification slots used: 0..slots-1, <= SLOTS_MAX */
    size_t scratch; /* elements of BUF_SCRATCH */
    size_t message; /* elements of the longest message */
    /* elements of IN and OUT that are put; an element that is put twice counts once */
    size_t sent;
};

enum property {
    /* conditions on the operation */
    NEEDS_COMMUTATIVE = 1u << 0,
    NEEDS_IDEMPOTENT = 1u << 1, /* some contributions are combined more than once */
    /* promises */
    GIVES_SAME_BITS = 1u << 2, /* all ranks that get a result evaluate the same expression */
    SYNCHRONISES = 1u << 3,    /* no rank ends the call before all ranks have entered it */
    /* the use of the radix */
    USES_RADIX = 1u << 4,
    TAKES_LIST = 1u << 8, /* the radix may be a list; such an algorithm has no root */
    /* SAME_DISTANCES: the peers of every rank lie at the same distances from it. ROTATES: the
     * distances to the peers of a rank depend only on (p - s) mod P */
    SAME_DISTANCES = 1u << 5,
    ROTATES = 1u << 6,
    /* with ROTATES: if any rank has a peer at some distance, the root has one at this distance, on
     * one side or the other; and no rank gets more than two messages from a peer, unless the root
     * gets as many from one of its peers */
    ROOT_HAS_ALL = 1u << 11,
    /* in an alltoall, several blocks are sent as one message; with counts each block has room for
     * g->count elements in it, and the elements past the block's own count may be undefined */
    PADS_BLOCKS = 1u << 7,
    /* ranks look at their neighbours' slots ("Shared notifications" above): needs nodes->shared */
    SHARES = 1u << 9,
    /* with unequal counts, data that is otherwise put from IN and OUT is first packed in scratch;
     * the packed data is at most as long as the data that would be put from there */
    PACKS_UNEVEN = 1u << 10,
    /* a part needs what the part before it has left in OUT ("Parts" above) */
    PARTS_FOLLOW = 1u << 12,
    /* the algorithm carries out calls over some of the ranks, and no others ("Places" above).
     * ROTATES then holds only without g->rank_at, when places are in rank order from the root */
    TAKES_PLACES = 1u << 13,
};

struct fit;
struct situation;

struct algorithm {
    const char *name;     /* the name that users type, such as "dissemination" */
    const char *summary;  /* description in one line */
    const char *source;   /* the paper that the algorithm is from */
    unsigned collectives; /* the collectives that it can do, as bits 1u << enum collective */
    unsigned properties;  /* bits of enum property */
    /* The collectives, as bits, in which every put from IN, long or short, is acknowledged: later
     * messages tell the sender that the receiver does not read the data any more. They arrive
     * before the sender's call ends, and before the sender overwrites in place what it has put. */
    unsigned acknowledges;
    /* Returns true if the algorithm exists for this collective, size, root, radix and nodes; NULL:
     * the algorithm always exists. The result does not depend on g->rank and on counts. */
    bool (*exists)(const struct shape *g);
    /* Returns the footprint, which is the same for all g->rank. */
    struct footprint (*footprint)(const struct shape *g);
    bool (*round)(const struct shape *g, unsigned r, struct round *out);
    /* Returns the number of turns of the whole schedule, each of which takes one slot; 0: this call
     * cannot be done in parts. It does not depend on g->rank and on counts. NULL: no call can. */
    unsigned (*turns)(const struct shape *g);
    /* Returns an upper bound for the number of peers of any rank, the same on all ranks. All ranks
     * that are connected for the call count: with ROTATES those at any distance, to either side, at
     * which some rank has a peer; with SHARES also all ranks of the node. NULL: the number of peers
     * of n-way rounds, 2 (n_1 + .. + n_k). */
    unsigned (*peers)(const struct shape *g);
    /* Returns how well the algorithm suits a call: see algos/choice.h. NULL: the algorithm runs
     * only if a user asks for it. */
    struct fit (*fit)(const struct shape *g, const struct situation *s);
    /* Estimates the time of a call with the shape's radix, in nanoseconds; the radix with the
     * lowest estimate is chosen. Below 0: no estimate for this radix. NULL: no estimates; the radix
     * is then 1 unless a user asks for another. */
    double (*cost)(const struct shape *g, const struct situation *s);
};

/* Sets shape->parts to the fewest parts that take at most `slots` slots each; to 1 if the call
 * needs no more slots, or if the algorithm cannot do it in parts. Sets shape->part to 0. */
void ncoll__divide(const struct algorithm *a, struct shape *shape, unsigned slots);

#define ALGORITHMS_MAX 63 /* the number of an algorithm has six bits in a call signature */
/* All algorithms; NULL ends the list. The number of an algorithm in messages is its index + 1. */
extern const struct algorithm *const ncoll__algorithms[];

/* The algorithms that the library's own calls use. */
extern const struct algorithm ncoll__dissemination, ncoll__bruck;

/* Returns the algorithm of that name; NULL if there is none. */
const struct algorithm *ncoll__algorithm_find(const char *name);
unsigned ncoll__algorithm_number(const struct algorithm *algorithm);

static inline bool algorithm_exists(const struct algorithm *a, const struct shape *g)
{
    bool serves = (a->collectives & 1u << g->collective) != 0 &&
                  (a->properties & TAKES_LIST || !radix_is_list(g->radix)) &&
                  ((a->properties & TAKES_PLACES) != 0) == (g->places > 0);
    return serves && (a->exists == NULL || a->exists(g));
}

#endif
