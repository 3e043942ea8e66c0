/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics of the samples of a row. There is no mean: a mean hides stragglers, and one of them
 * moves it.
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
 * The sample at `permille` of n sorted ones: up to 500, the smallest that at least so many do not
 * exceed; above, the smallest that less than 1000 - permille of 1000 exceed. So what one call in a
 * hundred takes is the 99th percentile, and not the smallest part above it.
 */
uint64_t stats_quantile(const uint64_t *sorted, size_t n, unsigned permille);

/*
 * Ranks, from 0, of the two samples between which the median lies with 95 % or more, whatever the
 * distribution: the number of samples below the median is binomial(n, 1/2). Samples are taken as
 * independent. False for n < 6, where no two samples are that far apart. Source: H. A. David and
 * H. N. Nagaraja, "Order Statistics", 3rd ed. 2003, 7.1; T. Hoefler and R. Belli, "Scientific
 * Benchmarking of Parallel Computing Systems", SC 2015, 3.1.3.
 */
bool stats_median_interval(size_t n, size_t *low, size_t *high);

/* True if both ends of the interval are within so many percent of the median. */
bool stats_is_precise(const struct summary *s, double percent);

/* Sort in place. */
void stats_sort(uint64_t *samples, size_t n);
void stats_sort_reals(double *values, size_t n);

#endif
