/* SPDX-License-Identifier: BSD-3-Clause */
/* Reproducible sums: against exact integers where nothing is lost, else against the bound. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "lib/compute/reproducible.h"
#include "test/support/seed.h"

#define COUNT_MAX 1000

static double values[COUNT_MAX];
static struct random draw;

/* ------------------------------------------------------------------ sums --------------------- */

static struct reproducible open_double(double x)
{
    struct reproducible r;
    ncoll__reproducible_open(&r, &x, 1, NCOLL_DOUBLE);
    return r;
}

static double close_double(struct reproducible r)
{
    double x;
    ncoll__reproducible_close(&x, &r, 1, NCOLL_DOUBLE);
    return x;
}

/* By a random tree over values in a random order. */
static struct reproducible sum_somehow(const double *from, size_t count)
{
    struct reproducible r[COUNT_MAX];

    for (size_t i = 0; i < count; i++)
        r[i] = open_double(from[i]);
    for (; count > 1; count--) {
        size_t a = random_below(&draw, count), b = random_below(&draw, count - 1);
        b += b >= a;
        ncoll__reproducible_combine(&r[a], &r[a], &r[b], 1, NCOLL_DOUBLE, NULL);
        r[b] = r[count - 1];
    }
    return r[0];
}

static struct reproducible sum_in_order(const double *from, size_t count)
{
    struct reproducible sum = open_double(from[0]);

    for (size_t i = 1; i < count; i++) {
        struct reproducible next = open_double(from[i]);
        ncoll__reproducible_combine(&sum, &next, &sum, 1, NCOLL_DOUBLE, NULL);
    }
    return sum;
}

/* The sum, which must have the same bits in every order, as must its accumulator. */
static double sum_of(const double *from, size_t count)
{
    struct reproducible sum = sum_in_order(from, count);

    for (unsigned i = 0; i < 5; i++) {
        struct reproducible other = sum_somehow(from, count);
        assert_memory_equal(&sum, &other, sizeof sum);
    }
    return close_double(sum);
}

static double float_sum(const float *from, size_t count)
{
    struct reproducible r[COUNT_MAX];
    float out;

    ncoll__reproducible_open(r, from, count, NCOLL_FLOAT);
    for (size_t i = 1; i < count; i++)
        ncoll__reproducible_combine(&r[0], &r[0], &r[i], 1, NCOLL_FLOAT, NULL);
    ncoll__reproducible_close(&out, r, 1, NCOLL_FLOAT);
    return (double)out;
}

static void expect(double expected, const double *from, size_t count)
{
    double sum = sum_of(from, count);

    if (isnan(expected) && isnan(sum))
        return;
    if (memcmp(&sum, &expected, sizeof sum) != 0)
        fail_msg("%a, not %a, of %zu: %a, %a, ...", sum, expected, count, from[0], from[1]);
}

#define EXPECT(expected, ...)                                                                      \
    expect(expected, (const double[]){__VA_ARGS__},                                                \
           sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

/* ------------------------------------------------------------------ tests -------------------- */

static uint64_t random_fraction(unsigned bits)
{
    return random_next(&draw) >> (64 - bits);
}

/* Multiples of a unit that fit in 128 bits, whose conversion to double rounds once. */
static void test_correctly_rounded(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 4000; trial++) {
        size_t count = 1 + random_below(&draw, trial % 16 == 0 ? COUNT_MAX : 8);
        int unit, spread = 1 + (int)random_below(&draw, 29);
        __int128 exact = 0;

        /* at both ends of the range as often as between */
        unit = trial % 4 == 0   ? -1074
               : trial % 4 == 1 ? 1023 - 81 + 7 - (int)random_below(&draw, 16)
                                : -1074 + (int)random_below(&draw, 2000);
        for (size_t i = 0; i < count; i++) {
            __int128 m = (__int128)random_fraction(53) << random_below(&draw, (uint64_t)spread);
            if (i > 0 && random_below(&draw, 3) == 0)
                m = -exact + (__int128)random_below(&draw, 5) - 2; /* nearly nothing is left */
            if (random_below(&draw, 2))
                m = -m;
            values[i] = ldexp((double)m, unit); /* rounds if it was the rest of many */
            if (isinf(values[i]))
                values[i] = 0;
            exact += (__int128)ldexpl((long double)values[i], -unit);
        }
        if (exact != 0)
            expect(ldexp((double)exact, unit), values, count);
        else
            assert_true(sum_of(values, count) == 0);
    }
}

