/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/measure/stats.h"

#include <math.h>
#include <stdlib.h>

#define TAIL      0.025
#define EXACT_MAX 1000 /* for larger n, 2^-n underflows */

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

void stats_sort(uint64_t *samples, size_t n)
{
    qsort(samples, n, sizeof *samples, by_value);
}

static int by_real_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

void stats_sort_reals(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_real_value);
}

uint64_t stats_quantile(const uint64_t *sorted, size_t n, unsigned permille)
{
    size_t part = n * permille;

    if (permille <= 500)
        return sorted[part == 0 ? 0 : (part + 999) / 1000 - 1];
    return sorted[part / 1000 < n ? part / 1000 : n - 1];
}

/* The largest k for which fewer than k of n samples are below the median with probability TAIL or
 * less. */
static size_t rank_exact(size_t n)
{
    double term = ldexp(1.0, -(int)n), sum = term;
    size_t k = 0;

    while (sum <= TAIL) {
        k++;
        term *= (double)(n - k + 1) / (double)k;
        sum += term;
    }
    return k;
}

/* Returns that k by the normal distribution, with a correction for continuity. */
static size_t rank_normal(size_t n)
{
    return (size_t)(0.5 * (double)n + 0.5 - 1.959964 * 0.5 * sqrt((double)n));
}

bool stats_median_interval(size_t n, size_t *low, size_t *high)
{
    size_t k = n <= EXACT_MAX ? rank_exact(n) : rank_normal(n);

    if (n == 0 || k == 0)
        return false;
    *low = k - 1;
    *high = n - k;
    return true;
}

void stats_summarise(const uint64_t *sorted, size_t n, struct summary *out)
{
    size_t low, high;

    *out = (struct summary){
        .p50 = stats_quantile(sorted, n, 500),
        .p90 = stats_quantile(sorted, n, 900),
        .p99 = stats_quantile(sorted, n, 990),
        .p999 = stats_quantile(sorted, n, 999),
        .min = sorted[0],
        .max = sorted[n - 1],
    };
    if (stats_median_interval(n, &low, &high)) {
        out->p50_low = sorted[low];
        out->p50_high = sorted[high];
    }
}

bool stats_is_precise(const struct summary *s, double percent)
{
    double far = (double)s->p50 * percent / 100;

    return s->p50_high > 0 && (double)(s->p50_high - s->p50) <= far &&
           (double)(s->p50 - s->p50_low) <= far;
}
