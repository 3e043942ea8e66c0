/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Half (IEEE 754 binary16) and bfloat16, converted to and from float by integer arithmetic that has
 * no branches, so that loops over it vectorise. Rounding is to nearest, ties to even; NaNs stay
 * NaNs, made quiet, with the upper bits of their payload: what the compiler's _Float16 and the
 * instructions of F16C do, bit by bit. Neither is used: without F16C the compiler calls a function
 * for each element, and clang 14 has no _Float16 on x86 at all.
 *
 * One operation in float followed by one of these conversions gives the correctly rounded sum or
 * product: float has at least 2p + 2 bits (Figueroa 1995), p = 11 and 8.
 */
#ifndef NCOLL_LIB_HALF_H
#define NCOLL_LIB_HALF_H

#include <stdint.h>
#include <string.h>

#define HALF_INLINE static inline __attribute__((always_inline, unused))

HALF_INLINE uint32_t bits_of_float(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

HALF_INLINE float float_of_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

HALF_INLINE float half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fff;
    uint32_t normal = (magnitude << 13) + (UINT32_C(112) << 23); /* the bias: 127 - 15 */
    uint32_t subnormal = bits_of_float((float)(int32_t)magnitude * 0x1p-24f);

    normal += magnitude >= 0x7c00 ? UINT32_C(112) << 23 : 0; /* infinity, NaN */
    return float_of_bits(sign | (magnitude < 0x400 ? subnormal : normal));
}

HALF_INLINE uint16_t float_to_half(float f)
{
    uint32_t u = bits_of_float(f), magnitude = u & 0x7fffffff;
    /* from 2^16 on all are infinite, as is what the rounding below makes of 65520 and more */
    uint32_t finite = magnitude > 0x47800000 ? 0x47800000 : magnitude;
    uint32_t odd = finite >> 13 & 1;
    uint32_t normal = (finite - (UINT32_C(112) << 23) + 0xfff + odd) >> 13;
    /* 0.5 has the unit in the last place of a subnormal half, 2^-24: the sum rounds to it */
    uint32_t subnormal = bits_of_float(float_of_bits(finite) + 0.5f) - bits_of_float(0.5f);
    uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
    uint32_t half = finite < 0x38800000 ? subnormal : normal;

    half = magnitude > 0x7f800000 ? nan : half;
    return (uint16_t)(u >> 16 & 0x8000) | (uint16_t)half;
}

HALF_INLINE float bfloat16_to_float(uint16_t b)
{
    return float_of_bits((uint32_t)b << 16);
}

HALF_INLINE uint16_t float_to_bfloat16(float f)
{
    uint32_t u = bits_of_float(f);
    uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    uint32_t nan = u >> 16 | 0x40;

    return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

#endif
