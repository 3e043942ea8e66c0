/* SPDX-License-Identifier: BSD-3-Clause */
/* The built-in codecs, and the arithmetic of error feedback. */
#ifndef NCOLL_LIB_CODEC_H
#define NCOLL_LIB_CODEC_H

#include <stdbool.h>

#include "ncoll_eventual.h"

/* The kinds of codecs that error texts tell apart. */
enum codec_kind {
    CODEC_USER, /* a codec of the user's own */
    CODEC_BFLOAT16,
    CODEC_HALF,
    CODEC_TOPK,
};

/* Returns true if the codec is one that ncoll_codec_topk() has filled in, and sets *fraction. */
bool ncoll__codec_is_topk(const ncoll_codec *codec, double *fraction);
/* Returns NCOLL_HALF or NCOLL_BFLOAT16 for a codec from ncoll_codec_round16(), else 0. */
ncoll_type ncoll__codec_rounds_to(const ncoll_codec *codec);

/* True if vectors of the type can have a residual: they can be added and subtracted. */
bool ncoll__residual_has(ncoll_type type);
/*
 * Sets residual[i] = sent[i] - decoded[i], which is what a codec has lost; 0 where this is infinite
 * or NaN. residual may be the same array as sent.
 */
void ncoll__residual(void *residual, const void *sent, const void *decoded, size_t count,
                     ncoll_type type);

#endif