static void test_correctly_rounded_floats(void **state)
{
    float floats[COUNT_MAX];

    (void)state;
    for (unsigned trial = 0; trial < 4000; trial++) {
        size_t count = 1 + random_below(&draw, trial % 16 == 0 ? COUNT_MAX : 8);
        int unit = -149 + (trial % 4 == 0 ? 0 : (int)random_below(&draw, 220));
        __int128 exact = 0;

        for (size_t i = 0; i < count; i++) {
            __int128 m = (__int128)random_fraction(24) << random_below(&draw, 57);
            if (random_below(&draw, 2))
                m = -m;
            floats[i] = ldexpf((float)m, unit);
            if (isinf(floats[i]))
                floats[i] = 0;
            exact += (__int128)ldexpl((long double)floats[i], -unit);
        }
        double expected = (double)ldexpf((float)exact, unit), sum = float_sum(floats, count);
        if (expected != sum)
            fail_msg("%a, not %a, of %zu floats", sum, expected, count);
    }
}

/* The exact sum, in digits of 32 bits from 2^-1074 up, as near as a long double can be. */
static long double exact_sum(const double *from, size_t count)
{
    int64_t digits[70] = {0};
    long double sum = 0;

    for (size_t i = 0; i < count; i++) {
        int exponent;
        int64_t m = (int64_t)ldexp(frexp(from[i], &exponent), 53);
        int place = exponent - 53 + 1074;
        if (place < 0) { /* a subnormal: its lowest bits are 0 */
            m /= INT64_C(1) << -place;
            place = 0;
        }
        __int128 pieces = (__int128)m * (INT64_C(1) << place % 32);
        for (int d = place / 32; d < place / 32 + 3; d++) {
            digits[d] += (int64_t)(pieces % (INT64_C(1) << 32));
            pieces /= INT64_C(1) << 32;
        }
    }
    for (int d = 0; d < 69; d++) { /* all but the highest from 0 to 2^32 - 1 */
        digits[d + 1] += digits[d] >> 32;
        digits[d] &= UINT32_MAX;
    }
    bool minus = digits[69] < 0;
    for (int d = 0, carry = minus; minus && d < 70; d++) { /* two's complement */
        digits[d] = (d < 69 ? ~digits[d] & UINT32_MAX : ~digits[d]) + carry;
        carry = d < 69 && digits[d] >> 32;
        if (d < 69)
            digits[d] &= UINT32_MAX;
    }
    for (int d = 69; d >= 0; d--)
        sum += ldexpl((long double)digits[d], 32 * d - 1074);
    return minus ? -sum : sum;
}

static void test_any_range(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 2000; trial++) {
        size_t count = 2 + random_below(&draw, trial % 16 == 0 ? COUNT_MAX - 2 : 20);
        int spread = 1 + (int)random_below(&draw, trial % 2 ? 2000 : 150);
        int lowest = -1074 + (int)random_below(&draw, (uint64_t)(2010 - spread));
        double most = 0;

        for (size_t i = 0; i < count; i++) {
            if (i > 0 && random_below(&draw, 3) == 0) {
                values[i] = -values[random_below(&draw, i)];
                continue;
            }
            values[i] = ldexp((double)(int64_t)random_fraction(53) - 0x1p52,
                              lowest + (int)random_below(&draw, (uint64_t)spread) - 20);
            most = fmax(most, fabs(values[i]));
        }
        long double exact = exact_sum(values, count);
        long double error = fabsl((long double)sum_of(values, count) - exact);
        long double bound = (long double)count * ldexpl((long double)most, -80) +
                            fabsl(exact) * 0x1.01p-53L + ldexpl(1, -1074);
        if (!(error <= bound))
            fail_msg("%zu numbers: %Lg away from %Lg, the bound is %Lg", count, error, exact,
                     bound);
    }
}

