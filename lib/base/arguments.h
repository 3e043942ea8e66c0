/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments of a collective call. */
#ifndef NCOLL_LIB_BASE_ARGUMENTS_H
#define NCOLL_LIB_BASE_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "algos/schedule.h"
#include "ncoll.h"
#include "transport/transport.h"

struct ncoll_compressor;
struct op;
struct threshold;

/* The part of a call's threshold on which all ranks have to agree, as the user gave it. The other
 * arguments are those of the smaller call that is made in its place. All 0: there is no threshold. */
struct threshold_key {
    unsigned of;      /* enum ncoll_threshold_of */
    unsigned percent; /* of the fraction, rounded */
    uint64_t hash;    /* of the fraction, of weights, and of earlier calls that it goes on with */
    size_t count;     /* elements of the whole vector */
    ncoll_type type;
};

/* A bit of call_args.sync: a call on mailboxes (lib/stale), or one with slack 0 on their group. Then
 * root is the slack, or the quorum. */
#define SYNC_STALE 0x100u

/* The arguments that the user gave, or the library for a call of its own. The fields from `radix`
 * to `once` that the user cannot set are marked "library". */
struct call_args {
    enum collective collective;
    const void *in;
    void *out;
    size_t count;
    /* Element counts of the blocks and their places, [size of the group] each; NULL if the call has
     * none. `counts` and `displs` describe the buffer that has blocks, in an alltoall OUT; `sends`
     * and `send_displs` describe IN of an alltoall. */
    const size_t *counts, *displs;
    const size_t *sends, *send_displs;
    int root;
    ncoll_type type;
    ncoll_op op;
    unsigned radix; /* library; 0: chosen */
    /* NCOLL_STRICT_*. In a barrier that the library makes for a strict call: whether the barrier is
     * at the entry or at the exit of that call. */
    unsigned sync;
    bool needs_counts; /* the caller has to pass counts */
    bool internal;     /* library's own call: algorithms that users force do not apply */
    const struct algorithm *algorithm; /* library; NULL: chosen */
    const struct op *own_op;           /* library; used in place of op */
    /* library: the signature of its messages; all 0: that of the call itself */
    struct signature purpose;
    bool once;    /* library: the plan will not be used again, so it is not kept */
    void *result; /* SYNC_STALE: the user's ncoll_stale_result, or NULL */
    /* of a compressed call, whose `op` is OP_CODEC; NULL: another call */
    struct ncoll_compressor *compressor;
    /* A call of a part of the ranks: see struct shape. [size of the group]: ranks without a place come
     * last. */
    unsigned places;
    const size_t *rank_at;
    struct threshold_key threshold;
    struct threshold *made; /* the threshold of this very call, on which no plan depends */
};

/* The arguments of a call that a user can give directly. Less than struct call_args, so that a compiler
 * keeps them in registers. */
struct plain_args {
    enum collective collective;
    const void *in;
    void *out;
    size_t count;
    const size_t *counts, *displs, *sends, *send_displs;
    int root;
    ncoll_type type;
    ncoll_op op;
    unsigned sync;
    bool needs_counts;
};

/* Returns true if the user gave the same arguments, of a call without counts. */
static inline __attribute__((always_inline)) bool ncoll__same_plain(const struct call_args *a,
                                                                    const struct plain_args *b)
{
    return a->collective == b->collective && a->in == b->in && a->out == b->out &&
           a->count == b->count && a->root == b->root && a->type == b->type && a->op == b->op &&
           !a->needs_counts && !b->needs_counts;
}

/* Returns true if the user gave the same arguments. Only calls that need counts have arrays. */
static inline __attribute__((always_inline)) bool ncoll__same_args(const struct call_args *a,
                                                                   const struct call_args *b)
{
    bool same = a->collective == b->collective && a->in == b->in && a->out == b->out &&
                a->count == b->count && a->root == b->root && a->type == b->type &&
                a->op == b->op && a->needs_counts == b->needs_counts;

    return same && (!a->needs_counts || (a->counts == b->counts && a->displs == b->displs &&
                                         a->sends == b->sends && a->send_displs == b->send_displs));
}

/* Returns true if both have the same threshold, or none. Calls with a threshold are never plain, so
 * the short path need not compare it. */
static inline bool ncoll__same_threshold(const struct call_args *a, const struct call_args *b)
{
    return a->threshold.of == b->threshold.of && a->threshold.percent == b->threshold.percent &&
           a->threshold.hash == b->threshold.hash && a->threshold.count == b->threshold.count &&
           a->threshold.type == b->threshold.type && a->places == b->places;
}

#endif
