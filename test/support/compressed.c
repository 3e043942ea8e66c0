/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/compressed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

/* ------------------------------------------------------------------ vectors ------------------- */

static double load(ncoll_type type, const void *vector, size_t i)
{
    return type == NCOLL_FLOAT ? (double)((const float *)vector)[i] : ((const double *)vector)[i];
}

/* Rounds to the type once: sums of two floats are exact as doubles, or round alike twice. */
static void store(ncoll_type type, void *vector, size_t i, double value)
{
    if (type == NCOLL_FLOAT)
        ((float *)vector)[i] = (float)value;
    else
        ((double *)vector)[i] = value;
}

static const void *at(const struct compressed_reference *ref, const void *vector, size_t i)
{
    return (const unsigned char *)vector + i * ncoll_type_size(ref->type);
}

/* ------------------------------------------------------------------ the reference ------------- */

void compressed_open(struct compressed_reference *ref, const ncoll_codec *codec, size_t count,
                     ncoll_type type, int ranks, bool feedback)
{
    *ref = (struct compressed_reference){*codec, count, type, ranks, feedback, {NULL}};
    for (int q = 0; feedback && q < ranks; q++)
        ref->residual[q] = must(calloc(count + 1, ncoll_type_size(type)));
}

void compressed_close(struct compressed_reference *ref)
{
    for (int q = 0; q < COMPRESSED_RANKS; q++)
        free(ref->residual[q]);
}

/* Computes some elements as they are when they have been encoded and decoded. */
static void pass(const struct compressed_reference *ref, const void *in, void *out, size_t count)
{
    if (count == 0)
        return;
    void *bytes = must(malloc(ref->codec.bound(count, ref->type, &ref->codec) + 8));
    size_t len = ref->codec.encode(bytes, in, count, ref->type, &ref->codec);
    if (ref->codec.decode(out, bytes, len, count, ref->type, &ref->codec) != 0)
        abort();
    free(bytes);
}

/* Adds what was lost to the residual of rank q, or begins it anew. */
static void lose(const struct compressed_reference *ref, int q, size_t first, const void *sent,
                 const void *decoded, size_t count, bool anew)
{
    void *e = ref->residual[q];

    for (size_t i = 0; e != NULL && i < count; i++) {
        double lost = load(ref->type, sent, i) - load(ref->type, decoded, i);
        lost = isfinite(lost) ? lost : 0;
        store(ref->type, e, first + i, anew ? lost : load(ref->type, e, first + i) + lost);
    }
}

/* Encodes and decodes the vector of rank q, in chunks or as a whole. */
static void send(const struct compressed_reference *ref, int q, const void *in, void *decoded,
                 int chunks)
{
    size_t element = ncoll_type_size(ref->type);
    void *v = must(malloc((ref->count + 1) * element));

    for (size_t i = 0; i < ref->count; i++)
        store(ref->type, v, i,
              ref->feedback ? load(ref->type, in, i) + load(ref->type, ref->residual[q], i)
                            : load(ref->type, in, i));
    for (size_t c = 0, first = 0; c < (size_t)chunks; c++) {
        size_t n = ref->count / (size_t)chunks + (c < ref->count % (size_t)chunks);
        pass(ref, at(ref, v, first), (unsigned char *)decoded + first * element, n);
        first += n;
    }
    lose(ref, q, 0, v, decoded, ref->count, true);
    free(v);
}

void compressed_allreduce(struct compressed_reference *ref, const void *in, void *out)
{
    size_t element = ncoll_type_size(ref->type), bytes = (ref->count + 1) * element;
    int chunks = ref->codec.flags & NCOLL_CODEC_CHUNKS ? ref->ranks : 1;
    void *decoded = must(malloc(bytes)), *sum = must(malloc(bytes));

    for (int q = 0; q < ref->ranks; q++) {
        send(ref, q, at(ref, in, (size_t)q * ref->count), decoded, chunks);
        for (size_t i = 0; i < ref->count; i++) {
            double before = q > 0 ? load(ref->type, sum, i) : ref->codec.add != NULL ? 0.0 : -0.0;
            store(ref->type, sum, i, before + load(ref->type, decoded, i));
        }
    }
    if (!(ref->codec.flags & NCOLL_CODEC_CHUNKS)) {
        memcpy(out, sum, ref->count * element);
    } else {
        for (size_t c = 0, first = 0; c < (size_t)chunks; c++) {
            size_t n = ref->count / (size_t)chunks + (c < ref->count % (size_t)chunks);
            pass(ref, at(ref, sum, first), (unsigned char *)out + first * element, n);
            lose(ref, (int)c, first, at(ref, sum, first), at(ref, out, first), n, false);
            first += n;
        }
    }
    free(decoded);
    free(sum);
}

void compressed_bcast(struct compressed_reference *ref, int root, const void *in, void *out)
{
    send(ref, root, in, out, 1);
}

/* ------------------------------------------------------------------ a user's codec ------------ */

struct entry {
    uint32_t index;
    int32_t eighths;
};

static enum eighths_mood mood_of(const ncoll_codec *codec)
{
    struct eighths *e = codec->arg;

    if (e != NULL && e->mood == EIGHTHS_CALLS_BACK)
        e->returned = ncoll_barrier(e->group, NCOLL_BLOCK);
    return e != NULL ? e->mood : EIGHTHS_WELL;
}

static size_t bound(size_t count, ncoll_type type, const ncoll_codec *codec)
{
    (void)codec;
    return type == NCOLL_FLOAT || type == NCOLL_DOUBLE ? count * sizeof(struct entry) : SIZE_MAX;
}

static size_t encode(void *bytes, const void *in, size_t count, ncoll_type type,
                     const ncoll_codec *codec)
{
    struct entry *entries = bytes;
    enum eighths_mood mood = mood_of(codec);
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        double x = load(type, in, i) / 8;
        int32_t eighths = x >= INT32_MAX ? INT32_MAX : x > -INT32_MAX ? (int32_t)x : -INT32_MAX;
        if (eighths != 0 && !isnan(x))
            entries[n++] = (struct entry){(uint32_t)i, eighths};
    }
    return mood == EIGHTHS_CANNOT_ENCODE ? SIZE_MAX
           : mood == EIGHTHS_TOO_LONG    ? bound(count, type, codec) + 1
                                         : n * sizeof *entries;
}

static int decode(void *out, const void *bytes, size_t len, size_t count, ncoll_type type,
                  const ncoll_codec *codec)
{
    const struct entry *entries = bytes;

    if (mood_of(codec) == EIGHTHS_CANNOT_DECODE || len % sizeof *entries != 0)
        return 1;
    memset(out, 0, count * ncoll_type_size(type));
    for (size_t n = 0; n < len / sizeof *entries; n++) {
        if (entries[n].index >= count)
            return 1;
        store(type, out, entries[n].index, 8.0 * entries[n].eighths);
    }
    return 0;
}

ncoll_codec eighths_codec(unsigned flags, struct eighths *arg)
{
    return (ncoll_codec){.size = sizeof(ncoll_codec),
                         .name = "eighths",
                         .flags = flags,
                         .bound = bound,
                         .encode = encode,
                         .decode = decode,
                         .arg = arg};
}
