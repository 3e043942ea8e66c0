/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The card: one word that says what a rank has called, carried by every message, so that a
 * mismatched call is seen, and can be put in words on both sides, at the first message.
 *
 *     collective 4 | type 4 | operation 10 | algorithm 4 | radix 5 | count 37    (high to low)
 *
 * Counts that differ by a multiple of 2^37 elements look alike. A card is never 0.
 */
#ifndef NCOLL_LIB_CARD_H
#define NCOLL_LIB_CARD_H

#include <stddef.h>
#include <stdint.h>

#include "algos/schedule.h"
#include "ncoll.h"

#define OP_USER 16u   /* the first number of a user-defined operation */
#define OPS_MAX 1000u /* user-defined operations of a context: what the card can tell apart */

uint64_t ncoll__card(enum collective collective, size_t count, ncoll_type type, ncoll_op op,
                     unsigned algorithm, unsigned radix);

struct card_fields {
    enum collective collective;
    const struct algorithm *algorithm; /* NULL: none of this library's */
    unsigned radix, type, op;
    size_t count;
};
struct card_fields ncoll__card_fields(uint64_t card);

/* "allreduce of 3 int64, sum (two-window, n = 1)" into text. Returns text. */
const char *ncoll__card_text(uint64_t card, char *text, size_t size);

#endif
