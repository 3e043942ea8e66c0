/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ratio of two medians, and how sure of it the samples make us.
 *
 * The samples of a row come in batches, and the calls of a batch are much alike: which of them ran
 * while another process disturbed, or where its memory lay, is the batch's luck. So the interval is
 * the bootstrap's with batches as its units (Davison and Hinkley 1997, 3.8): batches are drawn with
 * replacement, and the medians are those of all samples of what was drawn. Batches that two rows
 * have measured in the same round are drawn together, and what the machine did in that round to
 * both leaves the ratio alone.
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
 * single batch, its calls are the units; if they have unlike numbers of units, these are drawn
 * apart. A median is the smallest sample that at least half of all do not exceed. False, and *out
 * as it was: there are no samples, a median below is 0, or no memory.
 */
bool ratio_of_medians(const struct batches *a, const struct batches *b, uint64_t seed,
                      struct ratio *out);

#endif
