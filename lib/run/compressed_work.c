/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The local work of compressed calls: encoding, adding, decoding, and error feedback. x_p is the
 * vector of rank p, e_p its residual, C and D are the codec's encode() and decode():
 *
 *   encode   v = x_p + e_p; sends C(v); e'_p = v - D(C(v))
 *   sum      s = D(C(v_0)) + .. + D(C(v_{P-1})), of the own chunk; sends C(s);
 *            e'_p += s - D(C(s)) in that chunk
 *   decode   out = D(C(s)), or the sum itself if there are no chunks
 *
 * e'_p takes the place of e_p when the call has ended with NCOLL_OK.
 */
#include <string.h>

#include "lib/compute/codec.h"
#include "lib/compute/op.h"
#include "lib/run/compressed.h"

static void fail(struct ncoll_compressor *z, int64_t failure)
{
    z->failed = failure < z->failed ? failure : z->failed;
}

static unsigned char *element_of(const struct ncoll_compressor *z, void *vector, size_t i)
{
    return (unsigned char *)vector + i * z->element;
}

/* out = left + right */
static void add_vectors(const struct ncoll_compressor *z, void *out, const void *left,
                        const void *right, size_t count)
{
    struct op sum;

    if (ncoll__op_builtin(NCOLL_SUM, z->type, &sum)) /* always: other types have been refused */
        sum.combine(out, left, right, count, z->type, sum.arg);
}

struct part ncoll__compressed_part(const struct ncoll_compressor *z, unsigned q)
{
    size_t shorter = z->count / z->n_chunks, longer = z->count % z->n_chunks;

    if (z->n_chunks == 1)
        return (struct part){0, z->count, z->bound};
    return (struct part){q * shorter + (q < longer ? q : longer), shorter + (q < longer),
                         q < longer ? z->bound_longer : z->bound_shorter};
}

/* ------------------------------------------------------------------ blocks -------------------- */

/* Returns the address of the head of block q, which holds the number of its bytes, or the failure
 * of a codec: heads[q], or the block's first word if heads is NULL. */
static int64_t *head(uint64_t *block, int64_t *heads, unsigned q)
{
    return heads != NULL ? &heads[q] : (int64_t *)block;
}

/* Encodes a part of a vector into block q of this rank, and sets its head. */
static void encode(struct ncoll_compressor *z, unsigned q, const void *in, struct part part)
{
    uint64_t *block = z->own + q * z->block;
    int rank = z->ctx->rank;
    size_t len = 0;

    if (part.count > 0)
        len = z->codec.encode(block + 1, in, part.count, z->type, &z->codec);
    if (len == SIZE_MAX)
        fail(z, codec_failure(CANNOT_ENCODE, rank));
    else if (len > part.bound)
        fail(z, codec_failure(ENCODES_TOO_MUCH, rank));
    else if (z->fixed && len != part.bound)
        fail(z, codec_failure(NOT_FIXED, rank));
    else
        *head(block, z->own_heads, q) = (int64_t)len;
}

/* Returns true if the head of a block is a length that the part may have. */
static bool is_length(struct ncoll_compressor *z, int64_t length, struct part part)
{
    if (length < 0)
        fail(z, length);
    else if ((uint64_t)length > part.bound || (z->fixed && (uint64_t)length != part.bound))
        fail(z, codec_failure(BAD_LENGTH, z->ctx->rank));
    else
        return true;
    return false;
}

/* Decodes block q into `out`; with `adds` set, adds what it decodes to `out`. */
static void decode(struct ncoll_compressor *z, uint64_t *block, int64_t *heads, unsigned q,
                   void *out, struct part part, bool adds)
{
    int64_t length = *head(block, heads, q);

    if (!is_length(z, length, part) || part.count == 0)
        return;
    int rc = (adds ? z->codec.add : z->codec.decode)(out, block + 1, (size_t)length, part.count,
                                                     z->type, &z->codec);
    if (rc != 0)
        fail(z, codec_failure(CANNOT_DECODE, z->ctx->rank));
}

/* If a codec has failed, writes the failure to the heads of this rank's first n blocks, for all
 * ranks. */
static void tell_failure(struct ncoll_compressor *z, unsigned n)
{
    for (unsigned q = 0; z->failed < 0 && q < n; q++)
        *head(z->own + q * z->block, z->own_heads, q) = z->failed;
}

/* ------------------------------------------------------------------ encoding ------------------ */

