/* SPDX-License-Identifier: BSD-3-Clause */
/* A compressor: a codec, the residual, memory for encoded vectors, and the state of its call. */
#ifndef NCOLL_LIB_BASE_COMPRESSOR_H
#define NCOLL_LIB_BASE_COMPRESSOR_H

#include "lib/base/call.h"
#include "lib/base/definition.h"
#include "ncoll_eventual.h"

#define COMPRESSOR_MAGIC UINT64_C(0x6e636f6c6c636d70)

/* One of the collectives that a compressed call consists of. */
struct compressed_step {
    struct ncoll_compressor *of;
    /* Local work before the step, such as encoding what it sends. Returns NCOLL_OK, or an error that
     * is a failure of the job. NULL: there is none. */
    int (*work)(struct ncoll_compressor *z, struct call *c);
    struct call call; /* of the last step: not used, it is the user's call */
};

/* entry barrier, alltoall, allgather, vote, exit barrier; before alltoall and allgather: lengths */
#define COMPRESSED_STEPS 7u

/* The local work of a call, in this order. Work that a call does not have is skipped. */
enum compressed_work {
    WORK_NONE,
    WORK_ENCODED, /* this rank's vector */
    WORK_SUMMED,  /* this rank's chunk, and encoded its sum */
    WORK_DECODED,
};

struct ncoll_compressor {
    uint64_t magic;
    struct ncoll_compressor *next; /* next of the context */
    struct ncoll_context *ctx;
    struct ncoll_group *group; /* NULL: the group has been freed */
    ncoll_codec codec;         /* its name is in `name` */
    struct user_name name;
    unsigned op;         /* OP_CODEC .. */
    unsigned definition; /* hash of name, flags, parameters and bounds */
    size_t count, element;
    ncoll_type type;
    bool feedback;
    bool fixed;        /* encode() always returns bound() */
    unsigned n_chunks; /* of an allreduce; 1: vectors are encoded as a whole */
    /* The most bytes of an encoded vector; of one of the longer chunks, which are the first count %
     * n_chunks; and of one of the others. 0: it has no elements. */
    size_t bound, bound_longer, bound_shorter;

    /*
     * Encoded chunks (or vectors) lie in blocks of `block` words. If the length is fixed, the first
     * word of a block is its head (see head()), and the block travels as a whole. Otherwise heads
     * travel ahead, and of each block only the words that are used. */
    size_t block;
    uint64_t *own, *got;            /* blocks of this rank; those that came from all ranks */
    int64_t *own_heads, *got_heads; /* [size]; NULL: lengths are fixed */
    /* [size] each: words of blocks to send and to get, and where blocks begin, in words */
    size_t *send_words, *got_words, *at;

    void *residual,
        *residual_next; /* NULL: no feedback. _next becomes valid when the call is done */
    void *decoded;      /* a vector, or a chunk */
    void *sum, *lost;   /* chunks: the sum, and what was lost when it was encoded */

    /* the unfinished call */
    struct known_call known; /* of a blocking call */
    struct call_args args;
    struct call *last; /* the call that has the status for the user; NULL: there was none yet */
    unsigned collective_op; /* op of its signatures */
    enum compressed_work done;
    int status;             /* of a step that has ended in another way than NCOLL_OK */
    int64_t failed, agreed; /* see failure_of(); `agreed`: after the vote */
    struct compressed_step steps[COMPRESSED_STEPS];
    unsigned n_steps;
};

#endif
