/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The 32 bits of immediate data that come with a notified write, in host order:
 *
 *     group 10 | kind 2 | slot 12 | epoch 4 | signature 4               (high to low)
 *
 * The epoch is cut to its low bits. A sender is at most EPOCHS ahead of what its receiver has
 * finished (see transport.h), so the receiver takes the one from there on that ends in these bits.
 *
 * The signature is a fold of the card. The card itself lies in the slot; that it does not match its
 * signature shows that two calls have written to one slot. A long message of a card that the same
 * sender has sent before need not bring it again: the signature recalls it (IMM_LEARN, IMM_RECALL).
 *
 * Words between two transports, which raise no slot, look like this:
 *
 *     number 10 | IMM_WORD 2 | number 10 | word 10         word: enum imm_word, or a group's credit
 *
 * The number (its high bits first) is what a word needs no memory for: WORD_CONFIRMED, the low bits
 * of how many messages have come.
 */
#ifndef NCOLL_TRANSPORT_VERBS_IMM_H
#define NCOLL_TRANSPORT_VERBS_IMM_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/schedule.h" /* SLOTS_MAX */
#include "transport/transport.h"

#define IMM_NUMBER (1u << 20)
_Static_assert(SLOTS_MAX <= 4096, "a slot takes 12 bits");
_Static_assert(EPOCHS <= 16, "an epoch takes 4 bits");

enum imm_kind {
    IMM_MESSAGE, /* the card lies in the slot */
    IMM_LEARN,   /* the same, and is to be kept by its signature */
    IMM_RECALL,  /* the card is what the sender last had kept by this signature */
    IMM_WORD,
};

enum imm_word {
    WORD_HELLO,       /* the sender can be written to */
    WORD_CONFIRMED,   /* so many messages have come to the sender of this */
    WORD_FAILURE,     /* look into the inbox: a failure */
    WORD_LEFT,        /* look into the inbox: the sender destroyed its context */
    WORD_RAW,         /* a message of the bare exchange */
    WORD_CREDIT = 16, /* + group: the sender's credit in its window was written */
};
_Static_assert(WORD_CREDIT + WINDOWS_MAX <= 1024, "a word takes 10 bits");

static inline unsigned imm_signature_of(struct card card)
{
    uint64_t mixed = card.what * UINT64_C(0x9e3779b97f4a7c15) ^ card.amount;
    return (unsigned)(mixed * UINT64_C(0xc2b2ae3d27d4eb4f) >> 60);
}

static inline uint32_t imm_pack(enum imm_kind kind, unsigned group, unsigned slot, uint64_t epoch,
                                struct card card)
{
    return group << 22 | (uint32_t)kind << 20 | slot << 8 | ((uint32_t)epoch & 15) << 4 |
           imm_signature_of(card);
}

static inline uint32_t imm_pack_word(unsigned word, uint32_t number)
{
    return (number >> 10 & 1023) << 22 | (uint32_t)IMM_WORD << 20 | (number & 1023) << 10 | word;
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
    return imm >> 8 & 4095;
}

/* The epoch of -3..12 around the one that was finished last that ends in the bits of imm. */
static inline uint64_t imm_epoch(uint32_t imm, uint64_t finished)
{
    uint32_t ahead = ((imm >> 4) - (uint32_t)finished + 3) & 15;
    return finished + ahead - 3;
}

static inline unsigned imm_signature(uint32_t imm)
{
    return imm & 15;
}

static inline uint32_t imm_number(uint32_t imm)
{
    return imm >> 22 << 10 | (imm >> 10 & 1023);
}

static inline unsigned imm_word(uint32_t imm)
{
    return imm & 1023;
}

#endif
