/* SPDX-License-Identifier: BSD-3-Clause */
/* A compressor: a codec, the residual, memory for encoded vectors, and the state of the unfinished
 * call. */
#ifndef NCOLL_LIB_BASE_COMPRESSOR_H
#define NCOLL_LIB_BASE_COMPRESSOR_H

#include "lib/base/call.h"
#include "lib/base/definition.h"
#include "ncoll_eventual.h"

#define COMPRESSOR_MAGIC UINT64_C(0x6e636f6c6c636d70)

/* One of the collectives that a compressed call consists of. */
struct compressed_step {
    struct ncoll_compressor *of;
    /* Does the local work before the step, such as encoding what is sent. Returns NCOLL_OK, or an
     * error that is a failure of the job. NULL: there is none. */
    int (*work)(struct ncoll_compressor *z, struct call *c);
    struct call call; /* not used in the last step, for which the user's own call is queued */
};

/* The most steps of a call: entry barrier, alltoall, allgather, vote, exit barrier, and one
 * exchange of lengths before each of alltoall and allgather. */
#define COMPRESSED_STEPS 7u

/* The local work of a call that has been done, in this order. A call skips work that it does not
 * need. */
enum compressed_work {
    WORK_NONE,
    WORK_ENCODED, /* this rank's vector has been encoded */
    WORK_SUMMED,  /* the vectors' chunks for this rank have been added up, and the sum encoded */
    WORK_DECODED,
};

struct ncoll_compressor {
    uint64_t magic;
    struct ncoll_compressor *next; /* next compressor of the context */
    struct ncoll_context *ctx;
    struct ncoll_group *group; /* NULL: the group has been freed */
    ncoll_codec codec;         /* copy of the user's codec; codec.name points to name.text */
    struct user_name name;
    unsigned op;         /* number of the codec, from OP_CODEC on: see signature.h */
    unsigned definition; /* hash of the name, flags, parameters and bounds of the codec, 16 bits */
    size_t count, element;
    ncoll_type type;
    bool feedback;
    bool fixed;        /* encode() always returns bound() */
    unsigned n_chunks; /* chunks of a vector in an allreduce; 1: vectors are encoded as a whole */
    /* The most bytes of an encoded vector, of an encoded longer chunk, and of an encoded shorter
     * chunk; 0: it has no elements. The first count % n_chunks chunks are the longer ones. */
    size_t bound, bound_longer, bound_shorter;

    /*
     * Each encoded chunk (or vector) lies in a block of `block` words of 8 bytes, behind the first
     * of them. If lengths are fixed, this first word is the head of the block (see head()), and
     * whole blocks are sent. Otherwise the heads are sent first, from own_heads, and of each block
     * only the words that are used.
     */
    size_t block;
    uint64_t *own, *got;            /* blocks of this rank, and those that came from all ranks */
    int64_t *own_heads, *got_heads; /* [size] heads of the blocks; NULL: lengths are fixed */
    /* [size] each: used words of the blocks to send and to get, and the offset of the encoded data
     * of each block, in words */
    size_t *send_words, *got_words, *at;

    /* the residual, and the one that takes its place when the call has ended with NCOLL_OK; NULL:
     * the compressor has no error feedback */
    void *residual, *residual_next;
    void *decoded; /* a decoded vector or chunk; NULL: not needed */
    /* with chunks: the sum of a chunk, and what its encoding has lost; else NULL */
    void *sum, *lost;

    /* the state of the unfinished call */
    struct known_call known; /* the known call, if it is a blocking one */
    struct call_args args;
    /* the call of the latest use of the compressor; NULL: it has not been used */
    struct call *last;
    /* operation in the signatures of the call's steps: `op`, plus OP_BCAST in a bcast */
    unsigned collective_op;
    enum compressed_work done;
    int status; /* the first status of a step that was not NCOLL_OK */
    /* the lowest failure of a codec (see codec_failure()): of this rank, and after the vote of all
     * ranks; 0: none */
    int64_t failed, agreed;
    struct compressed_step steps[COMPRESSED_STEPS];
    unsigned n_steps;
};

#endif
