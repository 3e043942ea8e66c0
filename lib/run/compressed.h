/* SPDX-License-Identifier: BSD-3-Clause */
/* Compressed calls: see compressed.c. */
#ifndef NCOLL_LIB_RUN_COMPRESSED_H
#define NCOLL_LIB_RUN_COMPRESSED_H

#include "lib/base/compressor.h"
#include "lib/base/group.h"

/* compressed.c: queues the calls that a compressed call consists of; c is the last of them, and gets
 * the status. Returns NCOLL_OK or an error. */
int ncoll__compressed_begin(struct ncoll_group *g, struct call *c, const struct known_call *k);
/* True if a call with the compressor is unfinished, as the user sees it. */
bool ncoll__compressor_is_busy(const struct ncoll_compressor *z);
/* Returns NCOLL_OK, or reports that it is. */
int ncoll__compressor_not_busy(struct ncoll_group *g, const struct ncoll_compressor *z);
/* Records the error of a call that a codec has ended. Returns NCOLL_ERR_CODEC. */
int ncoll__compressed_fail(struct ncoll_compressor *z);

/* ------------------------------------------------------------------ compressed_work.c -------- */

/* A part of a vector that is encoded on its own. */
struct part {
    size_t at, count; /* elements */
    size_t bound;     /* the most bytes that it takes */
};

/* Returns chunk q of an allreduce; the whole vector if there are no chunks. */
struct part ncoll__compressed_part(const struct ncoll_compressor *z, unsigned q);

static inline bool is_compressed_bcast(const struct ncoll_compressor *z)
{
    return z->args.collective == COLL_BCAST;
}

/* The local work of a call, each done once: encodes this rank's vector; adds this rank's chunk of all
 * vectors, and encodes the sum; decodes the result. A codec that fails is noted in z->failed. */
void ncoll__compressed_encode(struct ncoll_compressor *z);
void ncoll__compressed_sum(struct ncoll_compressor *z);
void ncoll__compressed_decode(struct ncoll_compressor *z);
/* Makes the residual of the call valid. */
void ncoll__compressed_commit(struct ncoll_compressor *z);

/* The failure of a codec, in a negative number that travels in place of a length; the lowest one
 * wins. */
enum codec_failure {
    CANNOT_ENCODE = 1,
    ENCODES_TOO_MUCH, /* more bytes than its bound */
    NOT_FIXED,        /* another length than its bound, though lengths are fixed */
    CANNOT_DECODE,
    BAD_LENGTH, /* it got a length above the bound, or not the fixed one */
};

static inline int64_t codec_failure(enum codec_failure what, int world_rank)
{
    return -((int64_t)what << 32 | world_rank);
}

#endif
