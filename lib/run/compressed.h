/* SPDX-License-Identifier: BSD-3-Clause */
/* Compressed calls: see compressed.c. */
#ifndef NCOLL_LIB_RUN_COMPRESSED_H
#define NCOLL_LIB_RUN_COMPRESSED_H

#include "lib/base/compressor.h"
#include "lib/base/group.h"

/* compressed.c: queues the calls that a compressed call consists of. c is the last of them, and
 * gets the status of the whole call. Returns NCOLL_OK or an error. */
int ncoll__compressed_begin(struct ncoll_group *g, struct call *c, const struct known_call *k);
/* True if a call with the compressor is unfinished, as the user sees it. */
bool ncoll__compressor_is_busy(const struct ncoll_compressor *z);
/* Returns NCOLL_OK if no call with the compressor is unfinished; else records and returns
 * NCOLL_ERR_BUSY. */
int ncoll__compressor_not_busy(struct ncoll_group *g, const struct ncoll_compressor *z);
/* Records the error of a call in which a codec has failed (z->failed). Returns NCOLL_ERR_CODEC. */
int ncoll__compressed_fail(struct ncoll_compressor *z);

/* ------------------------------------------------------------------ compressed_work.c -------- */

/* A part of a vector that is encoded on its own. */
struct part {
    size_t at, count; /* its first element, and the number of its elements */
    size_t bound;     /* the most bytes that it takes when it is encoded */
};

/* Returns chunk q of an allreduce; the whole vector if there are no chunks. */
struct part ncoll__compressed_part(const struct ncoll_compressor *z, unsigned q);

static inline bool is_compressed_bcast(const struct ncoll_compressor *z)
{
    return z->args.collective == COLL_BCAST;
}

/* The local work of a call: encode this rank's vector; add up this rank's chunk of all vectors, and
 * encode the sum; decode the result. Each function does its work once in a call. If a codec fails,
 * it notes that in z->failed. */
void ncoll__compressed_encode(struct ncoll_compressor *z);
void ncoll__compressed_sum(struct ncoll_compressor *z);
void ncoll__compressed_decode(struct ncoll_compressor *z);
/* Makes the residual that the call has computed the one that the next call uses. */
void ncoll__compressed_commit(struct ncoll_compressor *z);

/* The failures of codecs. A failure travels as a negative number in place of a length: see
 * codec_failure(). If several ranks fail, the lowest number is reported. */
enum codec_failure {
    CANNOT_ENCODE = 1,
    ENCODES_TOO_MUCH, /* encoded to more bytes than its bound */
    NOT_FIXED,        /* encoded to another length than its bound, though lengths are fixed */
    CANNOT_DECODE,
    BAD_LENGTH, /* a length came that is above the bound, or is not the fixed one */
};

static inline int64_t codec_failure(enum codec_failure what, int world_rank)
{
    return -((int64_t)what << 32 | world_rank);
}

#endif
