/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The 32 bits of immediate data that come with a notified write, in host order:
 *
 *     group 10 | kind 2 | slot 8 | epoch 4 | signature 8               (high to low)
 *
 * The epoch is cut to its low bits. A sender is at most one epoch away from its receiver (see
 * transport.h), so the receiver takes the epoch nearest to its own that ends in these bits.
 *
 * The signature is a fold of the card. The card itself lies in the slot; that it does not match its
 * signature shows that two calls have written to one slot. A long message of a card that the same
 * sender has sent before need not bring it again: the signature recalls it (IMM_LEARN, IMM_RECALL).
 *
 * Words between two transports, which raise no slot, look like this:
 *
 *     index 10 | IMM_WORD 2 | index 10 | word 10
 *
 * The index (its high bits first) is the number that the receiver gave to the connection, so that
 * it knows where the word came from without a search by queue pair.
 */
#ifndef NCOLL_TRANSPORT_VERBS_IMM_H
#define NCOLL_TRANSPORT_VERBS_IMM_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/schedule.h"

#define IMM_GROUPS 1024u
#define IMM_INDEX  (1u << 20)
_Static_assert(SLOTS_MAX <= 256, "a slot takes 8 bits");

enum imm_kind {
    IMM_MESSAGE, /* the card lies in the slot */
    IMM_LEARN,   /* the same, and is to be kept by its signature */
    IMM_RECALL,  /* the card is what the sender last had kept by this signature */
    IMM_WORD,
};

enum imm_word {
    WORD_HELLO,   /* the sender can be written to */
    WORD_FAILURE, /* look into the inbox: a failure */
    WORD_LEFT,    /* look into the inbox: the sender destroyed its context */
    WORD_RAW,     /* a message of the bare exchange */
    WORD_CALLED,  /* look into the inbox: what the sender has called */
};

static inline unsigned imm_signature_of(uint64_t card)
{
    return (unsigned)(card * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

static inline uint32_t imm_pack(enum imm_kind kind, unsigned group, unsigned slot, uint64_t epoch,
                                uint64_t card)
{
    return group << 22 | (uint32_t)kind << 20 | slot << 12 | ((uint32_t)epoch & 15) << 8 |
           imm_signature_of(card);
}

static inline uint32_t imm_pack_word(uint32_t index, enum imm_word word)
{
    return index >> 10 << 22 | (uint32_t)IMM_WORD << 20 | (index & 1023) << 10 | (uint32_t)word;
}

static inline enum imm_kind imm_kind(uint32_t imm)
{
    return (enum imm_kind)(imm >> 20 & 3);
}

static inline unsigned imm_group(uint32_t imm)
{
    return imm >> 22;
}

static inline unsigned imm_slot(uint32_t imm)
{
    return imm >> 12 & 255;
}

/* The epoch of -8..7 around `near_epoch` that ends in the bits of imm. */
static inline uint64_t imm_epoch(uint32_t imm, uint64_t near_epoch)
{
    uint32_t ahead = ((imm >> 8) - (uint32_t)near_epoch + 8) & 15;
    return near_epoch + ahead - 8;
}

static inline unsigned imm_signature(uint32_t imm)
{
    return imm & 255;
}

static inline uint32_t imm_index(uint32_t imm)
{
    return imm >> 22 << 10 | (imm >> 10 & 1023);
}

static inline enum imm_word imm_word(uint32_t imm)
{
    return (enum imm_word)(imm & 1023);
}

#endif
