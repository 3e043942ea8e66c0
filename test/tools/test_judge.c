/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of how ncoll-tune judges times, on ones whose answer is known; and of how it deals out
 * ranks. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/support/seed.h"
#include "tools/tune/tune.h"

#define TRIALS 500
#define NOISE  0.1 /* of one sweep, by logarithm */

static struct point p;

/* All candidates take 10 us in every sweep, times what the caller makes of it. */
static void start(unsigned n, unsigned sweeps)
{
    memset(&p, 0, sizeof p);
    p.collective = COLL_ALLREDUCE;
    p.n = n;
    p.sweeps = sweeps;
    for (unsigned i = 0; i < n; i++) {
        p.candidates[i].left = p.candidates[i].same_bits = true;
        for (unsigned s = 0; s < sweeps; s++)
            p.candidates[i].sweep_us[s] = 10;
    }
}

static void scale(unsigned candidate, double factor)
{
    for (unsigned s = 0; s < p.sweeps; s++)
        p.candidates[candidate].sweep_us[s] *= factor;
}

/* Returns a number of mean 0 and standard deviation 1, about. */
static double normal(struct random *r)
{
    double sum = 0;

    for (unsigned i = 0; i < 12; i++)
        sum += (double)random_below(r, 1u << 20) / (1u << 20);
    return sum - 6;
}

static void add_noise(struct random *r)
{
    for (unsigned i = 0; i < p.n; i++)
        for (unsigned s = 0; s < p.sweeps; s++)
            p.candidates[i].sweep_us[s] *= exp(NOISE * normal(r));
}

static bool near(double value, double expected)
{
    return fabs(value / expected - 1) < 1e-9;
}

static void test_of_known_factors(void **state)
{
    (void)state;
    start(3, 7);
    scale(1, 0.8);
    for (unsigned s = 0; s < p.sweeps; s++) /* whatever the machine does, it does to all */
        for (unsigned i = 0; i < p.n; i++)
            p.candidates[i].sweep_us[s] *= s % 3 == 0 ? 4 : 1;
    assert_true(near(candidate_ratio(&p, 0, 1, HALF_BOTH), 1.25));
    assert_true(near(candidate_ratio(&p, 1, 0, HALF_FIRST), 0.8));
    assert_true(near(candidate_us(&p, 1), 0.8 * candidate_us(&p, 0)));
    assert_true(near(point_ratio(&p, 0), 1.25) && near(point_ratio(&p, 1), 1));
    point_settle(&p);
    assert_int_equal(p.best, 1);
    p.candidates[1].same_bits = false;
    point_settle(&p);
    assert_true(p.best == 1 && p.same_bits == 0);
    p.candidates[1].left = false;
    point_settle(&p);
    assert_true(p.best == 0 && near(point_ratio(&p, 0), 1) && candidate_us(&p, 1) == 0);
}

/* A rank that lost its core in one sweep of ten says nothing about what runs. */
static void test_held_up(void **state)
{
    (void)state;
    start(2, 20);
    scale(1, 0.9);
    p.candidates[1].sweep_us[3] *= 1000;
    p.candidates[1].sweep_us[16] *= 50;
    assert_true(near(candidate_ratio(&p, 0, 1, HALF_BOTH), 1 / 0.9));
    assert_true(near(point_ratio(&p, 0), 1 / 0.9));
}

/* In some processes faster, in others slower: all of them count. */
static void test_of_two_kinds_of_processes(void **state)
{
    (void)state;
    for (unsigned slow = 16; slow <= 24; slow++) {
        start(2, 40);
        for (unsigned s = 0; s < p.sweeps; s++)
            p.candidates[1].sweep_us[s] *= s < slow ? 1.25 : 0.75;
        double mean = exp((slow * log(1.25) + (40 - slow) * log(0.75)) / 40);
        assert_true(fabs(candidate_ratio(&p, 1, 0, HALF_BOTH) / mean - 1) < 0.03);
    }
}

/* The fastest of eight that are equal was lucky: by the sweeps that it was picked by it seems to be
 * so much faster; by the others it is not. */
static void test_luck_is_not_counted(void **state)
{
    struct random r = random_stream(test_seed(), 1);
    double fair = 0, lucky = 0;

    (void)state;
    for (unsigned t = 0; t < TRIALS; t++) {
        bool all[CANDIDATES_MAX];
        start(8, 16);
        add_noise(&r);
        memset(all, true, sizeof all);
        fair += log(point_ratio(&p, 0)) / TRIALS;
        lucky += log(candidate_ratio(&p, 0, point_fastest(&p, all, false, HALF_BOTH), HALF_BOTH)) /
                 TRIALS;
    }
    print_message("%.4f in truth, %.4f by luck\n", fair, lucky);
    assert_true(lucky > 0.02);
    assert_true(fabs(fair) < 0.006); /* four standard errors of the mean */
}

static void test_what_is_chosen(void **state)
{
    struct random r = random_stream(test_seed(), 2);
    unsigned changed = 0, missed = 0;

    (void)state;
    for (unsigned t = 0; t < TRIALS; t++) {
        start(2, SWEEPS_MAX);
        add_noise(&r);
        point_settle(&p);
        changed += p.best != 0;
        scale(1, exp(-0.08));
        point_settle(&p);
        missed += p.best != 1;
    }
    assert_true(changed < TRIALS / 4); /* for what is as good */
    assert_true(missed < TRIALS / 50);
}

static void test_nothing_measured(void **state)
{
    bool all[CANDIDATES_MAX];

    (void)state;
    memset(all, true, sizeof all);
    start(3, 0);
    assert_true(point_ratio(&p, 0) == 1 && candidate_us(&p, 1) == 0);
    assert_int_equal(point_fastest(&p, all, false, HALF_BOTH), CANDIDATES_MAX);
    point_settle(&p);
    assert_int_equal(p.best, 0);
    start(3, 1); /* stands for both halves */
    scale(2, 0.5);
    assert_true(near(point_ratio(&p, 0), 2));
}

/* Each core has as many ranks as another, or one more; ranks 1 to 3 of four share one with rank 0
 * once each. */
static void test_deals(void **state)
{
    unsigned with[4] = {0};

    (void)state;
    for (unsigned deal = 0; deal < DEALS; deal++)
        for (unsigned ranks = 1; ranks <= 40; ranks++)
            for (unsigned cores = 1; cores < ranks; cores++) {
                unsigned on[40] = {0};
                for (unsigned q = 0; q < ranks; q++)
                    on[deal_core(deal, q, ranks, cores)]++;
                for (unsigned c = 0; c < cores; c++)
                    assert_in_range(on[c], ranks / cores, (ranks + cores - 1) / cores);
            }
    for (unsigned deal = 0; deal < DEALS; deal++)
        for (unsigned q = 1; q < 4; q++)
            with[q] += deal_core(deal, q, 4, 2) == deal_core(deal, 0, 4, 2);
    assert_true(with[1] == 1 && with[2] == 1 && with[3] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_known_factors),
        cmocka_unit_test(test_held_up),
        cmocka_unit_test(test_of_two_kinds_of_processes),
        cmocka_unit_test(test_luck_is_not_counted),
        cmocka_unit_test(test_what_is_chosen),
        cmocka_unit_test(test_nothing_measured),
        cmocka_unit_test(test_deals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
