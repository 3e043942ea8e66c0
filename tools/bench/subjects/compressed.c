/* SPDX-License-Identifier: BSD-3-Clause */
/* Compressed allreduce and bcast (--codec). The compressor is made before each batch. */
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/bench/measure/measure.h"
#include "tools/inside.h"

static int allreduce_once(struct job *job, const struct row *row)
{
    return ncoll_allreduce_compressed(job->world, job->compressor, job->in, job->out, row->count,
                                      job->options->type, NCOLL_SUM, NCOLL_BLOCK);
}

static int bcast_once(struct job *job, const struct row *row)
{
    return ncoll_bcast_compressed(job->world, job->compressor, job->in, job->out, row->count,
                                  job->options->type, BENCH_ROOT, NCOLL_BLOCK);
}

static int begin(struct job *job, const struct row *row)
{
    const struct options *o = job->options;

    return ncoll_compressor_create(job->world, &o->codec, row->count, o->type, o->feedback,
                                   &job->compressor);
}

static int end(struct job *job, const struct row *row)
{
    (void)row;
    return ncoll_compressor_free(&job->compressor);
}

static int describe(struct job *job, struct row *row)
{
    row->algorithm = job->options->codec.name;
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ the right result ---------- */

/* Encodes and decodes a vector in chunks, as the library does. Returns false if there is no memory. */
static bool pass(const struct job *job, const void *in, void *out, size_t count, size_t chunks)
{
    const ncoll_codec *codec = &job->options->codec;
    ncoll_type type = job->options->type;
    size_t element = ncoll_type_size(type), first = 0;
    void *bytes = malloc(codec->bound(count, type, codec));

    for (size_t c = 0; bytes != NULL && c < chunks; c++) {
        size_t n = count / chunks + (c < count % chunks);
        if (n == 0)
            break;
        size_t len = codec->encode(bytes, (const char *)in + first * element, n, type, codec);
        codec->decode((char *)out + first * element, bytes, len, n, type, codec);
        first += n;
    }
    free(bytes);
    return bytes != NULL;
}

/* With feedback the result depends on all calls before. */
static bool expect(const struct job *job, const struct row *row)
{
    const struct options *o = job->options;
    bool bcast = row->collective == COLL_BCAST, is_known = !o->feedback;
    bool cut = !bcast && (o->codec.flags & NCOLL_CODEC_CHUNKS) != 0;
    size_t bytes = row->count * ncoll_type_size(o->type), chunks = cut ? (size_t)job->ranks : 1;
    void *vector = calloc(1, bytes), *decoded = calloc(1, bytes);
    struct op sum;

    is_known &= vector != NULL && decoded != NULL && ncoll__op_builtin(NCOLL_SUM, o->type, &sum);
    if (is_known)
        memset(job->expected, 0, bytes);
    for (int q = 0; is_known && q < (bcast ? 1 : job->ranks); q++) {
        check_fill(job, row, bcast ? BENCH_ROOT : q, vector);
        is_known = pass(job, vector, decoded, row->count, chunks);
        sum.combine(job->expected, job->expected, decoded, row->count, o->type, NULL);
    }
    if (is_known && cut)
        is_known = pass(job, job->expected, job->expected, row->count, chunks);
    free(decoded);
    free(vector);
    return is_known;
}

static const call_fn once_by_code[CODES] = {
    [COLL_ALLREDUCE] = allreduce_once, [COLL_BCAST] = bcast_once};

const struct subject subject_compressed = {
    .name = "compressed",
    .label = "compressed",
    .codes = 1u << COLL_ALLREDUCE | 1u << COLL_BCAST,
    .once = once_by_code,
    .begin = begin,
    .end = end,
    .describe = describe,
    .expect = expect,
};
