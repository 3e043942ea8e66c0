/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics of the samples of a row. There is no mean, since a mean hides stragglers, and a single
 * straggler changes it.
 */
#ifndef NCOLL_TOOLS_BENCH_MEASURE_STATS_H
#define NCOLL_TOOLS_BENCH_MEASURE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct summary {
    uint64_t p50, p90, p99, p999; /* see stats_quantile() */
    uint64_t min, max;
    uint64_t p50_low, p50_high; /* 95 % interval of the median; 0, 0: too few samples */
};

/* Summarises n >= 1 sorted samples. */
void stats_summarise(const uint64_t *sorted, size_t n, struct summary *out);

/*
 * Returns the quantile `permille` / 1000 of n sorted samples. Up to 500 it is the smallest sample
 * such that at least this share of all is not larger. Above 500 it is the smallest sample such that
 * less than the rest, 1000 - permille of 1000, is larger. So if one call in a hundred is slow, the
 * 99th percentile shows that.
 */
uint64_t stats_quantile(const uint64_t *sorted, size_t n, unsigned permille);

/*
 * Finds the positions, from 0, of two sorted samples between which the median lies with a
 * probability of at least 95 %, for any distribution: the number of samples below the median is
 * binomial(n, 1/2). Samples are taken as independent. Returns false for n < 6, since no two samples
 * are that far apart. Source: H. A. David and H. N. Nagaraja, "Order Statistics", 3rd ed. 2003,
 * 7.1; T. Hoefler and R. Belli, "Scientific Benchmarking of Parallel Computing Systems", SC 2015,
 * 3.1.3.
 */
bool stats_median_interval(size_t n, size_t *low, size_t *high);

/* True if both ends of the interval differ from the median by at most `percent`. */
bool stats_is_precise(const struct summary *s, double percent);

/* Sorts in place. */
void stats_sort(uint64_t *samples, size_t n);
void stats_sort_reals(double *values, size_t n);

#endif
