/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of floating-point numbers with the same bits for every order, number of ranks and algorithm,
 * after Demmel & Nguyen, "Parallel Reproducible Summation" (IEEE Trans. Comp. 64(7), 2015).
 * Integers take the place of their floating-point bins.
 *
 * The range of a double is divided into bins of W = 40 bits at fixed places. A number is cut at the
 * borders of the bins into K = 3 pieces, and each bin adds up its pieces exactly, as integers. Only
 * the highest K bins in use are kept. Pieces in lower bins are dropped, whether they came before or
 * after the number that raised the highest bin. So the accumulators form a commutative monoid, and
 * any schedule gives the same bits.
 *
 * Error: less than n 2^-80 max|x|, plus half an ulp for the rounding at the end. Numbers whose
 * exponents differ by 28 at most (57: floats) lose nothing: their sum is rounded correctly. Only
 * the result can overflow. Capacity: n < 2^23 numbers.
 *
 * Infinities and NaNs give what their sum gives, with the canonical NaN; a sum of zeros is -0 if
 * all of them are -0.
 */
#ifndef NCOLL_LIB_REPRODUCIBLE_H
#define NCOLL_LIB_REPRODUCIBLE_H

#include "ncoll.h"

#define REPRODUCIBLE_BINS 3           /* K */
#define REPRODUCIBLE_MAX  (1u << 23u) /* n is less than this */

struct reproducible {
    int64_t bin[REPRODUCIBLE_BINS]; /* the lowest kept bin first */
    int32_t top;                    /* number of the highest bin; bin 0 begins at 2^-1074 */
    uint32_t seen;                  /* kinds of numbers that were added */
};

/* Makes an accumulator from each of count numbers of type NCOLL_FLOAT or NCOLL_DOUBLE. */
void ncoll__reproducible_open(struct reproducible *out, const void *in, size_t count,
                              ncoll_type type);

/*
 * Adds accumulators. It is an ncoll_op_fn, commutative and exact; type and arg are ignored, and out
 * may equal left or right.
 */
void ncoll__reproducible_combine(void *out, const void *left, const void *right, size_t count,
                                 ncoll_type type, void *arg);

/* Rounds accumulators to count numbers of the type that they were opened with. */
void ncoll__reproducible_close(void *out, const struct reproducible *in, size_t count,
                               ncoll_type type);

#endif
