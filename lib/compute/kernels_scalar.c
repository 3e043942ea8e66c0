/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that work on one element at a time: long double, and pairs of a value and an index. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "lib/compute/kernels.h"

/* ------------------------------------------------------------------ long double -------------- */

/* Stores a result. If the compiler pads the x87's 10 bytes, the padding is set to zero, so that all
 * ranks get the same bits. */
static inline void store_long_double(unsigned char *to, long double value)
{
#if LDBL_MANT_DIG == 64
    memset(to + 10, 0, sizeof value - 10);
    memcpy(to, &value, 10);
#else
    memcpy(to, &value, sizeof value);
#endif
}

/* Returns the lesser or the greater one. -0 is below +0, and any NaN gives the canonical NaN, so
 * the order of the operands does not matter. */
static inline long double pick(long double a, long double b, bool less)
{
    if (a != a || b != b)
        return (long double)NAN;
    if (a == b)
        return (signbit(a) != 0) == less ? a : b;
    return (a < b) == less ? a : b;
}

#define LONG_DOUBLE_KERNEL(NAME, EXPRESSION)                                                       \
    static void NAME##_long_double(void *out, const void *left, const void *right, size_t count,   \
                                   ncoll_type type, void *arg)                                     \
    {                                                                                              \
        unsigned char *o = out;                                                                    \
        const unsigned char *l = left, *r = right;                                                 \
        (void)type, (void)arg;                                                                     \
        for (size_t i = 0; i < count * sizeof(long double); i += sizeof(long double)) {            \
            long double a, b;                                                                      \
            memcpy(&a, l + i, sizeof a);                                                           \
            memcpy(&b, r + i, sizeof b);                                                           \
            store_long_double(o + i, EXPRESSION);                                                  \
        }                                                                                          \
    }

LONG_DOUBLE_KERNEL(sum, a + b)
LONG_DOUBLE_KERNEL(prod, a *b)
LONG_DOUBLE_KERNEL(min, pick(a, b, true))
LONG_DOUBLE_KERNEL(max, pick(a, b, false))

/* ------------------------------------------------------------------ pairs -------------------- */

/* A pair whose value is kept as its bits; the layout is that of the types in ncoll.h, without
 * alignment. */
#define PAIR_OF(U, ...)                                                                            \
    struct __attribute__((packed, may_alias)) {                                                    \
        U value;                                                                                   \
        __VA_ARGS__;                                                                               \
    }
typedef PAIR_OF(uint32_t, int32_t index) pair_32_32;
typedef PAIR_OF(uint64_t, int64_t index) pair_64_64;
typedef PAIR_OF(uint64_t, int32_t index, unused) pair_64_32;

_Static_assert(sizeof(pair_32_32) == sizeof(ncoll_int32_int32) &&
                   sizeof(pair_32_32) == sizeof(ncoll_float_int32) &&
                   sizeof(pair_64_64) == sizeof(ncoll_int64_int64) &&
                   sizeof(pair_64_64) == sizeof(ncoll_double_int64) &&
                   sizeof(pair_64_32) == sizeof(ncoll_double_int32),
               "layout of pairs");

/* In minloc and in maxloc, a NaN comes before all numbers, and becomes the canonical NaN. */
#define FLOAT_PLACE(U, I, inf, nan, name)                                                          \
    static inline I place_##name(U u, I first)                                                     \
    {                                                                                              \
        return FLOAT_IS_NAN(U, I, inf, u) ? first : FLOAT_KEY(U, I, u);                            \
    }                                                                                              \
    static inline U clean_##name(U u)                                                              \
    {                                                                                              \
        return FLOAT_IS_NAN(U, I, inf, u) ? (U)(nan) : u;                                          \
    }
FLOAT_PLACE(uint32_t, int32_t, 0x7f800000, 0x7fc00000, float)
FLOAT_PLACE(uint64_t, int64_t, 0x7ff0000000000000, 0x7ff8000000000000, double)

#define place_int32(u, first) ((int32_t)(u))
#define place_int64(u, first) ((int64_t)(u))
#define clean_int32(u)        (u)
#define clean_int64(u)        (u)

#define PAIR_KERNEL(NAME, PAIR, I, value_type, first, compare)                                     \
    static void NAME(void *out, const void *left, const void *right, size_t count,                 \
                     ncoll_type type, void *arg)                                                   \
    {                                                                                              \
        PAIR *o = out;                                                                             \
        const PAIR *l = left, *r = right;                                                          \
        (void)type, (void)arg;                                                                     \
        for (size_t i = 0; i < count; i++) {                                                       \
            PAIR a = l[i], b = r[i];                                                               \
            I x = place_##value_type(a.value, first), y = place_##value_type(b.value, first);      \
            PAIR w = x compare y || (x == y && a.index <= b.index) ? a : b;                        \
            o[i] = (PAIR){.value = clean_##value_type(w.value), .index = w.index};                 \
        }                                                                                          \
    }

/* Calls X for each type: type, kind of pair, integer to compare as, type of the value, name. */
#define PAIR_TYPES(X)                                                                              \
    X(NCOLL_INT32_INT32, pair_32_32, INT32, int32, int32_int32)                                    \
    X(NCOLL_INT64_INT64, pair_64_64, INT64, int64, int64_int64)                                    \
    X(NCOLL_FLOAT_INT32, pair_32_32, INT32, float, float_int32)                                    \
    X(NCOLL_DOUBLE_INT32, pair_64_32, INT64, double, double_int32)                                 \
    X(NCOLL_DOUBLE_INT64, pair_64_64, INT64, double, double_int64)

typedef int32_t INT32;
typedef int64_t INT64;
#define PAIR_KERNELS(type, pair, I, value, name)                                                   \
    PAIR_KERNEL(minloc_##name, pair, I, value, I##_MIN, <)                                         \
    PAIR_KERNEL(maxloc_##name, pair, I, value, I##_MAX, >)

PAIR_TYPES(PAIR_KERNELS)

/* ------------------------------------------------------------------ the table ---------------- */

#define PAIR_ROW(type, pair, I, value, name)                                                       \
    [type] = {[NCOLL_MINLOC] = minloc_##name, [NCOLL_MAXLOC] = maxloc_##name},

const struct kernels ncoll__kernels_scalar = {
    .combine = {[NCOLL_LONG_DOUBLE] = {[NCOLL_SUM] = sum_long_double,
                                       [NCOLL_PROD] = prod_long_double,
                                       [NCOLL_MIN] = min_long_double,
                                       [NCOLL_MAX] = max_long_double},
                PAIR_TYPES(PAIR_ROW)},
};
