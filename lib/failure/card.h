/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The card: two words that say what a rank has called, carried by every message, so that a
 * mismatched call is seen, and can be put in words on both sides, at the first message.
 *
 *     what     wire 1 | more 8 | collective 4 | type 8 | operation 11 | algorithm 6 | radix 5 |
 *              root 20 | irregular 1
 *     amount   past 16 | the count; with irregular counts a hash of them all; of a barrier, what
 * part of a strict call it is (NCOLL_STRICT_ENTRY, NCOLL_STRICT_EXIT), 0: none 48
 *
 * The past is what the sender has called before, folded. It is there in messages that fit a slot,
 * and 0 in longer ones, whose cards transports remember. So a rank that had called something else
 * in vain, such as a bcast that has reached nobody who looks, is known by the next call.
 *
 * Connecting peers for a call has that call's card, but for `wire`. The calls that make and free
 * groups are numbered behind the collectives; they have the errand as radix, and a hash of what
 * must be the same on all ranks as amount.
 *
 * Of an alltoall with irregular counts no rank knows them all: there the amount is the count that
 * goes from the sender of the message to its receiver, or AMOUNT_WHOLE for the call as a whole.
 * The agreement that goes ahead of it (agree.c) has its card, but for the algorithm and the radix,
 * which are those of an allreduce, and an operation, which an alltoall has not. No card is all 0.
 *
 * A radix that is a list of k numbers is 16 + k; the numbers, 4 bits each, are in root and more: an
 * algorithm that takes a list has no root.
 */
#ifndef NCOLL_LIB_CARD_H
#define NCOLL_LIB_CARD_H

#include <stddef.h>
#include <stdint.h>

#include "algos/schedule.h"
#include "ncoll.h"
#include "transport/transport.h"

#define OP_USER   16u   /* the first number of a user-defined operation */
#define OPS_MAX   1000u /* user-defined operations of a context: what the card can tell apart */
#define ROOTS_MAX (1u << 20)

/* What a message is for, other than the schedule of the call. Which collective carries it follows.
 */
enum errand {
    ERRAND_NONE,
    ERRAND_GATHER, /* allgather */
    ERRAND_WIRE,   /* alltoall */
    ERRAND_AGREE,  /* allreduce */
    ERRAND_LEAVE,  /* barrier */
};

/* Calls on groups. */
enum group_call {
    GROUP_SPLIT = COLLECTIVES,
    GROUP_FROM_RANKS,
    GROUP_DUP,
    GROUP_FREE,
    GROUP_CALLS,
};
_Static_assert(GROUP_CALLS <= 16, "it has 4 bits");

struct card_fields {
    enum collective collective;
    unsigned type, op;                 /* 0: the collective has none */
    const struct algorithm *algorithm; /* NULL: none of this library's */
    unsigned radix, root;
    bool irregular;
    uint64_t amount; /* less than 2^AMOUNT_BITS: what is above is cut off */
    enum errand errand;
};

#define AMOUNT_BITS  48
#define AMOUNT_MASK  ((UINT64_C(1) << AMOUNT_BITS) - 1)
#define AMOUNT_WHOLE AMOUNT_MASK

struct card ncoll__card(const struct card_fields *fields);
struct card_fields ncoll__card_fields(struct card card);

/* A call on a group; and any card with an errand. */
struct card ncoll__group_card(enum group_call call, uint64_t amount);
struct card ncoll__card_with(struct card card, enum errand errand);

/* The same call, whatever was before it. */
static inline bool ncoll__card_same_call(struct card a, struct card b)
{
    return a.what == b.what && ((a.amount ^ b.amount) & AMOUNT_MASK) == 0;
}

/* What a group's calls so far come to when this one is added, and as messages have it. */
static inline uint64_t ncoll__past_with(uint64_t past, struct card card)
{
    return (past ^ card.what ^ card.amount << 1) * UINT64_C(0x9e3779b97f4a7c15) + card.amount;
}

static inline uint64_t ncoll__past_of_messages(uint64_t past)
{
    return past & ~AMOUNT_MASK;
}

/* What stands for irregular counts. */
uint64_t ncoll__card_hash(const size_t *counts, unsigned n);

/* "allreduce"; NULL if there is none of this number. */
const char *ncoll__collective_name(enum collective collective);

/* "reduce of 3 int64, sum, root 1 (tree, n = 1)" into text. Returns text. */
const char *ncoll__card_text(struct card card, char *text, size_t size);

#endif
