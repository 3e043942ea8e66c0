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

/* The part of a call's threshold that must be the same on all ranks. It describes the call that the
 * user made; the other fields of struct call_args describe the smaller call that the library makes
 * in its place. All 0: the call has no threshold. */
struct threshold_key {
    unsigned of;      /* enum ncoll_threshold_of */
    unsigned percent; /* the fraction in percent, rounded */
    uint64_t hash;    /* hash of the fraction, the weights, and what earlier calls have delivered */
    size_t count;     /* elements of the user's whole vector */
    ncoll_type type;
};

/* A bit of call_args.sync: the call is made on an object of lib/stale. Its root is then the slack,
 * or in a partial allreduce the quorum. */
#define SYNC_STALE 0x100u

/* The arguments of a call, given by the user, or by the library for a call of its own. Fields
 * marked "library" cannot be set by the user. */
struct call_args {
    enum collective collective;
    const void *in;
    void *out;
    size_t count;
    /* The element counts of the blocks and their displacements, [size of the group] each; NULL: the
     * call has none. `counts` and `displs` describe the buffer that consists of blocks, in an
     * alltoall OUT; `sends` and `send_displs` describe IN of an alltoall. */
    const size_t *counts, *displs;
    const size_t *sends, *send_displs;
    int root;
    ncoll_type type;
    ncoll_op op;
    unsigned radix; /* library; 0: ncoll chooses it */
    /* NCOLL_STRICT_* bits. In a barrier that the library makes for a strict call: the bit for the
     * end of that call, entry or exit, at which the barrier is. */
    unsigned sync;
    bool needs_counts; /* the caller has to pass counts */
    bool internal;     /* a call of the library's own: algorithms that users force do not apply */
    const struct algorithm *algorithm; /* library; NULL: ncoll chooses it */
    const struct op *own_op;           /* library; used in place of `op` unless NULL */
    /* library; the signature of the call's messages; all 0: that of the call itself */
    struct signature purpose;
    bool once;    /* library; the plan will not be used again, so it is not kept */
    void *result; /* with SYNC_STALE: the user's ncoll_stale_result to fill in, or NULL */
    /* the compressor of a compressed call, whose `op` is OP_CODEC; NULL: not compressed */
    struct ncoll_compressor *compressor;
    /* The number of ranks that take part in the call; 0: all of them (see struct shape).
     * rank_at: [size of the group] the rank of each place, then the ranks that take no part; NULL:
     * the places follow the order of ranks, from the root on. */
    unsigned places;
    const size_t *rank_at;
    struct threshold_key threshold;
    /* the state of this call's threshold, on which no plan depends; NULL: none */
    struct threshold *made;
};

/* The arguments of a collective as the user passes them. The struct is smaller than struct
 * call_args, so that a compiler keeps it in registers. */
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

/* Returns true if both have the same arguments, and neither is a call with counts. */
static inline __attribute__((always_inline)) bool ncoll__same_plain(const struct call_args *a,
                                                                    const struct plain_args *b)
{
    return a->collective == b->collective && a->in == b->in && a->out == b->out &&
           a->count == b->count && a->root == b->root && a->type == b->type && a->op == b->op &&
           !a->needs_counts && !b->needs_counts;
}

/* Returns true if the user gave the same arguments in both calls. The arrays are compared only if
 * the calls need counts, as other calls have none. */
static inline __attribute__((always_inline)) bool ncoll__same_args(const struct call_args *a,
                                                                   const struct call_args *b)
{
    bool same = a->collective == b->collective && a->in == b->in && a->out == b->out &&
                a->count == b->count && a->root == b->root && a->type == b->type &&
                a->op == b->op && a->needs_counts == b->needs_counts;

    return same && (!a->needs_counts || (a->counts == b->counts && a->displs == b->displs &&
                                         a->sends == b->sends && a->send_displs == b->send_displs));
}

/* Returns true if both have the same threshold, or none. The short path of a call
 * (ncoll__same_plain()) need not compare thresholds, since it is not taken with one. */
static inline bool ncoll__same_threshold(const struct call_args *a, const struct call_args *b)
{
    return a->threshold.of == b->threshold.of && a->threshold.percent == b->threshold.percent &&
           a->threshold.hash == b->threshold.hash && a->threshold.count == b->threshold.count &&
           a->threshold.type == b->threshold.type && a->places == b->places;
}

#endif
