/* SPDX-License-Identifier: BSD-3-Clause */
/* Exercises of compressed calls: what is drawn for them, and what has to come out. */
#include <stdlib.h>

#include "test/support/exercise.h"

#define CODECS 7u /* each without feedback and with it */

void exercise_compress(struct exercise_spec *s, const struct repertoire *repertoire,
                       enum collective collective, struct random *random)
{
    ncoll_type type = random_below(random, 2) == 0 ? NCOLL_FLOAT : NCOLL_DOUBLE;

    s->collective = collective;
    s->codec = 1 + (unsigned)random_below(random, 2 * CODECS);
    for (unsigned i = 0; i < repertoire->n; i++)
        if (repertoire->pieces[i].type == type && repertoire->pieces[i].operation.op == NCOLL_SUM)
            s->piece = &repertoire->pieces[i];
}

static ncoll_codec codec_of(const struct exercise_spec *s)
{
    ncoll_codec codec = {.size = sizeof codec};
    int rc = NCOLL_OK;

    switch ((s->codec - 1) / 2) {
    case 0:
    case 1:
        rc = ncoll_codec_topk(&codec, s->codec <= 2 ? 0.05 : 0.5);
        break;
    case 2:
    case 3:
        rc = ncoll_codec_round16(&codec, s->codec <= 6 ? NCOLL_HALF : NCOLL_BFLOAT16);
        break;
    case 4:
        return eighths_codec(0, NULL);
    case 5:
        return eighths_codec(NCOLL_CODEC_CHUNKS, NULL);
    default:
        return eighths_codec(NCOLL_CODEC_CHUNKS | NCOLL_CODEC_SURE, NULL);
    }
    if (rc != NCOLL_OK)
        abort();
    return codec;
}

static bool has_feedback(const struct exercise_spec *s)
{
    return s->codec % 2 == 0;
}

int exercise_compressor(struct exercise *x, ncoll_group *group)
{
    const ncoll_codec codec = codec_of(&x->spec);

    if (x->compressor != NULL)
        return NCOLL_OK;
    return ncoll_compressor_create(group, &codec, x->spec.count, x->spec.piece->type,
                                   has_feedback(&x->spec), &x->compressor);
}

void exercise_expect_compressed(struct exercise *x, exercise_values *values, void *out)
{
    struct compressed_reference *ref = &x->compressed;
    size_t count = x->spec.count, bytes = count * x->element;
    bool bcast = x->spec.collective == COLL_BCAST;
    unsigned char *in = exercise_allocate(bytes * (size_t)x->ranks + 1);

    if (ref->ranks == 0) {
        const ncoll_codec codec = codec_of(&x->spec);
        compressed_open(ref, &codec, count, x->spec.piece->type, x->ranks, has_feedback(&x->spec));
    }
    for (int q = 0; q < (bcast ? 1 : x->ranks); q++)
        values(x, bcast ? x->spec.root : q, 0, in + (size_t)q * bytes, 0, count);
    if (bcast)
        compressed_bcast(ref, x->spec.root, in, out);
    else
        compressed_allreduce(ref, in, out);
    free(in);
}

void exercise_close_compressed(struct exercise *x)
{
    if (x->compressor != NULL)
        ncoll_compressor_free(&x->compressor);
    compressed_close(&x->compressed);
}