/* Encodes the vector of a bcast, at the root. It is one part, whatever the codec. The root decodes
 * it into its own OUT at once. */
static void encode_bcast(struct ncoll_compressor *z, const void *vector)
{
    const struct part whole = {0, z->count, z->bound};

    encode(z, 0, vector, whole);
    if (z->failed == 0)
        decode(z, z->own, z->own_heads, 0, z->args.out, whole, false);
    if (z->feedback && z->failed == 0)
        ncoll__residual(z->residual_next, z->residual_next, z->args.out, z->count, z->type);
    tell_failure(z, 1);
    z->done = WORK_DECODED;
}

void ncoll__compressed_encode(struct ncoll_compressor *z)
{
    const void *vector = z->args.in;

    if (z->done >= WORK_ENCODED)
        return;
    z->done = WORK_ENCODED;
    if (is_compressed_bcast(z) && z->args.root != z->group->rank)
        return;
    if (z->feedback) {
        add_vectors(z, z->residual_next, vector, z->residual, z->count);
        vector = z->residual_next;
    }
    if (is_compressed_bcast(z)) {
        encode_bcast(z, vector);
        return;
    }
    for (unsigned q = 0; q < z->n_chunks && z->failed == 0; q++) {
        struct part part = ncoll__compressed_part(z, q);
        encode(z, q, (const unsigned char *)vector + part.at * z->element, part);
    }
    for (unsigned q = 0; z->feedback && q < z->n_chunks && z->failed == 0; q++) {
        struct part part = ncoll__compressed_part(z, q);
        unsigned char *lost = element_of(z, z->residual_next, part.at);
        decode(z, z->own + q * z->block, z->own_heads, q, z->decoded, part, false);
        if (z->failed == 0)
            ncoll__residual(lost, lost, z->decoded, part.count, z->type);
    }
    tell_failure(z, z->n_chunks);
}

/* ------------------------------------------------------------------ adding, decoding ---------- */

/* Adds up a part of the vectors of all ranks, in the order of ranks. */
static void add_up(struct ncoll_compressor *z, void *out, struct part part)
{
    bool adds = z->codec.add != NULL;

    if (adds && part.count > 0)
        memset(out, 0, part.count * z->element);
    for (unsigned q = 0; q < (unsigned)z->group->size; q++) {
        void *to = adds || q == 0 ? out : z->decoded;
        decode(z, z->got + q * z->block, z->got_heads, q, to, part, adds);
        if (z->failed == 0 && to == z->decoded)
            add_vectors(z, out, out, to, part.count);
    }
}

void ncoll__compressed_sum(struct ncoll_compressor *z)
{
    struct part part = ncoll__compressed_part(z, (unsigned)z->group->rank);

    if (z->done >= WORK_SUMMED)
        return;
    z->done = WORK_SUMMED;
    add_up(z, z->sum, part);
    if (z->failed == 0)
        encode(z, 0, z->sum, part);
    if (z->feedback && z->failed == 0) {
        unsigned char *next = element_of(z, z->residual_next, part.at);
        decode(z, z->own, z->own_heads, 0, z->decoded, part, false);
        if (z->failed == 0) {
            ncoll__residual(z->lost, z->sum, z->decoded, part.count, z->type);
            add_vectors(z, next, next, z->lost, part.count);
        }
    }
    tell_failure(z, 1);
}

void ncoll__compressed_decode(struct ncoll_compressor *z)
{
    if (z->done >= WORK_DECODED)
        return;
    z->done = WORK_DECODED;
    if (is_compressed_bcast(z)) {
        const struct part whole = {0, z->count, z->bound};
        decode(z, z->own, z->own_heads, 0, z->args.out, whole, false);
        return;
    }
    if (z->n_chunks == 1) {
        add_up(z, z->args.out, ncoll__compressed_part(z, 0));
        return;
    }
    for (unsigned q = 0; q < z->n_chunks; q++) {
        struct part part = ncoll__compressed_part(z, q);
        decode(z, z->got + q * z->block, z->got_heads, q, element_of(z, z->args.out, part.at), part,
               false);
    }
}

void ncoll__compressed_commit(struct ncoll_compressor *z)
{
    void *next = z->residual_next;

    if (!z->feedback || (is_compressed_bcast(z) && z->args.root != z->group->rank))
        return;
    z->residual_next = z->residual;
    z->residual = next;
}
