/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/failure/card.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/compute/op.h"

#define LIST_BITS (4u * RADICES_MAX)
#define ROOT_BITS 20u
#define MORE_BITS 8u
_Static_assert(LIST_BITS <= ROOT_BITS + MORE_BITS, "what a list needs");

static bool is_group_call(const struct card_fields *f)
{
    return (unsigned)f->collective >= COLLECTIVES;
}

struct card ncoll__card(const struct card_fields *f)
{
    bool list = radix_is_list(f->radix), group = is_group_call(f);
    unsigned numbers = f->radix & ((1u << LIST_BITS) - 1);
    unsigned radix = group  ? (unsigned)f->errand
                     : list ? RADIX_MAX + radix_length(f->radix)
                            : f->radix;
    uint64_t what = !group && f->errand == ERRAND_WIRE;

    what = what << MORE_BITS | (list ? numbers >> ROOT_BITS : 0);
    what = what << 4 | (unsigned)f->collective;
    what = what << 8 | f->type;
    what = what << 11 | f->op;
    what = what << 6 | (f->algorithm != NULL ? ncoll__algorithm_number(f->algorithm) : 0);
    what = what << 5 | radix;
    what = what << ROOT_BITS | (list ? numbers & (ROOTS_MAX - 1) : f->root);
    what = what << 1 | f->irregular;
    return (struct card){what, f->amount & AMOUNT_MASK};
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
    struct card_fields f = {.amount = card.amount & AMOUNT_MASK};

    f.irregular = take(&what, 1) != 0;
    f.root = take(&what, ROOT_BITS);
    f.radix = take(&what, 5);
    unsigned number = take(&what, 6);
    f.op = take(&what, 11);
    f.type = take(&what, 8);
    f.collective = (enum collective)take(&what, 4);
    unsigned more = take(&what, MORE_BITS), wire = take(&what, 1);
    if (is_group_call(&f)) {
        f.errand = (enum errand)f.radix;
        f.radix = 0;
    } else if (wire != 0) {
        f.errand = ERRAND_WIRE;
    } else if (f.collective == COLL_ALLTOALL && f.op != 0) {
        f.errand = ERRAND_AGREE;
    }
    if (f.radix > RADIX_MAX) {
        f.radix = (f.radix - RADIX_MAX) << LIST_BITS | more << ROOT_BITS | f.root;
        f.root = 0;
    }
    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        if (i + 1 == number)
            f.algorithm = ncoll__algorithms[i];
    return f;
}

struct card ncoll__group_card(enum group_call call, uint64_t amount)
{
    struct card_fields fields = {.collective = (enum collective)call, .amount = amount};
    return ncoll__card(&fields);
}

struct card ncoll__card_with(struct card card, enum errand errand)
{
    struct card_fields fields = ncoll__card_fields(card);

    fields.errand = errand;
    return ncoll__card(&fields);
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

static const char *const names[GROUP_CALLS] = {
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
    [GROUP_SPLIT] = "group_split",
    [GROUP_FROM_RANKS] = "group_from_ranks",
    [GROUP_DUP] = "group_dup",
    [GROUP_FREE] = "group_free",
};

const char *ncoll__collective_name(enum collective collective)
{
    return (unsigned)collective < GROUP_CALLS ? names[collective] : NULL;
}

/* What a barrier is for. */
static const char *barrier_text(uint64_t amount)
{
    return amount == NCOLL_STRICT_ENTRY  ? " at the entry of a strict call"
           : amount == NCOLL_STRICT_EXIT ? " at the exit of a strict call"
                                         : "";
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
    if ((unsigned)f.collective == GROUP_FROM_RANKS)
        snprintf(data, sizeof data, " of ranks with hash %012" PRIx64, f.amount);
    if ((unsigned)f.collective >= COLLECTIVES) {
        snprintf(text, size, "%s%s", name, data);
        return text;
    }
    if (f.collective == COLL_ALLTOALL && f.irregular && f.amount == AMOUNT_WHOLE)
        snprintf(data, sizeof data, "v of %s", ncoll__type_name(f.type));
    else if (f.collective != COLL_BARRIER && f.irregular && f.collective != COLL_ALLTOALL)
        snprintf(data, sizeof data, "v of %s, counts with hash %012" PRIx64,
                 ncoll__type_name(f.type), f.amount);
    else if (f.collective == COLL_BARRIER)
        snprintf(data, sizeof data, "%s", barrier_text(f.amount));
    else
        snprintf(data, sizeof data, "%s of %" PRIu64 " %s", f.irregular ? "v" : "", f.amount,
                 ncoll__type_name(f.type));
    if (f.collective == COLL_ALLTOALL && f.op != 0) {
        snprintf(text, size, "%s%s (agreeing on its counts)", name, data);
        return text;
    }
    if (f.collective == COLL_ALLTOALL && f.irregular && f.algorithm == NULL) {
        /* before there is a schedule: what one of two ranks sends and the other awaits */
        snprintf(text, size, "%s%s%s", name, data,
                 f.amount == AMOUNT_WHOLE ? "" : " from one of them to the other");
        return text;
    }
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
