/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels for x86-64 processors with AVX2 and F16C, which converts halves. */
#include "lib/compute/kernels.h"

#ifdef HAVE_KERNELS_AVX2
#include <immintrin.h>
#include <string.h>

#define KERNELS           ncoll__kernels_avx2
#define KERNELS_TARGET    __attribute__((target("avx2,f16c")))
#define KERNELS_HAVE_HALF 1

#define EIGHT (8 * sizeof(uint16_t))

#define HALF_KERNEL(NAME, combine)                                                                 \
    KERNELS_TARGET static void eight_##NAME(unsigned char *o, const unsigned char *l,              \
                                            const unsigned char *r)                                \
    {                                                                                              \
        __m256 a = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)l));                           \
        __m256 b = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)r));                           \
        __m128i c = _mm256_cvtps_ph(combine(a, b), _MM_FROUND_TO_NEAREST_INT);                     \
        _mm_storeu_si128((__m128i *)o, c);                                                         \
    }                                                                                              \
    KERNELS_TARGET static void NAME(void *out, const void *left, const void *right, size_t count,  \
                                    ncoll_type type, void *arg)                                    \
    {                                                                                              \
        size_t bytes = count * sizeof(uint16_t), i = 0;                                            \
        unsigned char *o = out, rest[2][EIGHT] = {0};                                              \
        const unsigned char *l = left, *r = right;                                                 \
        (void)type, (void)arg;                                                                     \
        for (; bytes - i >= EIGHT; i += EIGHT)                                                     \
            eight_##NAME(o + i, l + i, r + i);                                                     \
        if (i == bytes)                                                                            \
            return;                                                                                \
        memcpy(rest[0], l + i, bytes - i);                                                         \
        memcpy(rest[1], r + i, bytes - i);                                                         \
        eight_##NAME(rest[0], rest[0], rest[1]);                                                   \
        memcpy(o + i, rest[0], bytes - i);                                                         \
    }

HALF_KERNEL(sum_half, _mm256_add_ps)
HALF_KERNEL(prod_half, _mm256_mul_ps)

#include "lib/compute/kernels_body.h"
#endif
