/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ratio of two medians, with a confidence interval.
 *
 * The samples of a row come in batches. The calls of one batch resemble each other: the same
 * process may have disturbed them, and they use the same memory. So the interval is a bootstrap
 * interval whose units are batches (Davison and Hinkley 1997, 3.8): batches are drawn with
 * replacement, and the median is that of all samples in the drawn batches. Batches of two rows that
 * were measured in the same round are drawn together, so that a disturbance of that round, which
 * affects both, cancels out in the ratio.
 */
#ifndef NCOLL_TOOLS_BENCH_COMPARE_RATIO_H
#define NCOLL_TOOLS_BENCH_COMPARE_RATIO_H

#include <stdbool.h>
#include <stdint.h>

/* Samples in the order in which they were taken: `batches` batches of `calls` each. */
struct batches {
    const uint64_t *samples_ns;
    unsigned batches, calls;
};

struct ratio {
    double value;     /* median of a / median of b */
    double low, high; /* 95 % interval */
};

/*
 * Computes the ratio of the medians. An equal seed gives an equal interval. If one of the two has a
 * single batch, its calls are the units; if they have different numbers of units, these are drawn
 * independently. A median is the smallest sample that at least half of all do not exceed. Returns
 * false, and leaves *out as it is, if there are no samples, if the median of b is 0, or if there is
 * no memory.
 */
bool ratio_of_medians(const struct batches *a, const struct batches *b, uint64_t seed,
                      struct ratio *out);

#endif
