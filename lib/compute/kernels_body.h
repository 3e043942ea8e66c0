/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels that vectorise, as a template. A file for each instruction set defines these macros
 * and includes the template: KERNELS, the name of the table; KERNELS_TARGET, an attribute of every
 * function; and KERNELS_HAVE_HALF if it has its own sum_half() and prod_half().
 *
 * The kernels are plain loops. Integer arithmetic is done on unsigned values of at least 32 bits,
 * so that it wraps instead of overflowing. The build forbids fused multiply-add: results must not
 * depend on the instruction set, since it may differ between ranks.
 */
#include "lib/compute/half.h"
#include "lib/compute/kernels.h"

/* Calls X for each type: type, C type, unsigned type to calculate in, name. */
#define INTEGER_TYPES(X)                                                                           \
    X(NCOLL_INT8, int8_t, uint32_t, int8)                                                          \
    X(NCOLL_INT16, int16_t, uint32_t, int16)                                                       \
    X(NCOLL_INT32, int32_t, uint32_t, int32)                                                       \
    X(NCOLL_INT64, int64_t, uint64_t, int64)                                                       \
    X(NCOLL_UINT8, uint8_t, uint32_t, uint8)                                                       \
    X(NCOLL_UINT16, uint16_t, uint32_t, uint16)                                                    \
    X(NCOLL_UINT32, uint32_t, uint32_t, uint32)                                                    \
    X(NCOLL_UINT64, uint64_t, uint64_t, uint64)

/* Calls X for each operation: operation, name, expression of a and b in type T, calculated in W. */
#define INTEGER_OPS(X, ...)                                                                        \
    X(NCOLL_SUM, sum, (T)((W)a + (W)b), __VA_ARGS__)                                               \
    X(NCOLL_PROD, prod, (T)((W)a * (W)b), __VA_ARGS__)                                             \
    X(NCOLL_MIN, min, a < b ? a : b, __VA_ARGS__)                                                  \
    X(NCOLL_MAX, max, a > b ? a : b, __VA_ARGS__)                                                  \
    X(NCOLL_LAND, land, (T)(a != 0 && b != 0), __VA_ARGS__)                                        \
    X(NCOLL_LOR, lor, (T)(a != 0 || b != 0), __VA_ARGS__)                                          \
    X(NCOLL_LXOR, lxor, (T)((a != 0) != (b != 0)), __VA_ARGS__)                                    \
    X(NCOLL_BAND, band, (T)(a & b), __VA_ARGS__)                                                   \
    X(NCOLL_BOR, bor, (T)(a | b), __VA_ARGS__)                                                     \
    X(NCOLL_BXOR, bxor, (T)(a ^ b), __VA_ARGS__)

#define KERNEL(NAME, CTYPE, WIDE, EXPRESSION)                                                      \
    KERNELS_TARGET static void NAME(void *out, const void *left, const void *right, size_t count,  \
                                    ncoll_type type, void *arg)                                    \
    {                                                                                              \
        typedef CTYPE T;                                                                           \
        typedef WIDE W __attribute__((unused));                                                    \
        typedef T stored ANYWHERE;                                                                 \
        stored *o = out;                                                                           \
        const stored *l = left, *r = right;                                                        \
        (void)type, (void)arg;                                                                     \
        INDEPENDENT for (size_t i = 0; i < count; i++)                                             \
        {                                                                                          \
            T a = l[i], b = r[i];                                                                  \
            o[i] = (T)(EXPRESSION);                                                                \
        }                                                                                          \
    }

/* ------------------------------------------------------------------ integers ----------------- */

