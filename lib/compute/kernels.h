/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels of the built-in operations: out[i] = left[i] op right[i]. out may equal left or right;
 * none of the three need be aligned.
 */
#ifndef NCOLL_LIB_KERNELS_H
#define NCOLL_LIB_KERNELS_H

#include <stdbool.h>

#include "lib/base/type.h"
#include "ncoll.h"

/* Kernels by type and operation. Entries are NULL for combinations that do not exist. */
struct kernels {
    ncoll_op_fn combine[TYPES_END][OPS_END];
    ncoll_op_fn inverse[TYPES_END][OPS_END];
};

/* kernels for long double and pairs */
extern const struct kernels ncoll__kernels_scalar;
/* kernels for all other types: for any processor, and for processors with AVX2 */
extern const struct kernels ncoll__kernels_plain;
#if defined(__x86_64__)
#define HAVE_KERNELS_AVX2
extern const struct kernels ncoll__kernels_avx2;
bool ncoll__have_avx2(void);
#endif

/* Returns the fastest kernels that this processor can run. */
const struct kernels *ncoll__kernels(void);

/* Marks a loop over i whose iterations are independent; out is left, right or separate memory. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed" /* vectorising may be impossible, as under UBSan */
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* Attributes of an element that need not be aligned, in memory of any type. */
#define ANYWHERE __attribute__((aligned(1), may_alias))

/*
 * Maps floating-point numbers to signed integers of the same size, in the order -inf < ... < -0 <
 * +0 < ... < inf. Only the bits of the numbers are used. So the result does not depend on the modes
 * of the processor (subnormals taken for zero), and loops can be vectorised. U, I: the unsigned and
 * signed integers; inf: the bits of infinity.
 */
#define FLOAT_KEY(U, I, u)         ((I)((U)(u) ^ ((U)((I)(u) >> (8 * sizeof(U) - 1)) & ((U)-1 >> 1))))
#define FLOAT_IS_NAN(U, I, inf, u) ((I)((U)(u) & ((U)-1 >> 1)) > (I)(inf))

/* Calls X for each type: type, unsigned and signed integer of its size, bits of infinity and of the
 * canonical NaN, name. */
#define FLOAT_BITS(X)                                                                              \
    X(NCOLL_FLOAT, uint32_t, int32_t, 0x7f800000, 0x7fc00000, float)                               \
    X(NCOLL_DOUBLE, uint64_t, int64_t, 0x7ff0000000000000, 0x7ff8000000000000, double)             \
    X(NCOLL_HALF, uint16_t, int16_t, 0x7c00, 0x7e00, half)                                         \
    X(NCOLL_BFLOAT16, uint16_t, int16_t, 0x7f80, 0x7fc0, bfloat16)

#endif
