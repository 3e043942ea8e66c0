/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/signature.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "lib/base/type.h"

#define LIST_BITS (4u * RADICES_MAX)
#define ROOT_BITS 20u
#define MORE_BITS 8u
_Static_assert(LIST_BITS <= ROOT_BITS + MORE_BITS, "what a list needs");

static bool is_group_call(const struct signature_fields *f)
{
    return (unsigned)f->collective >= COLLECTIVES;
}

/* Returns true if the user has created the type or the operation, or if there is a threshold. */
static bool is_defined(const struct signature_fields *f)
{
    return !is_group_call(f) && (f->type >= TYPE_USER || f->op >= OP_USER || f->of != 0);
}

#define MORE_RANKS (1u << (MORE_BITS - 1)) /* set if the threshold counts ranks */

static unsigned pack_threshold(const struct signature_fields *f)
{
    return f->percent | (f->of == NCOLL_THRESHOLD_RANKS ? MORE_RANKS : 0);
}

/* Returns the 16 bits of the definition. With a threshold, the lowest bit says whether the elements
 * are the heaviest ones. */
static uint64_t pack_definition(const struct signature_fields *f)
{
    if (f->of == 0)
        return f->definition;
    return (f->definition & ~1u) | (f->of == NCOLL_THRESHOLD_HEAVIEST);
}

static void unpack_threshold(struct signature_fields *f, unsigned more)
{
    if ((f->collective != COLL_BCAST && f->collective != COLL_REDUCE) || !f->irregular ||
        is_codec_op(f->op))
        return;
    f->irregular = false;
    f->percent = more & (MORE_RANKS - 1);
    f->of = more & MORE_RANKS ? NCOLL_THRESHOLD_RANKS : NCOLL_THRESHOLD_DATA;
}

#define COUNT_BITS 32u
#define COUNT_MASK UINT32_MAX /* also stands for AMOUNT_WHOLE */

static uint64_t pack_amount(const struct signature_fields *f)
{
    if (!is_defined(f))
        return f->amount & AMOUNT_MASK;
    uint64_t above = f->amount != AMOUNT_WHOLE ? f->amount >> COUNT_BITS : 0;
    uint64_t folded = above * UINT64_C(0x9e3779b97f4a7c15) >> 48;
    if (f->of != 0)
        folded &= ~UINT64_C(1);
    return ((pack_definition(f) ^ folded) & 0xffff) << COUNT_BITS | (f->amount & COUNT_MASK);
}

static void unpack_amount(struct signature_fields *f, uint64_t amount)
{
    f->amount = amount & AMOUNT_MASK;
    if (!is_defined(f))
        return;
    f->definition = (unsigned)(f->amount >> COUNT_BITS);
    f->amount &= COUNT_MASK;
    if (f->of == NCOLL_THRESHOLD_DATA && f->definition & 1)
        f->of = NCOLL_THRESHOLD_HEAVIEST;
    if (f->collective == COLL_ALLTOALL && f->irregular && f->amount == COUNT_MASK)
        f->amount = AMOUNT_WHOLE;
}

struct signature ncoll__signature(const struct signature_fields *f)
{
    bool list = radix_is_list(f->radix), group = is_group_call(f);
    unsigned numbers = f->radix & ((1u << LIST_BITS) - 1);
    unsigned radix = group  ? (unsigned)f->purpose
                     : list ? RADIX_MAX + radix_length(f->radix)
                            : f->radix;
    uint64_t what = !group && f->purpose == PURPOSE_WIRE;

    what = what << MORE_BITS | (list ? numbers >> ROOT_BITS : pack_threshold(f));
    what = what << 4 | (unsigned)f->collective;
    what = what << 8 | f->type;
    what = what << 11 | f->op;
    what = what << 6 | (f->algorithm != NULL ? ncoll__algorithm_number(f->algorithm) : 0);
    what = what << 5 | radix;
    what = what << ROOT_BITS | (list ? numbers & (ROOTS_MAX - 1) : f->root);
    what = what << 1 | (f->irregular || f->of != 0);
    return (struct signature){what, pack_amount(f)};
}

/* Returns the lowest bits of *what, and shifts them out. */
static unsigned take(uint64_t *what, unsigned bits)
{
    unsigned field = (unsigned)(*what & ((UINT64_C(1) << bits) - 1));
    *what >>= bits;
    return field;
}