#define INTEGER_KERNEL(op, opname, expression, ctype, wide, name)                                  \
    KERNEL(opname##_##name, ctype, wide, expression)
#define INTEGER_KERNELS(type, ctype, wide, name)                                                   \
    INTEGER_OPS(INTEGER_KERNEL, ctype, wide, name)                                                 \
    KERNEL(difference_##name, ctype, wide, (T)((W)a - (W)b))

INTEGER_TYPES(INTEGER_KERNELS)

/* ------------------------------------------------------------------ floats ------------------- */

KERNEL(sum_float, float, float, a + b)
KERNEL(prod_float, float, float, a *b)
KERNEL(sum_double, double, double, a + b)
KERNEL(prod_double, double, double, a *b)

/*
 * Combine two elements of 16 bits at a time, which lie in one word of 32 bits. So no vector lane
 * changes its width; such changes make vectors of short elements slow.
 */
#define HALVES(a, b, operator)                                                                     \
    (float_to_half(half_to_float((a)&0xffff) operator half_to_float((b)&0xffff)) |                 \
     float_to_half(half_to_float((a) >> 16) operator half_to_float((b) >> 16)) << 16)
#define BFLOAT16S(a, b, operator)                                                                  \
    (float_to_bfloat16(bfloat16_to_float(a) operator bfloat16_to_float(b)) |                       \
     (float_to_upper_bfloat16(                                                                     \
          float_of_bits((a)&0xffff0000) operator float_of_bits((b)&0xffff0000)) &                  \
      0xffff0000))

#define SHORT_KERNEL(NAME, WORD)                                                                   \
    KERNEL(words_##NAME, uint32_t, uint32_t, WORD)                                                 \
    KERNELS_TARGET static void NAME(void *out, const void *left, const void *right, size_t count,  \
                                    ncoll_type type, void *arg)                                    \
    {                                                                                              \
        size_t paired = count / 2 * sizeof(uint32_t);                                              \
        words_##NAME(out, left, right, count / 2, type, arg);                                      \
        if (count % 2 == 0)                                                                        \
            return;                                                                                \
        uint32_t a = load_short(left, paired), b = load_short(right, paired);                      \
        uint16_t last = (uint16_t)(WORD);                                                          \
        memcpy((char *)out + paired, &last, sizeof last);                                          \
    }

ALWAYS_INLINE uint32_t load_short(const void *vector, size_t offset)
{
    uint16_t element;
    memcpy(&element, (const char *)vector + offset, sizeof element);
    return element;
}

#ifndef KERNELS_HAVE_HALF
SHORT_KERNEL(sum_half, HALVES(a, b, +))
SHORT_KERNEL(prod_half, HALVES(a, b, *))
#endif
SHORT_KERNEL(sum_bfloat16, BFLOAT16S(a, b, +))
SHORT_KERNEL(prod_bfloat16, BFLOAT16S(a, b, *))

/*
 * The lesser and the greater of two floats, found from their bits. Floats compare as signed
 * integers of the same size, except that two negative ones compare the other way round. So -0 is
 * below +0, and nothing depends on the modes of the processor (subnormals taken for zero). Masks
 * are used because gcc vectorises conditions badly.
 */
#define MASK(U, condition)    ((U)(0 - (U)(condition)))
#define SELECT(mask, yes, no) (((yes) & (mask)) | ((no) & ~(mask)))

#define FLOAT_PICKS(type, U, I, inf, nan, name)                                                    \
    ALWAYS_INLINE U is_less_##name(U a, U b)                                                       \
    {                                                                                              \
        U turned = (U)(MASK(U, (I)a < (I)b) ^ (a & b));                                            \
        return MASK(U, (I)turned < 0);                                                             \
    }                                                                                              \
    ALWAYS_INLINE U unless_nan_##name(U a, U b, U picked)                                          \
    {                                                                                              \
        I x = (I)(a & ((U)-1 >> 1)), y = (I)(b & ((U)-1 >> 1));                                    \
        U is_nan = MASK(U, (x > y ? x : y) > (I)(inf));                                            \
        return (U)SELECT(is_nan, (U)(nan), picked);                                                \
    }                                                                                              \
    KERNEL(min_##name, U, I, unless_nan_##name(a, b, (U)SELECT(is_less_##name(a, b), a, b)))       \
    KERNEL(max_##name, U, I, unless_nan_##name(a, b, (U)SELECT(is_less_##name(a, b), b, a)))

FLOAT_BITS(FLOAT_PICKS)

/* ------------------------------------------------------------------ complex ------------------ */

#define COMPLEX_KERNELS(ctype)                                                                     \
    KERNELS_TARGET static void sum_complex_##ctype(void *out, const void *left, const void *right, \
                                                   size_t count, ncoll_type type, void *arg)       \
    {                                                                                              \
        sum_##ctype(out, left, right, 2 * count, type, arg);                                       \
    }                                                                                              \
    KERNELS_TARGET static void prod_complex_##ctype(                                               \
        void *out, const void *left, const void *right, size_t count, ncoll_type type, void *arg)  \
    {                                                                                              \
        typedef ctype stored ANYWHERE;                                                             \
        stored *o = out;                                                                           \
        const stored *l = left, *r = right;                                                        \
        (void)type, (void)arg;                                                                     \
        INDEPENDENT for (size_t i = 0; i < 2 * count; i += 2)                                      \
        {                                                                                          \
            ctype a = l[i], b = l[i + 1], c = r[i], d = r[i + 1];                                  \
            o[i] = a * c - b * d;                                                                  \
            o[i + 1] = a * d + b * c;                                                              \
        }                                                                                          \
    }

COMPLEX_KERNELS(float)
COMPLEX_KERNELS(double)

/* ------------------------------------------------------------------ the table ---------------- */

#define INTEGER_ENTRY(op, opname, expression, name) [op] = opname##_##name,
#define INTEGER_ROW(type, ctype, wide, name)        [type] = {INTEGER_OPS(INTEGER_ENTRY, name)},
#define FLOAT_ROW(type, U, I, inf, nan, name)                                                      \
    [type] = {[NCOLL_SUM] = sum_##name,                                                            \
              [NCOLL_PROD] = prod_##name,                                                          \
              [NCOLL_MIN] = min_##name,                                                            \
              [NCOLL_MAX] = max_##name},
#define COMPLEX_ROW(type, ctype)                                                                   \
    [type] = {[NCOLL_SUM] = sum_complex_##ctype, [NCOLL_PROD] = prod_complex_##ctype},

/* Exclusive or is its own inverse. A floating-point sum has none, since a subtraction loses
 * bits. */
#define INVERSE_ROW(type, ctype, wide, name)                                                       \
    [type] = {                                                                                     \
        [NCOLL_SUM] = difference_##name, [NCOLL_LXOR] = lxor_##name, [NCOLL_BXOR] = bxor_##name},

const struct kernels KERNELS = {
    .combine = {INTEGER_TYPES(INTEGER_ROW) FLOAT_BITS(FLOAT_ROW) COMPLEX_ROW(
        NCOLL_COMPLEX_FLOAT, float) COMPLEX_ROW(NCOLL_COMPLEX_DOUBLE, double)},
    .inverse = {INTEGER_TYPES(INVERSE_ROW)},
};
