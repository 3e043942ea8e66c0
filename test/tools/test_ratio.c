/* SPDX-License-Identifier: BSD-3-Clause */
/* The ratio of two medians and its interval, on data whose answer is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "test/support/seed.h"
#include "tools/bench/compare/ratio.h"

#define BATCHES 40
#define CALLS   25
#define TRIALS  400

static void test_constant(void **state)
{
    uint64_t a[] = {300, 300, 300, 300}, b[] = {100, 100, 100, 100};
    struct ratio r;

    (void)state;
    assert_true(ratio_of_medians(&(struct batches){a, 2, 2}, &(struct batches){b, 2, 2}, 1, &r));
    assert_true(r.value == 3.0 && r.low == 3.0 && r.high == 3.0);
}

/* Half of four is two: the smaller of the middle ones, as in the medians that are printed. */
static void test_median(void **state)
{
    uint64_t a[] = {40, 10, 30, 20}, b[] = {5, 1, 3};
    struct ratio r;

    (void)state;
    assert_true(ratio_of_medians(&(struct batches){a, 2, 2}, &(struct batches){b, 3, 1}, 1, &r));
    assert_true(r.value == 20.0 / 3.0);
    assert_true(r.low >= 10.0 / 5.0 && r.high <= 40.0 / 1.0 && r.low < r.value && r.high > r.value);
}

static void test_nothing(void **state)
{
    uint64_t a[] = {1, 2}, zero[] = {0, 0};
    struct ratio r = {7, 8, 9};

    (void)state;
    assert_false(ratio_of_medians(&(struct batches){a, 0, 2}, &(struct batches){a, 2, 1}, 1, &r));
    assert_false(ratio_of_medians(&(struct batches){a, 2, 1}, &(struct batches){a, 0, 0}, 1, &r));
    assert_false(
        ratio_of_medians(&(struct batches){a, 2, 1}, &(struct batches){zero, 2, 1}, 1, &r));
    assert_true(r.value == 7 && r.low == 8 && r.high == 9);
}

/* A disturbance of both in the same round does not widen the interval; it does if the rounds of one
 * are in another order. */
static void test_rounds_together(void **state)
{
    uint64_t a[BATCHES], b[BATCHES], turned[BATCHES];
    struct ratio together, apart;

    (void)state;
    for (unsigned i = 0; i < BATCHES; i++) {
        b[i] = 1000 + 100 * i;
        a[i] = 2 * b[i];
        turned[BATCHES - 1 - i] = b[i];
    }
    struct batches above = {a, BATCHES, 1};
    assert_true(ratio_of_medians(&above, &(struct batches){b, BATCHES, 1}, 1, &together));
    assert_true(ratio_of_medians(&above, &(struct batches){turned, BATCHES, 1}, 1, &apart));
    assert_true(together.value == 2.0 && together.low == 2.0 && together.high == 2.0);
    assert_true(apart.value == 2.0 && apart.low < 1.8 && apart.high > 2.2);
}

/* The calls of a batch are alike: many of them say no more than one. */
static void test_batches_are_units(void **state)
{
    uint64_t one[8], many[8 * CALLS], b[8 * CALLS];
    struct ratio of_one, of_many;

    (void)state;
    for (unsigned i = 0; i < 8 * CALLS; i++) {
        b[i] = 100;
        many[i] = 100 + 10 * (i / CALLS);
        one[i / CALLS] = many[i];
    }
    assert_true(
        ratio_of_medians(&(struct batches){one, 8, 1}, &(struct batches){b, 8, 1}, 5, &of_one));
    assert_true(ratio_of_medians(&(struct batches){many, 8, CALLS}, &(struct batches){b, 8, CALLS},
                                 5, &of_many));
    assert_true(of_one.low == of_many.low && of_one.high == of_many.high);
    assert_true(of_one.high - of_one.low > 0.2);
}

static void test_same_seed(void **state)
{
    uint64_t a[BATCHES], b[BATCHES];
    struct random random = {test_seed()};
    struct ratio first, again;
    unsigned others = 0;

    (void)state;
    for (unsigned i = 0; i < BATCHES; i++) {
        a[i] = 1000 + random_below(&random, 100000);
        b[i] = 1000 + random_below(&random, 100000);
    }
    struct batches above = {a, BATCHES, 1}, below = {b, BATCHES, 1};
    assert_true(ratio_of_medians(&above, &below, 0, &first));
    assert_true(ratio_of_medians(&above, &below, 0, &again));
    assert_true(first.value == again.value && first.low == again.low && first.high == again.high);
    for (uint64_t seed = 1; seed <= 30; seed++) {
        assert_true(ratio_of_medians(&above, &below, seed, &again));
        assert_true(first.value == again.value);
        others += first.low != again.low || first.high != again.high;
    }
    assert_true(others > 0);
}

/* Batches with a luck of their own: normal, of 10 %; of each side or shared. */
static double normal(struct random *random)
{
    double u = ((double)random_below(random, 1u << 30) + 1) / (1u << 30);
    double v = (double)random_below(random, 1u << 30) / (1u << 30);

    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static struct ratio trial(struct random *random, double truth, uint64_t seed)
{
    static uint64_t a[BATCHES * CALLS], b[BATCHES * CALLS];
    struct ratio r;

    for (unsigned i = 0; i < BATCHES; i++) {
        double shared = exp(0.3 * normal(random));
        double lucks[] = {exp(0.1 * normal(random)), exp(0.1 * normal(random))};
        for (unsigned c = 0; c < CALLS; c++) {
            double own = shared * exp(0.05 * normal(random));
            a[i * CALLS + c] = (uint64_t)(truth * 1e6 * lucks[0] * own);
            b[i * CALLS + c] = (uint64_t)(1e6 * lucks[1] * own);
        }
    }
    assert_true(ratio_of_medians(&(struct batches){a, BATCHES, CALLS},
                                 &(struct batches){b, BATCHES, CALLS}, seed, &r));
    return r;
}

/* At least 93 % hold the truth (95 % of so many trials, less two deviations), and few of them
 * what is a fourth more. */
static void test_coverage(void **state)
{
    struct random random = {test_seed()};
    unsigned held = 0, held_more = 0;

    (void)state;
    for (unsigned t = 0; t < TRIALS; t++) {
        struct ratio r = trial(&random, 0.5, t);
        held += r.low <= 0.5 && 0.5 <= r.high;
        held_more += r.low <= 0.625 && 0.625 <= r.high;
    }
    printf("of %u intervals %u held the truth, %u a fourth more\n", TRIALS, held, held_more);
    assert_in_range(held, TRIALS * 93 / 100, TRIALS);
    assert_in_range(held_more, 0, TRIALS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant),          cmocka_unit_test(test_median),
        cmocka_unit_test(test_nothing),           cmocka_unit_test(test_rounds_together),
        cmocka_unit_test(test_batches_are_units), cmocka_unit_test(test_same_seed),
        cmocka_unit_test(test_coverage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
