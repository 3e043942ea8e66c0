/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Top-k sparsification: the k elements that are largest in magnitude, and their indices. An encoded
 * vector consists of
 *
 *     k values | k indices, ascending, of 4 bytes (8 if there are 2^32 elements or more)
 *
 * Magnitudes are compared by their bits, as integers: so infinity is above all numbers, and NaN
 * above infinity. The k-th magnitude is found digit by digit, from the highest digit on: each pass
 * looks at the elements whose higher bits are those of the k-th, and counts how many of them have
 * each value of the next DIGIT bits (radix select). No pass moves an element.
 */
#include <string.h>

#include "lib/base/fraction.h"
#include "lib/compute/codec.h"
#include "lib/compute/kernels.h"

#define DIGIT  11u
#define VALUES (1u << DIGIT)

static double fraction_of(const ncoll_codec *codec)
{
    double fraction;

    memcpy(&fraction, &codec->parameters, sizeof fraction);
    return fraction;
}

static size_t kept(size_t count, const ncoll_codec *codec)
{
    size_t k = ncoll__threshold_of(fraction_of(codec), count);

    return k < 1 ? 1 : k;
}

static size_t index_bytes(size_t count)
{
    return count - 1 > UINT32_MAX ? 8 : 4;
}

static bool takes(ncoll_type type)
{
    return type == NCOLL_FLOAT || type == NCOLL_DOUBLE;
}

static size_t bound(size_t count, ncoll_type type, const ncoll_codec *codec)
{
    return takes(type) ? kept(count, codec) * (ncoll_type_size(type) + index_bytes(count))
                       : SIZE_MAX;
}

/* ------------------------------------------------------------------ selecting ----------------- */

/* Finds the digit of the k-th magnitude in a histogram. *k becomes its number among the elements
 * with this digit, counted from 1. */
static unsigned digit_of_kth(const size_t *histogram, size_t *k)
{
    unsigned digit = VALUES - 1;

    for (; *k > histogram[digit]; digit--)
        *k -= histogram[digit];
    return digit;
}

/* An element without its sign: U, the unsigned integer of its size. */
#define MAGNITUDE(U, x) ((x) & ((U)-1 >> 1))

/* Defines kth_NAME(), which returns the k-th magnitude and sets *ties to the number of elements of
 * that magnitude among the k; and pick_NAME(), which writes the k values and indices. */
#define SELECT(U, NAME)                                                                            \
    typedef U ANYWHERE stored_##NAME;                                                              \
    static U kth_##NAME(const stored_##NAME *x, size_t count, size_t k, size_t *ties)              \
    {                                                                                              \
        unsigned low = 8 * sizeof(U) - 1; /* bits below `low` are not known yet */                 \
        U found = 0;                                                                               \
        while (low > 0) {                                                                          \
            size_t histogram[VALUES] = {0};                                                        \
            unsigned bits = low < DIGIT ? low : DIGIT, above = low;                                \
            low -= bits;                                                                           \
            for (size_t i = 0; i < count; i++) {                                                   \
                U m = MAGNITUDE(U, x[i]);                                                          \
                if (m >> above == found >> above)                                                  \
                    histogram[m >> low & (((U)1 << bits) - 1)]++;                                  \
            }                                                                                      \
            found |= (U)digit_of_kth(histogram, &k) << low;                                        \
        }                                                                                          \
        *ties = k;                                                                                 \
        return found;                                                                              \
    }                                                                                              \
    static void pick_##NAME(stored_##NAME *values, void *indices, size_t wide,                     \
                            const stored_##NAME *x, size_t count, size_t k)                        \
    {                                                                                              \
        size_t ties, n = 0;                                                                        \
        U kth = kth_##NAME(x, count, k, &ties);                                                    \
        for (size_t i = 0; i < count && n < k; i++) {                                              \
            U m = MAGNITUDE(U, x[i]);                                                              \
            if (m < kth || (m == kth && ties == 0))                                                \
                continue;                                                                          \
            ties -= m == kth;                                                                      \
            values[n] = x[i];                                                                      \
            set_index(indices, wide, n++, i);                                                      \
        }                                                                                          \
    }

