/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The signature describes in two words what a rank has called. Every message carries it. So a rank
 * notices a mismatched call at the first message, and can describe both calls. The fields of the
 * words, from the highest bits on, with their numbers of bits:
 *
 *     what     wire 1 | more 8 | collective 4 | type 8 | operation 11 | algorithm 6 | radix 5 |
 *              root 20 | irregular 1
 *     amount   history 16 | amount 48
 *     or       history 16 | definition 16 | amount 32
 *
 * The amount is the count of the call; with irregular counts it is a hash of all of them. In a
 * barrier it says at which end of a strict call the barrier is: NCOLL_STRICT_ENTRY,
 * NCOLL_STRICT_EXIT, or 0: at none.
 *
 * The second form is for calls with a type or an operation that the user has created, and for calls
 * with a threshold. The definition is a hash of sizes, flags and names (lib/base/definition.h). The
 * bits of the amount above 32 are folded into the lower ones.
 *
 * The history hash covers all calls that the sender has made before on this group. Messages that
 * fit into a slot carry it; longer ones carry 0, since transports remember their signatures.
 * Suppose that a rank has called something else and nobody has noticed, such as a bcast whose
 * message no rank has read. The history hash of its next call then reveals this.
 *
 * The messages that connect peers for a call have that call's signature with `wire` set. The calls
 * that make and free groups have numbers after those of the collectives. Their radix is the
 * purpose, and their amount is a hash of the arguments that must be the same on all ranks.
 *
 * No rank knows all counts of an alltoall with irregular counts. There the amount is the count that
 * goes from the sender of the message to its receiver, or AMOUNT_WHOLE for the call as a whole. The
 * agreement before such a call (agree.c) has the signature of the alltoall, but the algorithm and
 * the radix of an allreduce, and an operation. No signature is all 0.
 *
 * A step of a compressed call has in place of an operation a number from OP_CODEC on, which says
 * what codec it is. Its definition is a hash of the codec's name and parameters.
 *
 * A bcast or a reduce with a threshold has `irregular` set; of the others, only steps of compressed
 * calls have. `more` is the percentage, with the highest bit set if the threshold counts
 * ranks. The amount has the second form. The definition also covers the exact fraction and the
 * weights; its lowest bit is set if the elements are the heaviest ones.
 *
 * A list of k radices is stored as radix 16 + k; its numbers, 4 bits each, are in the fields root
 * and more, since an algorithm that takes a list has no root.
 */
#ifndef NCOLL_LIB_SIGNATURE_H
#define NCOLL_LIB_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/schedule.h"
#include "lib/base/names.h"
#include "ncoll.h"
#include "ncoll_eventual.h"
#include "transport/transport.h"

#define OP_USER 16u /* the first number of a user-defined operation */
/* operations that the user can create in a context; the signature has room for them */
#define OPS_MAX   1000u
#define ROOTS_MAX (1u << 20)
/* The root in the signature of an allreduce on mailboxes (lib/stale) is the slack, or in a partial
 * allreduce this number. */
#define ROOT_PARTIAL 0x80000u

/* Numbers that compressed calls have in place of an operation: OP_CODEC + the kind of codec (enum
 * codec_kind); for top-k OP_CODEC_TOPK + a level l, which stands for a fraction of about 2^(-l/8).
 * In a bcast OP_BCAST is added. */
#define OP_CODEC      1024u
#define CODEC_LEVELS  128u
#define OP_CODEC_TOPK (OP_CODEC + 8)
#define OP_BCAST      256u /* added in a bcast */
#define OP_CODEC_END  (OP_CODEC + 2 * OP_BCAST)
_Static_assert(OP_USER + OPS_MAX <= OP_CODEC && OP_CODEC_END <= 2048, "it has 11 bits");

static inline bool is_codec_op(unsigned op)
{
    return op >= OP_CODEC && op < OP_CODEC_END;
}

/* The purpose of a message that is not part of the user's call. Each purpose has a collective that
 * carries its messages. */
enum purpose {
    PURPOSE_NONE,
    PURPOSE_GATHER, /* allgather */
    PURPOSE_WIRE,   /* allreduce */
    PURPOSE_AGREE,  /* allreduce */
    PURPOSE_LEAVE,  /* barrier */
};

/* Calls that make or free groups. */
enum group_call {
    GROUP_SPLIT = COLLECTIVES,
    GROUP_FROM_RANKS,
    GROUP_DUP,
    GROUP_FREE,
    GROUP_CALLS,
};
_Static_assert(GROUP_CALLS <= 16, "it has 4 bits");

struct signature_fields {
    enum collective collective;
    unsigned type, op;                 /* 0: the collective has no type, or no operation */
    const struct algorithm *algorithm; /* NULL: none, or not an algorithm of this library */
    unsigned radix, root;
    bool irregular;
    uint64_t amount;     /* less than 2^AMOUNT_BITS; higher bits are cut off */
    unsigned definition; /* 16 bits, 0 if type and operation are built in, without a threshold */
    unsigned of;         /* enum ncoll_threshold_of; 0: there is no threshold */
    unsigned percent;    /* the fraction of the threshold, 0..100 */
    enum purpose purpose;
};

#define AMOUNT_BITS  48
#define AMOUNT_MASK  ((UINT64_C(1) << AMOUNT_BITS) - 1)
#define AMOUNT_WHOLE AMOUNT_MASK

struct signature ncoll__signature(const struct signature_fields *fields);
struct signature_fields ncoll__signature_fields(struct signature signature);

/* Returns the amount field for a message whose count differs from that of the call. */
uint64_t ncoll__signature_amount(struct signature signature, uint64_t count);
/* Returns true if two ranks made the same call, but with a type or an operation that they have
 * created with different sizes, flags or names. */
bool ncoll__signature_differs_in_definition(struct signature a, struct signature b);
/* Returns the first property in which the calls of two ranks differ. */
ncoll_reason ncoll__signature_reason(struct signature a, struct signature b);

/* Returns the signature of a call that makes or frees a group; and a signature with a purpose. */
struct signature ncoll__group_signature(enum group_call call, uint64_t amount);
struct signature ncoll__signature_with(struct signature signature, enum purpose purpose);

/* Returns true if both are the same call; the history hash is ignored. */
static inline bool ncoll__signature_same_call(struct signature a, struct signature b)
{
    return a.what == b.what && ((a.amount ^ b.amount) & AMOUNT_MASK) == 0;
}

/* Returns true if the signature is that of a step of a compressed call. */
bool ncoll__signature_is_compressed(struct signature signature);

/* Returns the history hash after one more call. */
static inline uint64_t ncoll__history_with(uint64_t history_hash, struct signature signature)
{
    return (history_hash ^ signature.what ^ signature.amount << 1) * UINT64_C(0x9e3779b97f4a7c15) +
           signature.amount;
}

/* Returns the bits of the history hash that messages carry: the upper 16. */
static inline uint64_t ncoll__history_of_messages(uint64_t history_hash)
{
    return history_hash & ~AMOUNT_MASK;
}

/* Returns a hash that also covers one more number. */
static inline uint64_t ncoll__hash_on(uint64_t h, uint64_t number)
{
    h = (h ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

/* Returns a hash of irregular counts. */
uint64_t ncoll__signature_hash(const size_t *counts, unsigned n);

/* Writes a text such as "reduce of 3 int64, sum, root 1 (tree, n = 1)". Returns text. */
const char *ncoll__signature_text(struct signature signature, char *text, size_t size);

#endif
