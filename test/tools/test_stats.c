/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the statistics of ncoll-bench, on data whose answer is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "test/support/seed.h"
#include "tools/bench/measure/stats.h"

/* Ranks from 1, as in tables of the sign test (e.g. Conover, Practical Nonparametric
 * Statistics). */
static void expect_interval(size_t n, size_t low, size_t high)
{
    size_t got_low, got_high;

    assert_true(stats_median_interval(n, &got_low, &got_high));
    assert_int_equal(got_low + 1, low);
    assert_int_equal(got_high + 1, high);
}

static void test_ranks(void **state)
{
    size_t low, high;

    (void)state;
    for (size_t n = 0; n < 6; n++)
        assert_false(stats_median_interval(n, &low, &high));
    expect_interval(6, 1, 6);
    expect_interval(8, 1, 8);
    expect_interval(9, 2, 8);
    expect_interval(10, 2, 9);
    expect_interval(20, 6, 15);
    expect_interval(50, 18, 33);
    expect_interval(100, 40, 61);
}

/* Exact and normal meet. */
static void test_many(void **state)
{
    size_t low, high, before_low = 0;

    (void)state;
    for (size_t n = 900; n < 1100; n++) {
        assert_true(stats_median_interval(n, &low, &high));
        assert_int_equal(low + high, n - 1);
        double normal = 0.5 * (double)n + 0.5 - 0.98 * sqrt((double)n);
        assert_true(fabs((double)low + 1 - normal) <= 1.5);
        assert_true(n == 900 || low == before_low || low == before_low + 1);
        before_low = low;
    }
}

static void test_quantiles(void **state)
{
    uint64_t sorted[1000];

    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        sorted[i] = i + 1;
    assert_int_equal(stats_quantile(sorted, 1000, 500), 500);
    assert_int_equal(stats_quantile(sorted, 999, 500), 500);
    assert_int_equal(stats_quantile(sorted, 1000, 900), 901);
    assert_int_equal(stats_quantile(sorted, 1000, 990), 991);
    assert_int_equal(stats_quantile(sorted, 1000, 999), 1000);
    assert_int_equal(stats_quantile(sorted, 10, 999), 10);
    assert_int_equal(stats_quantile(sorted, 1, 500), 1);
    assert_int_equal(stats_quantile(sorted, 1, 990), 1);
}

/* 200 us in one call of a hundred: the 99th percentile, and neither the 90th nor the median. */
static void test_stragglers(void **state)
{
    uint64_t samples[2000];
    struct summary s;

    (void)state;
    for (unsigned n = 100; n <= 2000; n += 30) {
        for (unsigned i = 0; i < n; i++)
            samples[i] = i % 100 == 0 ? 200000 : 500 + i % 7;
        stats_sort(samples, n);
        stats_summarise(samples, n, &s);
        assert_int_equal(s.p99, 200000);
        assert_int_equal(s.p999, 200000);
        assert_int_equal(s.max, 200000);
        assert_int_equal(s.min, 500);
        assert_in_range(s.p50, 502, 504);
        assert_in_range(s.p90, 505, 506);
    }
}

static void test_precision(void **state)
{
    struct summary s = {.p50 = 1000, .p50_low = 950, .p50_high = 1040};

    (void)state;
    assert_true(stats_is_precise(&s, 5));
    assert_false(stats_is_precise(&s, 4.9));
    s.p50_high = 1051;
    assert_false(stats_is_precise(&s, 5));
    s.p50_low = s.p50_high = 0; /* too few */
    assert_false(stats_is_precise(&s, 50));
}

/* The truth is within in 95 % of trials or a bit more, for a distribution with a long tail as well.
 * 0.93 to 0.99 are five deviations and more of a count of 4000. */
static void test_coverage(void **state)
{
    enum { N = 101, TRIALS = 4000 };
    struct random random = {test_seed()};
    uint64_t samples[N];
    unsigned held = 0;

    (void)state;
    for (unsigned t = 0; t < TRIALS; t++) {
        struct summary s;
        for (unsigned i = 0; i < N; i++) {
            double u = ((double)random_below(&random, 1u << 30) + 0.5) / (1u << 30);
            samples[i] = (uint64_t)(1e6 / u); /* median 2e6, no mean */
        }
        stats_sort(samples, N);
        stats_summarise(samples, N, &s);
        held += s.p50_low <= 2000000 && s.p50_high >= 2000000;
    }
    printf("the interval held the median in %u of %u trials\n", held, TRIALS);
    assert_in_range(held, TRIALS * 93 / 100, TRIALS * 99 / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks),     cmocka_unit_test(test_many),
        cmocka_unit_test(test_quantiles), cmocka_unit_test(test_stragglers),
        cmocka_unit_test(test_precision), cmocka_unit_test(test_coverage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
