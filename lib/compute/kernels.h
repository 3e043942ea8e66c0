/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels of the built-in operations: out[i] = left[i] op right[i]. out may equal left or right;
 * none of the three need be aligned.
 */
#ifndef NCOLL_LIB_KERNELS_H
#define NCOLL_LIB_KERNELS_H

#include <stdbool.h>

#include "ncoll.h"

#define TYPES_END (NCOLL_DOUBLE_INT64 + 1)
#define OPS_END   (NCOLL_SUM_REPRODUCIBLE + 1)

/* NULL where there is none. */
struct kernels {
    ncoll_op_fn combine[TYPES_END][OPS_END];
    ncoll_op_fn inverse[TYPES_END][OPS_END];
};

/* long double and pairs */
extern const struct kernels ncoll__kernels_scalar;
/* all other types: for any processor, and for those that have more */
extern const struct kernels ncoll__kernels_plain;
#if defined(__x86_64__)
#define HAVE_KERNELS_AVX2
extern const struct kernels ncoll__kernels_avx2;
bool ncoll__have_avx2(void);
#endif

/* The best that this processor can run. */
const struct kernels *ncoll__kernels(void);

/* Loops over i whose rounds do not depend on each other: true where out is left, right or apart. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed" /* it need not be possible, as under UBSan */
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* A pointer to elements that need not be aligned, in memory of any type. */
#define ANYWHERE __attribute__((aligned(1), may_alias))

/*
 * Floating-point numbers in the order -inf < ... < -0 < +0 < ... < inf as signed integers of the
 * same size, found from their bits: no dependence on the modes of the processor (subnormals taken
 * for zero), and nothing that stops a loop from being vectorised. U, I: the unsigned and signed
 * integers; inf: the bits of infinity.
 */
#define FLOAT_KEY(U, I, u)         ((I)((U)(u) ^ ((U)((I)(u) >> (8 * sizeof(U) - 1)) & ((U)-1 >> 1))))
#define FLOAT_IS_NAN(U, I, inf, u) ((I)((U)(u) & ((U)-1 >> 1)) > (I)(inf))

/* type, unsigned and signed integer of its size, bits of infinity, of the canonical NaN; name */
#define FLOAT_BITS(X)                                                                              \
    X(NCOLL_FLOAT, uint32_t, int32_t, 0x7f800000, 0x7fc00000, float)                               \
    X(NCOLL_DOUBLE, uint64_t, int64_t, 0x7ff0000000000000, 0x7ff8000000000000, double)             \
    X(NCOLL_HALF, uint16_t, int16_t, 0x7c00, 0x7e00, half)                                         \
    X(NCOLL_BFLOAT16, uint16_t, int16_t, 0x7f80, 0x7fc0, bfloat16)

#endif
