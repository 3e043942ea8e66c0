/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The 32 bits of immediate data that come with a notified write, in host order:
 *
 *     group 10 | slot 10 | epoch 4 | signature 8                       (high to low)
 *
 * The epoch is cut to its low bits. A sender is at most one epoch away from its receiver (see
 * transport.h), so the receiver takes the epoch nearest to its own that ends in these bits. The
 * signature is a fold of the card. The card itself lies in the slot; that it does not match its
 * signature shows that two calls have written to one slot.
 *
 * The highest slot number is not a slot but marks words between two transports:
 *
 *     index 10 | IMM_WORD 10 | index 10 | kind 2
 *
 * The index (its high bits first) is the number that the receiver gave to the connection, so that
 * it knows where the word came from without a search by queue pair.
 */
#ifndef NCOLL_TRANSPORT_VERBS_IMM_H
#define NCOLL_TRANSPORT_VERBS_IMM_H

#include <stdbool.h>
#include <stdint.h>

#define IMM_GROUPS 1024u
#define IMM_WORD   1023u /* as slot */
#define IMM_INDEX  (1u << 20)

enum imm_kind {
    IMM_HELLO,   /* the sender can be written to */
    IMM_FAILURE, /* look into the inbox: a failure */
    IMM_LEFT,    /* look into the inbox: the sender destroyed its context */
    IMM_RAW,     /* a message of the bare exchange */
};

static inline unsigned imm_signature(uint64_t card)
{
    return (unsigned)(card * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

static inline uint32_t imm_pack(unsigned group, unsigned slot, uint64_t epoch, uint64_t card)
{
    return group << 22 | slot << 12 | ((uint32_t)epoch & 15) << 8 | imm_signature(card);
}

static inline uint32_t imm_pack_word(uint32_t index, enum imm_kind kind)
{
    return index >> 10 << 22 | IMM_WORD << 12 | (index & 1023) << 2 | (uint32_t)kind;
}

static inline unsigned imm_group(uint32_t imm)
{
    return imm >> 22;
}

static inline unsigned imm_slot(uint32_t imm)
{
    return imm >> 12 & 1023;
}

/* The epoch of -8..7 around `near_epoch` that ends in the bits of imm. */
static inline uint64_t imm_epoch(uint32_t imm, uint64_t near_epoch)
{
    uint32_t ahead = ((imm >> 8) - (uint32_t)near_epoch + 8) & 15;
    return near_epoch + ahead - 8;
}

static inline bool imm_signed_by(uint32_t imm, uint64_t card)
{
    return (imm & 255) == imm_signature(card);
}

static inline uint32_t imm_word_index(uint32_t imm)
{
    return imm >> 22 << 10 | (imm >> 2 & 1023);
}

static inline enum imm_kind imm_word_kind(uint32_t imm)
{
    return (enum imm_kind)(imm & 3);
}

#endif