struct signature_fields ncoll__signature_fields(struct signature signature)
{
    uint64_t what = signature.what;
    struct signature_fields f = {.type = 0};

    f.irregular = take(&what, 1) != 0;
    f.root = take(&what, ROOT_BITS);
    f.radix = take(&what, 5);
    unsigned number = take(&what, 6);
    f.op = take(&what, 11);
    f.type = take(&what, 8);
    f.collective = (enum collective)take(&what, 4);
    unsigned more = take(&what, MORE_BITS), wire = take(&what, 1);
    unpack_threshold(&f, more);
    unpack_amount(&f, signature.amount);
    if (is_group_call(&f)) {
        f.purpose = (enum purpose)f.radix;
        f.radix = 0;
    } else if (wire != 0) {
        f.purpose = PURPOSE_WIRE;
    } else if (f.collective == COLL_ALLTOALL && f.op != 0 && !is_codec_op(f.op)) {
        f.purpose = PURPOSE_AGREE;
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

uint64_t ncoll__signature_amount(struct signature signature, uint64_t count)
{
    struct signature_fields fields = ncoll__signature_fields(signature);

    fields.amount = count;
    return pack_amount(&fields);
}

bool ncoll__signature_differs_in_definition(struct signature a, struct signature b)
{
    struct signature_fields f = ncoll__signature_fields(a), h = ncoll__signature_fields(b);

    return is_defined(&f) && f.collective == h.collective && f.type == h.type && f.op == h.op &&
           f.irregular == h.irregular && f.definition != h.definition;
}

ncoll_reason ncoll__signature_reason(struct signature a, struct signature b)
{
    struct signature_fields f = ncoll__signature_fields(a), h = ncoll__signature_fields(b);

    if (ncoll__signature_same_call(a, b))
        return NCOLL_REASON_CALLS_DIFFER;
    if (f.collective != h.collective || f.irregular != h.irregular)
        return NCOLL_REASON_COLLECTIVE_DIFFERS;
    if (f.type != h.type)
        return NCOLL_REASON_TYPE_DIFFERS;
    if (f.op != h.op)
        return NCOLL_REASON_OPERATION_DIFFERS;
    if (f.root != h.root)
        return NCOLL_REASON_ROOT_DIFFERS;
    if (f.amount != h.amount)
        return NCOLL_REASON_COUNT_DIFFERS;
    if (f.definition != h.definition || f.of != h.of || f.percent != h.percent)
        return NCOLL_REASON_DEFINITION_DIFFERS;
    return f.algorithm != h.algorithm || f.radix != h.radix ? NCOLL_REASON_ALGORITHM_DIFFERS
                                                            : NCOLL_REASON_CALLS_DIFFER;
}

struct signature ncoll__group_signature(enum group_call call, uint64_t amount)
{
    struct signature_fields fields = {.collective = (enum collective)call, .amount = amount};
    return ncoll__signature(&fields);
}

struct signature ncoll__signature_with(struct signature signature, enum purpose purpose)
{
    struct signature_fields fields = ncoll__signature_fields(signature);

    fields.purpose = purpose;
    return ncoll__signature(&fields);
}

/* Hashes every fourth number into each of four hashes, which a processor computes side by side. */
uint64_t ncoll__signature_hash(const size_t *counts, unsigned n)
{
    uint64_t h[4] = {n, ncoll__hash_on(n, 1), ncoll__hash_on(n, 2), ncoll__hash_on(n, 3)};
    unsigned i = 0;

    for (; i + 4 <= n; i += 4)
        for (unsigned k = 0; k < 4; k++)
            h[k] = ncoll__hash_on(h[k], counts[i + k]);
    for (; i < n; i++)
        h[0] = ncoll__hash_on(h[0], counts[i]);
    return ncoll__hash_on(ncoll__hash_on(ncoll__hash_on(h[0], h[1]), h[2]), h[3]);
}

bool ncoll__signature_is_compressed(struct signature signature)
{
    return is_codec_op(ncoll__signature_fields(signature).op);
}

/* Writes the compressed call that a step belongs to, as in "allreduce of 8 float, compressed by
 * bfloat16". */
static void compressed_text(const struct signature_fields *f, char *text, size_t size)
{
    static const char *const codecs[] = {"a codec of the user's own", "bfloat16", "half"};
    unsigned op = (f->op - OP_CODEC) % OP_BCAST;
    bool bcast = f->op - OP_CODEC >= OP_BCAST;
    char codec[64] = "an unknown codec", root[32] = "";

    if (op < sizeof codecs / sizeof codecs[0])
        snprintf(codec, sizeof codec, "%s", codecs[op]);
    else if (op >= OP_CODEC_TOPK - OP_CODEC)
        snprintf(codec, sizeof codec, "topk of about %.1g",
                 exp2(-(double)(op + OP_CODEC - OP_CODEC_TOPK) / 8));
    if (bcast)
        snprintf(root, sizeof root, ", root %u", f->root);
    snprintf(text, size, "%s of %" PRIu64 " %s%s, compressed by %s", bcast ? "bcast" : "allreduce",
             f->amount, ncoll__type_name(f->type), root, codec);
}

/* Returns the purpose of a barrier in words. */
static const char *barrier_text(uint64_t amount)
{
    return amount == NCOLL_STRICT_ENTRY  ? " at the entry of a strict call"
           : amount == NCOLL_STRICT_EXIT ? " at the exit of a strict call"
                                         : "";
}

/* Returns the operation in words. User-defined ones are numbered from 0, in the order of
 * ncoll_op_create(). */
static const char *op_text(const struct signature_fields *f, char *text, size_t size)
{
    if (f->op == 0)
        return "";
    if (f->op >= OP_USER)
        snprintf(text, size, ", %s operation %u", ncoll__op_name(f->op), f->op - OP_USER);
    else
        snprintf(text, size, ", %s", ncoll__op_name(f->op));
    return text;
}

/* Returns the root in words, or the slack of an allreduce on mailboxes. */
static const char *root_text(const struct signature_fields *f, char *text, size_t size)
{
    if (is_rooted(f->collective))
        snprintf(text, size, ", root %u", f->root);
    else if (f->root >= ROOT_PARTIAL)
        return ", partial";
    else if (f->root > 0)
        snprintf(text, size, ", slack %u", f->root);
    else
        return "";
    return text;
}

/* Returns the threshold in words. */
static const char *threshold_text(const struct signature_fields *f, char *text, size_t size)
{
    static const char *const of[] = {[NCOLL_THRESHOLD_DATA] = "the data",
                                     [NCOLL_THRESHOLD_HEAVIEST] = "the heaviest data",
                                     [NCOLL_THRESHOLD_RANKS] = "the ranks"};

    if (f->of == 0)
        return "";
    snprintf(text, size, ", %u %% of %s (hash %04x)", f->percent, of[f->of], f->definition);
    return text;
}

const char *ncoll__signature_text(struct signature signature, char *text, size_t size)
{
    struct signature_fields f = ncoll__signature_fields(signature);
    const char *name = ncoll__collective_name(f.collective);
    char data[80] = "", op[64], root[32], radix[RADIX_TEXT], threshold[64];

    if (name == NULL) {
        snprintf(text, size, "an unknown collective (signature %016" PRIx64 ")", signature.what);
        return text;
    }
    if (is_codec_op(f.op)) {
        compressed_text(&f, text, size);
        return text;
    }
    if ((unsigned)f.collective == GROUP_FROM_RANKS)
        snprintf(data, sizeof data, " of ranks with hash %012" PRIx64, f.amount);
    if ((unsigned)f.collective == GROUP_DUP && f.amount != 0) {
        snprintf(text, size, "stale_create of an object with hash %012" PRIx64, f.amount);
        return text;
    }
    if ((unsigned)f.collective == GROUP_FREE && f.amount != 0) {
        snprintf(text, size, "stale_free");
        return text;
    }
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
        /* the algorithm is not known until the call has a plan */
        snprintf(text, size, "%s%s%s", name, data,
                 f.amount == AMOUNT_WHOLE ? "" : " from one rank to the other");
        return text;
    }
    /* a partial allreduce has no algorithm */
    if (f.collective == COLL_ALLREDUCE && f.root >= ROOT_PARTIAL) {
        snprintf(text, size, "%s%s%s%s", name, data, op_text(&f, op, sizeof op),
                 root_text(&f, root, sizeof root));
        return text;
    }
    snprintf(text, size, "%s%s%s%s%s (%s, n = %s)", name, data, op_text(&f, op, sizeof op),
             root_text(&f, root, sizeof root), threshold_text(&f, threshold, sizeof threshold),
             f.algorithm != NULL ? f.algorithm->name : "unknown algorithm",
             ncoll__radix_text(f.radix, radix));
    return text;
}
