/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of floating-point numbers that have the same bits whatever the order, the number of ranks
 * and the algorithm, after Demmel & Nguyen, "Parallel Reproducible Summation" (IEEE Trans. Comp.
 * 64(7), 2015), with integers in place of their floating-point bins.
 *
 * The range of a double is cut into bins of W = 40 bits at fixed places. A number is cut at their
 * borders into K = 3 pieces, which depend on nothing else; each bin adds up its pieces as integers,
 * exactly. Only the K bins from the highest in use downwards are kept: pieces in lower ones are
 * dropped, no matter whether they came before or after the number that raised the highest. So the
 * accumulators form a commutative monoid, and any schedule gives the same bits.
 *
 * Error: less than n 2^-80 max|x|, and half an ulp for the rounding at the end. Numbers whose
 * exponents differ by 28 at most (57: floats) lose nothing: their sum is rounded correctly. There
 * is no overflow but that of the result. Capacity: n < 2^23 numbers.
 *
 * Infinities and NaNs give what their sum gives, NaN being the canonical one; a sum of zeros is -0
 * if all of them are.
 */
#ifndef NCOLL_LIB_REPRODUCIBLE_H
#define NCOLL_LIB_REPRODUCIBLE_H

#include "ncoll.h"

#define REPRODUCIBLE_BINS 3           /* K */
#define REPRODUCIBLE_MAX  (1u << 23u) /* n is less */

struct reproducible {
    int64_t bin[REPRODUCIBLE_BINS]; /* from the lowest kept */
    int32_t top;                    /* number of the highest bin; bin 0 begins at 2^-1074 */
    uint32_t seen;                  /* kinds of numbers that were added */
};

/* An accumulator for each of count numbers of type NCOLL_FLOAT or NCOLL_DOUBLE. */
void ncoll__reproducible_open(struct reproducible *out, const void *in, size_t count,
                              ncoll_type type);

/*
 * Adds accumulators: an operation on them, an ncoll_op_fn, commutative and exact. type and arg are
 * not looked at; out may equal left or right.
 */
void ncoll__reproducible_combine(void *out, const void *left, const void *right, size_t count,
                                 ncoll_type type, void *arg);

/* Rounds them to count numbers of the type that they were opened with. */
void ncoll__reproducible_close(void *out, const struct reproducible *in, size_t count,
                               ncoll_type type);

#endif
