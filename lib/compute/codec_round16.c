/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The codecs that round numbers to 16 bits. A double is first rounded to odd: it becomes a float
 * whose last bit is 1 wherever that is inexact. Rounding this float gives what rounding the double
 * at once would give, since a float has at least two bits more than either of the short types
 * (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using
 * rounding to odd", 2008).
 */
#include <math.h>

#include "lib/compute/codec.h"
#include "lib/compute/half.h"
#include "lib/compute/kernels.h"

#ifdef HAVE_KERNELS_AVX2
#include <immintrin.h>
#endif

ALWAYS_INLINE float float_by_odd(double d)
{
    float f = (float)d;
    uint32_t bits = bits_of_float(f);
    double back = (double)f;

    /* Round towards zero first; this also makes a result that has become infinite the largest
     * float. */
    bits -= (uint32_t)(fabs(back) > fabs(d));
    return float_of_bits(bits | (uint32_t)(back < d || back > d));
}

/* Defines the loops for a type of the vector and a short type. TARGET: the attribute of loops for
 * certain processors; empty: for every processor. */
#define LOOPS(NAME, TARGET, T, TO_FLOAT, SHORTEN, WIDEN)                                           \
    TARGET static void shorten_##NAME(uint16_t *out, const void *in, size_t count)                 \
    {                                                                                              \
        typedef T stored ANYWHERE;                                                                 \
        const stored *x = in;                                                                      \
        INDEPENDENT for (size_t i = 0; i < count; i++) out[i] = (uint16_t)SHORTEN(TO_FLOAT(x[i])); \
    }                                                                                              \
    TARGET static void widen_##NAME(void *out, const uint16_t *in, size_t count)                   \
    {                                                                                              \
        typedef T stored ANYWHERE;                                                                 \
        stored *x = out;                                                                           \
        INDEPENDENT for (size_t i = 0; i < count; i++) x[i] = (T)WIDEN(in[i]);                     \
    }
#define ALL_LOOPS(KIND, TARGET)                                                                    \
    LOOPS(float_bfloat16_##KIND, TARGET, float, , float_to_bfloat16, bfloat16_to_float)            \
    LOOPS(double_bfloat16_##KIND, TARGET, double, float_by_odd, float_to_bfloat16,                 \
          bfloat16_to_float)                                                                       \
    LOOPS(float_half_##KIND, TARGET, float, , float_to_half, half_to_float)                        \
    LOOPS(double_half_##KIND, TARGET, double, float_by_odd, float_to_half, half_to_float)

struct loops {
    void (*shorten)(uint16_t *out, const void *in, size_t count);
    void (*widen)(void *out, const uint16_t *in, size_t count);
};
#define TABLE(KIND)                                                                                \
    {                                                                                              \
        {{shorten_float_bfloat16_##KIND, widen_float_bfloat16_##KIND},                             \
         {shorten_float_half_##KIND, widen_float_half_##KIND}},                                    \
        {                                                                                          \
            {shorten_double_bfloat16_##KIND, widen_double_bfloat16_##KIND},                        \
            {                                                                                      \
                shorten_double_half_##KIND, widen_double_half_##KIND                               \
            }                                                                                      \
        }                                                                                          \
    }

ALL_LOOPS(plain, )
/* [float, double][bfloat16, half]: type of the vector, short type */
static const struct loops plain[2][2] = TABLE(plain);

#ifdef HAVE_KERNELS_AVX2
#define AVX2 __attribute__((target("avx2,f16c")))
ALL_LOOPS(integers, AVX2)

/* Converts floats and halves with the instructions of F16C, eight at a time. The loops convert the
 * rest; they give the same bits. */
AVX2 static void shorten_f16c(uint16_t *out, const void *in, size_t count)
{
    const float *x = in;
    size_t i = 0;

    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(out + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
    shorten_float_half_integers(out + i, x + i, count - i);
}

AVX2 static void widen_f16c(void *out, const uint16_t *in, size_t count)
{
    float *x = out;
    size_t i = 0;

    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(x + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(in + i))));
    widen_float_half_integers(x + i, in + i, count - i);
}

static const struct loops avx2[2][2] = TABLE(integers);
static const struct loops f16c = {shorten_f16c, widen_f16c};
#endif

/* Returns the loops of the codec for a type; both NULL: the codec does not take the type. */
static struct loops loops_of(ncoll_type type, const ncoll_codec *codec)
{
    bool is_half = codec->parameters == NCOLL_HALF, is_double = type == NCOLL_DOUBLE;

    if (type != NCOLL_FLOAT && !is_double)
        return (struct loops){NULL, NULL};
#ifdef HAVE_KERNELS_AVX2
    if (ncoll__have_avx2())
        return is_half && !is_double ? f16c : avx2[is_double][is_half];
#endif
    return plain[is_double][is_half];
}

static size_t bound(size_t count, ncoll_type type, const ncoll_codec *codec)
{
    return loops_of(type, codec).shorten != NULL ? count * sizeof(uint16_t) : SIZE_MAX;
}

static size_t encode(void *bytes, const void *in, size_t count, ncoll_type type,
                     const ncoll_codec *codec)
{
    loops_of(type, codec).shorten(bytes, in, count);
    return count * sizeof(uint16_t);
}

static int decode(void *out, const void *bytes, size_t len, size_t count, ncoll_type type,
                  const ncoll_codec *codec)
{
    struct loops loops = loops_of(type, codec);

    if (loops.widen == NULL || len != count * sizeof(uint16_t))
        return -1;
    loops.widen(out, bytes, count);
    return 0;
}

ncoll_type ncoll__codec_rounds_to(const ncoll_codec *codec)
{
    return codec->encode == encode ? (ncoll_type)codec->parameters : 0;
}

int ncoll_codec_round16(ncoll_codec *codec, ncoll_type to)
{
    if (codec == NULL || codec->size != sizeof *codec || (to != NCOLL_HALF && to != NCOLL_BFLOAT16))
        return NCOLL_ERR_ARGUMENT;
    *codec = (ncoll_codec){.size = sizeof *codec,
                           .name = to == NCOLL_HALF ? "half" : "bfloat16",
                           .flags = NCOLL_CODEC_CHUNKS | NCOLL_CODEC_FIXED | NCOLL_CODEC_SURE,
                           .parameters = to,
                           .bound = bound,
                           .encode = encode,
                           .decode = decode};
    return NCOLL_OK;
}
