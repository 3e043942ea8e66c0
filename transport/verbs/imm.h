/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The 32 bits of immediate data that come with a notified write, in host order:
 *
 *     place 10 | kind 2 | place 12 | epoch 4 | digest 4                 (high to low)
 *
 * The place, in two fields with the high bits first, is the number of the slot among the slots of
 * all windows of the receiver. Each IMM_STRETCH places are a stretch. The places of a window begin
 * with a stretch, whose number is in the offer of the window.
 *
 * Only the low bits of the epoch are sent. A sender is at most EPOCHS ahead of the last epoch that
 * its receiver has finished (see transport.h), so the receiver can compute the epoch from these
 * bits.
 *
 * The digest is a hash of the signature of the call (lib/base/signature.h). The signature itself is
 * in the slot; if it does not match the digest, two calls have written to one slot. If the sender
 * has sent a long message with this signature before, it need not send the signature again: the
 * receiver finds it by the digest (IMM_LEARN, IMM_RECALL).
 *
 * Words that two transports exchange, and that raise no slot, have this format:
 *
 *     number 10 | IMM_WORD 2 | number 16 | word 4                      word: enum imm_word
 *
 * The number, in two fields with the high bits first, is the data of a word with little data: for
 * WORD_CONFIRMED the low bits of the number of messages that have come. For a credit it has the
 * first stretch of the receiver's window, and a digit: the new credit is the last one plus
 * digit * 1024^power. The power is added to WORD_CREDIT.
 */
#ifndef NCOLL_TRANSPORT_VERBS_IMM_H
#define NCOLL_TRANSPORT_VERBS_IMM_H

#include <stdbool.h>
#include <stdint.h>

#include "algos/schedule.h" /* SLOTS_MAX */
#include "transport/transport.h"

#define IMM_NUMBER    (1u << 26)
#define IMM_DIGIT     (1u << 10)
#define IMM_STRETCH   64u
#define IMM_STRETCHES (1u << 16)
_Static_assert((uint64_t)IMM_STRETCH *IMM_STRETCHES == 1u << 22, "a place takes 22 bits");
_Static_assert(IMM_STRETCHES <= IMM_NUMBER / IMM_DIGIT, "a credit names a stretch");
_Static_assert(EPOCHS <= 16, "an epoch takes 4 bits");

enum imm_kind {
    IMM_MESSAGE, /* the signature is in the slot */
    IMM_LEARN,   /* the signature is in the slot; the receiver keeps it under its digest */
    IMM_RECALL,  /* the signature is the one that the receiver kept last under this digest */
    IMM_WORD,
};

enum imm_word {
    WORD_CONFIRMED, /* the number of messages that the sender of this word has received */
    WORD_FAILURE,   /* a control word about a failure is in the inbox */
    WORD_LEFT,      /* the sender has destroyed its context; its farewell is in the inbox */
    WORD_RAW,       /* a message of the bare exchange */
    /* The words from here on count as messages, which the receiver confirms. */
    WORD_KEYS,     /* the keys of a window are in the inbox */
    WORD_HAS_KEYS, /* the answer to WORD_KEYS: the keys have been read */
    WORD_RAIL,     /* a word about the second cards */
    WORD_PART,     /* the first card has sent the second card's part of the message to this slot */
    WORD_CREDIT,   /* a credit; the power of the digit is added to this value */
};

/* A part of the difference between two credits: digit * IMM_DIGIT^power, digit < IMM_DIGIT. */
struct imm_step {
    unsigned power;
    uint32_t digit;
};
_Static_assert(WORD_CREDIT + 64 / 10 < 16, "a word takes 4 bits");

static inline unsigned imm_digest_of(struct signature signature)
{
    uint64_t mixed = signature.what * UINT64_C(0x9e3779b97f4a7c15) ^ signature.amount;
    return (unsigned)(mixed * UINT64_C(0xc2b2ae3d27d4eb4f) >> 60);
}

static inline uint32_t imm_pack(enum imm_kind kind, unsigned place, uint64_t epoch,
                                struct signature signature)
{
    return place >> 12 << 22 | (uint32_t)kind << 20 | (place & 4095) << 8 |
           ((uint32_t)epoch & 15) << 4 | imm_digest_of(signature);
}

static inline uint32_t imm_pack_word(unsigned word, uint32_t number)
{
    return (number >> 16 & 1023) << 22 | (uint32_t)IMM_WORD << 20 | (number & 65535) << 4 | word;
}

static inline enum imm_kind imm_kind(uint32_t imm)
{
    return (enum imm_kind)(imm >> 20 & 3);
}

static inline unsigned imm_place(uint32_t imm)
{
    return imm >> 22 << 12 | (imm >> 8 & 4095);
}

/* Returns the epoch whose low bits are in imm, from finished - 3 to finished + 12. finished: the
 * last epoch that this rank has finished. */
static inline uint64_t imm_epoch(uint32_t imm, uint64_t finished)
{
    uint32_t ahead = ((imm >> 4) - (uint32_t)finished + 3) & 15;
    return finished + ahead - 3;
}

static inline unsigned imm_digest(uint32_t imm)
{
    return imm & 15;
}

static inline uint32_t imm_number(uint32_t imm)
{
    return imm >> 22 << 16 | (imm >> 4 & 65535);
}

static inline unsigned imm_word(uint32_t imm)
{
    return imm & 15;
}

/* Returns true if a word counts as a message, which the receiver confirms. */
static inline bool imm_is_counted(uint32_t imm)
{
    return imm_word(imm) >= WORD_KEYS;
}

/* Returns the largest step that is not longer than the difference, which is not 0. */
static inline struct imm_step imm_step_to(uint64_t difference)
{
    struct imm_step step = {0};

    for (; difference >= IMM_DIGIT; difference /= IMM_DIGIT)
        step.power++;
    step.digit = (uint32_t)difference;
    return step;
}

static inline uint64_t imm_step_length(struct imm_step step)
{
    uint64_t length = step.digit;

    for (; step.power > 0; step.power--)
        length *= IMM_DIGIT;
    return length;
}

/* Returns the number in the word of a credit. stretch: the first one of the receiver's window. */
static inline uint32_t imm_credit(unsigned stretch, uint32_t digit)
{
    return stretch * IMM_DIGIT + digit;
}

static inline unsigned imm_credit_stretch(uint32_t imm)
{
    return imm_number(imm) / IMM_DIGIT;
}

static inline struct imm_step imm_credit_step(uint32_t imm)
{
    return (struct imm_step){imm_word(imm) - WORD_CREDIT, imm_number(imm) % IMM_DIGIT};
}

#endif
