/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/card.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/op.h"

#define LIST_BITS (4u * RADICES_MAX)
#define ROOT_BITS 20u
_Static_assert(LIST_BITS <= ROOT_BITS + 8, "what a list needs");

struct card ncoll__card(const struct card_fields *f)
{
    bool list = radix_is_list(f->radix);
    unsigned numbers = f->radix & ((1u << LIST_BITS) - 1);
    uint64_t what = list ? numbers >> ROOT_BITS : 0;

    what = what << 4 | (unsigned)f->collective;
    what = what << 8 | f->type;
    what = what << 11 | f->op;
    what = what << 6 | (f->algorithm != NULL ? ncoll__algorithm_number(f->algorithm) : 0);
    what = what << 5 | (list ? RADIX_MAX + radix_length(f->radix) : f->radix);
    what = what << ROOT_BITS | (list ? numbers & (ROOTS_MAX - 1) : f->root);
    what = what << 1 | f->irregular;
    return (struct card){what, f->amount};
}

/* Takes the lowest bits away from *what. */
static unsigned take(uint64_t *what, unsigned bits)
{
    unsigned field = (unsigned)(*what & ((UINT64_C(1) << bits) - 1));
    *what >>= bits;
    return field;
}

struct card_fields ncoll__card_fields(struct card card)
{
    uint64_t what = card.what;
    struct card_fields f = {.amount = card.amount};

    f.irregular = take(&what, 1) != 0;
    f.root = take(&what, ROOT_BITS);
    f.radix = take(&what, 5);
    unsigned number = take(&what, 6);
    f.op = take(&what, 11);
    f.type = take(&what, 8);
    f.collective = (enum collective)take(&what, 4);
    if (f.radix > RADIX_MAX) {
        f.radix = (f.radix - RADIX_MAX) << LIST_BITS | (unsigned)what << ROOT_BITS | f.root;
        f.root = 0;
    }
    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        if (i + 1 == number)
            f.algorithm = ncoll__algorithms[i];
    return f;
}

uint64_t ncoll__card_hash(const size_t *counts, unsigned n)
{
    uint64_t h = n;

    for (unsigned i = 0; i < n; i++) {
        h = (h ^ counts[i]) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    return h;
}

static const char *const names[COLLECTIVES] = {
    [COLL_BARRIER] = "barrier",
    [COLL_ALLREDUCE] = "allreduce",
    [COLL_BCAST] = "bcast",
    [COLL_REDUCE] = "reduce",
    [COLL_GATHER] = "gather",
    [COLL_SCATTER] = "scatter",
    [COLL_ALLGATHER] = "allgather",
    [COLL_ALLTOALL] = "alltoall",
    [COLL_REDUCE_SCATTER] = "reduce_scatter",
    [COLL_SCAN] = "scan",
    [COLL_EXSCAN] = "exscan",
};

const char *ncoll__collective_name(enum collective collective)
{
    return collective < COLLECTIVES && names[collective] != NULL ? names[collective] : NULL;
}

const char *ncoll__card_text(struct card card, char *text, size_t size)
{
    struct card_fields f = ncoll__card_fields(card);
    const char *name = ncoll__collective_name(f.collective);
    char data[80] = "", op[64] = "", root[32] = "", radix[RADIX_TEXT];

    if (name == NULL) {
        snprintf(text, size, "an unknown collective (card %016" PRIx64 ")", card.what);
        return text;
    }
    if (f.collective != COLL_BARRIER && f.irregular && f.collective != COLL_ALLTOALL)
        snprintf(data, sizeof data, "v of %s, counts with hash %016" PRIx64,
                 ncoll__type_name(f.type), f.amount);
    else if (f.collective != COLL_BARRIER)
        snprintf(data, sizeof data, "%s of %" PRIu64 " %s", f.irregular ? "v" : "", f.amount,
                 ncoll__type_name(f.type));
    if (f.op >= OP_USER) /* in the order of ncoll_op_create(), from 0 */
        snprintf(op, sizeof op, ", %s operation %u", ncoll__op_name(f.op), f.op - OP_USER);
    else if (f.op != 0)
        snprintf(op, sizeof op, ", %s", ncoll__op_name(f.op));
    if (is_rooted(f.collective))
        snprintf(root, sizeof root, ", root %u", f.root);
    snprintf(text, size, "%s%s%s%s (%s, n = %s)", name, data, op, root,
             f.algorithm != NULL ? f.algorithm->name : "unknown algorithm",
             ncoll__radix_text(f.radix, radix));
    return text;
}