static void set_index(void *indices, size_t wide, size_t n, size_t index)
{
    if (wide == 4)
        ((uint32_t *)indices)[n] = (uint32_t)index;
    else
        memcpy((unsigned char *)indices + 8 * n, &(uint64_t){index}, 8);
}

static size_t index_at(const void *indices, size_t wide, size_t n)
{
    uint64_t index;

    if (wide == 4)
        return ((const uint32_t *)indices)[n];
    memcpy(&index, (const unsigned char *)indices + 8 * n, 8);
    return index;
}

SELECT(uint32_t, float)
SELECT(uint64_t, double)

/* ------------------------------------------------------------------ the codec ----------------- */

static size_t encode(void *bytes, const void *in, size_t count, ncoll_type type,
                     const ncoll_codec *codec)
{
    size_t k = kept(count, codec);
    void *indices = (unsigned char *)bytes + k * ncoll_type_size(type);

    if (type == NCOLL_FLOAT)
        pick_float(bytes, indices, index_bytes(count), in, count, k);
    else
        pick_double(bytes, indices, index_bytes(count), in, count, k);
    return bound(count, type, codec);
}

/* True if the bytes are k values, and k indices that ascend and are below count. */
static bool is_valid(const void *bytes, size_t len, size_t count, ncoll_type type, size_t k)
{
    size_t wide = index_bytes(count), next = 0;
    const void *indices = (const unsigned char *)bytes + k * ncoll_type_size(type);

    if (!takes(type) || len != k * (ncoll_type_size(type) + wide))
        return false;
    for (size_t n = 0; n < k; n++) {
        size_t index = index_at(indices, wide, n);
        if (index < next || index >= count)
            return false;
        next = index + 1;
    }
    return true;
}

static int add(void *out, const void *bytes, size_t len, size_t count, ncoll_type type,
               const ncoll_codec *codec)
{
    size_t k = kept(count, codec), wide = index_bytes(count);
    const void *indices = (const unsigned char *)bytes + k * ncoll_type_size(type);

    if (!is_valid(bytes, len, count, type, k))
        return -1;
    for (size_t n = 0; n < k; n++) {
        size_t i = index_at(indices, wide, n);
        if (type == NCOLL_FLOAT)
            ((float *)out)[i] += ((const float *)bytes)[n];
        else
            ((double *)out)[i] += ((const double *)bytes)[n];
    }
    return 0;
}

static int decode(void *out, const void *bytes, size_t len, size_t count, ncoll_type type,
                  const ncoll_codec *codec)
{
    size_t element = ncoll_type_size(type), k = kept(count, codec), wide = index_bytes(count);
    const unsigned char *values = bytes;

    if (!is_valid(bytes, len, count, type, k))
        return -1;
    memset(out, 0, count * element);
    for (size_t n = 0; n < k; n++)
        memcpy((unsigned char *)out + index_at(values + k * element, wide, n) * element,
               values + n * element, element);
    return 0;
}

bool ncoll__codec_is_topk(const ncoll_codec *codec, double *fraction)
{
    *fraction = fraction_of(codec);
    return codec->encode == encode;
}

int ncoll_codec_topk(ncoll_codec *codec, double fraction)
{
    if (codec == NULL || codec->size != sizeof *codec || !(fraction > 0 && fraction <= 1))
        return NCOLL_ERR_ARGUMENT;
    *codec = (ncoll_codec){.size = sizeof *codec,
                           .name = "topk",
                           .flags = NCOLL_CODEC_FIXED | NCOLL_CODEC_SURE,
                           .bound = bound,
                           .encode = encode,
                           .decode = decode,
                           .add = add};
    memcpy(&codec->parameters, &fraction, sizeof fraction);
    return NCOLL_OK;
}
