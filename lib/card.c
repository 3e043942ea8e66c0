/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/card.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/op.h"

#define COUNT_BITS 37

uint64_t ncoll__card(enum collective collective, size_t count, ncoll_type type, ncoll_op op,
                     unsigned algorithm, unsigned radix)
{
    uint64_t card = (uint64_t)collective;
    card = card << 4 | (uint64_t)type;
    card = card << 10 | op;
    card = card << 4 | algorithm;
    card = card << 5 | radix;
    return card << COUNT_BITS | ((uint64_t)count & ((UINT64_C(1) << COUNT_BITS) - 1));
}

struct card_fields ncoll__card_fields(uint64_t card)
{
    unsigned number = card >> (COUNT_BITS + 5) & 15;
    struct card_fields f = {
        .collective = (enum collective)(card >> (COUNT_BITS + 23)),
        .radix = card >> COUNT_BITS & 31,
        .type = card >> (COUNT_BITS + 19) & 15,
        .op = card >> (COUNT_BITS + 9) & 1023,
        .count = card & ((UINT64_C(1) << COUNT_BITS) - 1),
    };

    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        if (i + 1 == number)
            f.algorithm = ncoll__algorithms[i];
    return f;
}

const char *ncoll__card_text(uint64_t card, char *text, size_t size)
{
    struct card_fields f = ncoll__card_fields(card);
    const char *name = f.algorithm != NULL ? f.algorithm->name : "unknown algorithm";
    char number[24] = "";

    if (f.op >= OP_USER) /* in the order of ncoll_op_create(), from 0 */
        snprintf(number, sizeof number, " operation %u", f.op - OP_USER);

    if (f.collective == COLL_BARRIER)
        snprintf(text, size, "barrier (%s, n = %u)", name, f.radix);
    else if (f.collective == COLL_ALLREDUCE)
        snprintf(text, size, "allreduce of %zu %s, %s%s (%s, n = %u)", f.count,
                 ncoll__type_name(f.type), ncoll__op_name(f.op), number, name, f.radix);
    else
        snprintf(text, size, "an unknown collective (card %016" PRIx64 ")", card);
    return text;
}