static void test_cancellation(void **state)
{
    (void)state;
    EXPECT(1.0, 1e16, 1.0, -1e16);
    EXPECT(0x1p-20, 0x1p53, 0x1p-20, -0x1p53);
    EXPECT(DBL_MAX, DBL_MAX, DBL_MAX, -DBL_MAX); /* no overflow on the way */
    EXPECT((double)INFINITY, DBL_MAX, DBL_MAX);
    EXPECT(-(double)INFINITY, -DBL_MAX, -DBL_MAX, 1.0);
    EXPECT(DBL_MAX, DBL_MAX, 0x1p969);           /* below the tie with 2^1024 */
    EXPECT((double)INFINITY, DBL_MAX, 0x1p970);  /* at the tie */
    EXPECT(DBL_MAX, DBL_MAX, 0x1p970, -0x1p930); /* just below it again */
    EXPECT(0.0, 1.5, -1.5);
    EXPECT(1.0, 1.0, 0x1p-53);                     /* a tie, to even */
    EXPECT(1.0 + 0x1p-52, 1.0, 0x1p-53, 0x1p-80);  /* a little more than a tie */
    EXPECT(1.0 + 0x1p-51, 1.0 + 0x1p-52, 0x1p-53); /* a tie, to even, upwards */
    EXPECT(1.0 + 0x1p-52, 1.0, 0x1p-53, 0x1p-105); /* very little more */
    EXPECT(1.0, 1.0, 0x1p-53, -0x1p-105);          /* very little less */
    EXPECT(-1.0 - 0x1p-52, -1.0, -0x1p-53, -0x1p-80);
}

static void test_subnormals_and_zeros(void **state)
{
    const double least = 0x1p-1074;

    (void)state;
    EXPECT(2 * least, least, least);
    EXPECT(0.0, least, -least);
    EXPECT(DBL_MIN, DBL_MIN - least, least);
    EXPECT(DBL_MIN - least, DBL_MIN, -least);
    EXPECT(3 * DBL_MIN - least, DBL_MIN, 2 * DBL_MIN, -least);
    EXPECT(-0.0, -0.0, -0.0);
    EXPECT(0.0, -0.0, 0.0);
    EXPECT(0.0, 0.0, 0.0);
    assert_true(float_sum((const float[]){0x1p-149f, 0x1p-149f}, 2) == 0x1p-148);
    assert_true(float_sum((const float[]){FLT_MAX, FLT_MAX, -FLT_MAX}, 3) == (double)FLT_MAX);
    assert_true(isinf(float_sum((const float[]){FLT_MAX, 0x1p103f}, 2)));
    assert_true(float_sum((const float[]){FLT_MAX, 0x1p102f}, 2) == (double)FLT_MAX);
    /* rounded once: as a double it would be a tie first */
    assert_true(float_sum((const float[]){1, 0x1p-24f, 0x1p-57f}, 3) == 1 + 0x1p-23);
}

static void test_infinities_and_nans(void **state)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    double sum;

    (void)state;
    EXPECT(inf, inf, 1.0);
    EXPECT(inf, -DBL_MAX, inf, inf);
    EXPECT(-inf, -inf, -0.0);
    EXPECT(nan, inf, -inf);
    EXPECT(nan, nan, 1.0);
    EXPECT(nan, inf, nan);
    sum = sum_of((const double[]){1, -nan, inf}, 3);
    assert_memory_equal(&sum, &nan, sizeof sum); /* the canonical one */
}

/* Adds as many as an accumulator has room for: doubling 22 times, then all but itself. */
static void test_capacity(void **state)
{
    const double most = 0x1.fffffffffffffp45; /* fills the highest bin with ones */
    struct reproducible sum = open_double(-most), one = sum;

    (void)state;
    for (uint32_t n = 1; n < REPRODUCIBLE_MAX / 2; n *= 2)
        ncoll__reproducible_combine(&sum, &sum, &sum, 1, NCOLL_DOUBLE, NULL);
    one = sum; /* 2^22 */
    for (uint32_t n = REPRODUCIBLE_MAX / 4; n > 0; n /= 2) {
        struct reproducible part = open_double(-most);
        for (uint32_t m = 1; m < n; m *= 2)
            ncoll__reproducible_combine(&part, &part, &part, 1, NCOLL_DOUBLE, NULL);
        ncoll__reproducible_combine(&one, &part, &one, 1, NCOLL_DOUBLE, NULL);
    }
    __int128 exact = -(__int128)((UINT64_C(1) << 53) - 1) * (REPRODUCIBLE_MAX - 1);
    assert_true(close_double(one) == ldexp((double)exact, -7));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_correctly_rounded),
        cmocka_unit_test(test_correctly_rounded_floats),
        cmocka_unit_test(test_any_range),
        cmocka_unit_test(test_cancellation),
        cmocka_unit_test(test_subnormals_and_zeros),
        cmocka_unit_test(test_infinities_and_nans),
        cmocka_unit_test(test_capacity),
    };

    draw = random_stream(test_seed(), 0);
    return cmocka_run_group_tests_name("reproducible", tests, NULL, NULL);
}
