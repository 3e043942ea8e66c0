/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Half (IEEE 754 binary16) and bfloat16, converted to and from float by integer arithmetic without
 * branches, so that loops over it vectorise. Rounding is to nearest, ties to even; NaNs stay NaNs,
 * made quiet, with the upper bits of their payload: what the compiler's _Float16 and the
 * instructions of F16C do, bit by bit. _Float16 is not used: without F16C it is a function call for
 * each element, and clang 14 has none on x86 at all.
 *
 * One operation in float followed by one of these conversions gives the correctly rounded sum or
 * product: float has at least 2p + 2 bits (Figueroa 1995), p = 11 and 8.
 */
#ifndef NCOLL_LIB_HALF_H
#define NCOLL_LIB_HALF_H

#include <stdint.h>
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline, unused))

ALWAYS_INLINE uint32_t bits_of_float(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

ALWAYS_INLINE float float_of_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* Returns all ones if the condition holds, else 0. gcc vectorises masks, but not all conditions. */
ALWAYS_INLINE uint32_t mask32(int condition)
{
    return -(uint32_t)condition;
}

ALWAYS_INLINE uint32_t select32(uint32_t mask, uint32_t yes, uint32_t no)
{
    return (yes & mask) | (no & ~mask);
}

/* Converts a half in the lower 16 bits; the upper bits must be 0. */
ALWAYS_INLINE float half_to_float(uint32_t h)
{
    uint32_t sign = (h & 0x8000) << 16, magnitude = h & 0x7fff;
    uint32_t normal = (magnitude << 13) + (UINT32_C(112) << 23); /* the bias: 127 - 15 */
    uint32_t subnormal = bits_of_float((float)(int32_t)magnitude * 0x1p-24f);

    normal += mask32((int32_t)magnitude > 0x7bff) & UINT32_C(112) << 23; /* infinity, NaN */
    return float_of_bits(sign | select32(mask32((int32_t)magnitude < 0x400), subnormal, normal));
}

ALWAYS_INLINE uint32_t float_to_half(float f)
{
    uint32_t u = bits_of_float(f), magnitude = u & 0x7fffffff;
    /* Numbers from 2^16 on become infinite here. Those from 65520 on do so by the rounding
     * below. */
    uint32_t large = mask32((int32_t)magnitude > 0x47800000);
    uint32_t finite = select32(large, 0x47800000, magnitude), odd = finite >> 13 & 1;
    uint32_t normal = (finite - (UINT32_C(112) << 23) + 0xfff + odd) >> 13;
    /* The unit in the last place of 0.5 is 2^-24, as in a subnormal half: adding 0.5 rounds to
     * it. */
    uint32_t subnormal = bits_of_float(float_of_bits(finite) + 0.5f) - bits_of_float(0.5f);
    uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
    uint32_t half = select32(mask32((int32_t)finite < 0x38800000), subnormal, normal);

    half = select32(mask32((int32_t)magnitude > 0x7f800000), nan, half);
    return (u >> 16 & 0x8000) | half;
}

ALWAYS_INLINE float bfloat16_to_float(uint32_t b)
{
    return float_of_bits(b << 16);
}

/* Returns the result in the upper 16 bits. The lower bits are not 0. */
ALWAYS_INLINE uint32_t float_to_upper_bfloat16(float f)
{
    uint32_t u = bits_of_float(f), odd = u >> 16 & 1;
    uint32_t is_nan = mask32((int32_t)(u & 0x7fffffff) > 0x7f800000);

    return select32(is_nan, u | UINT32_C(0x40) << 16, u + 0x7fff + odd);
}

ALWAYS_INLINE uint32_t float_to_bfloat16(float f)
{
    return float_to_upper_bfloat16(f) >> 16;
}

#endif
