/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations on floating-point numbers at the edges: NaNs, infinities, zeros of both signs,
 * subnormals, overflow, ties. Every pair of special values, and pairs of random bits, by every set
 * of kernels, against scalar arithmetic that rounds once.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/compute/half.h"
#include "lib/compute/kernels.h"
#include "test/support/element.h"
#include "test/support/seed.h"

#define VALUES_MAX 64

static const ncoll_type float_types[] = {NCOLL_FLOAT, NCOLL_DOUBLE, NCOLL_LONG_DOUBLE, NCOLL_HALF,
                                         NCOLL_BFLOAT16};
enum { FLOAT_TYPES = sizeof float_types / sizeof float_types[0] };

/* ------------------------------------------------------------------ values ------------------- */

/* Exponents of the least and the greatest normal number. */
static void exponents(ncoll_type type, int *least, int *greatest)
{
    *least = type == NCOLL_DOUBLE        ? DBL_MIN_EXP - 1
             : type == NCOLL_LONG_DOUBLE ? LDBL_MIN_EXP - 1
             : type == NCOLL_HALF        ? -14
                                         : FLT_MIN_EXP - 1;
    *greatest = 1 - *least;
}

static unsigned specials(ncoll_type type, long double values[VALUES_MAX])
{
    long double epsilon = element_epsilon(type);
    int least, greatest;
    unsigned n = 0;

    exponents(type, &least, &greatest);
    long double normal = ldexpl(1, least), subnormal = normal * epsilon;
    long double most = ldexpl(2 - epsilon, greatest), ulp = ldexpl(epsilon, greatest);
    const long double positive[] = {0,
                                    subnormal,
                                    3 * subnormal,
                                    normal - subnormal,
                                    normal,
                                    normal + subnormal,
                                    epsilon / 2, /* 1 + this is a tie */
                                    epsilon / 2 * (1 + epsilon),
                                    epsilon,
                                    0.5L,
                                    1,
                                    1 + epsilon, /* and so is this + epsilon / 2 */
                                    1.5L,
                                    3,
                                    ldexpl(1, least / 2),
                                    ldexpl(1 + epsilon, least / 2 - 1),
                                    ldexpl(1, greatest / 2 + 1),
                                    ulp / 2, /* most + this is the least that overflows */
                                    ulp / 2 * (1 - epsilon),
                                    ldexpl(1, greatest),
                                    most,
                                    (long double)INFINITY};
    for (unsigned i = 0; i < sizeof positive / sizeof positive[0]; i++) {
        values[n++] = positive[i];
        values[n++] = -positive[i];
    }
    values[n++] = (long double)NAN;
    return n;
}

/* Any bits, NaNs with any payload among them; those of a long double are made from a double. */
static void random_float(ncoll_type type, void *to, struct random *random)
{
    uint64_t bits = random_next(random);
    double value;

    if (type == NCOLL_LONG_DOUBLE) {
        memcpy(&value, &bits, sizeof value);
        store_float(type, to, 0, (long double)value * (1 + 0x1p-60L));
    } else {
        memcpy(to, &bits, ncoll_type_size(type));
    }
}

/* ------------------------------------------------------------------ expectations -------------- */

/* A sum or product rounded once; wider arithmetic would round doubles and long doubles twice. */
static long double arithmetic(ncoll_type type, ncoll_op op, long double a, long double b)
{
    volatile double x = (double)a, y = (double)b;

    if (type == NCOLL_DOUBLE) {
        volatile double z = op == NCOLL_SUM ? x + y : x * y;
        return (long double)z;
    }
    return op == NCOLL_SUM ? a + b : a * b;
}

static long double pick(ncoll_op op, long double a, long double b)
{
    bool a_below = a < b || (a == b && signbit(a) && !signbit(b));

    if (isnan(a) || isnan(b))
        return (long double)NAN;
    return a_below == (op == NCOLL_MIN) ? a : b;
}

static void check(const struct kernels *kernels, ncoll_type type, ncoll_op op, const void *left,
                  const void *right)
{
    _Alignas(16) unsigned char out[16], expected[16];
    long double a = load_float(type, left, 0), b = load_float(type, right, 0);
    size_t size = ncoll_type_size(type);

    if (kernels->combine[type][op] == NULL)
        return;
    kernels->combine[type][op](out, left, right, 1, type, NULL);
    store_float(type, expected, 0, op <= NCOLL_PROD ? arithmetic(type, op, a, b) : pick(op, a, b));
    if (op <= NCOLL_PROD && isnan(load_float(type, expected, 0)))
        assert_true(isnan(load_float(type, out, 0))); /* with some payload */
    else if (memcmp(out, expected, size) != 0)
        fail_msg("type %d, operation %d: %La, %La gives %La, not %La", (int)type, (int)op, a, b,
                 load_float(type, out, 0), load_float(type, expected, 0));
}

static void check_everywhere(ncoll_type type, const void *left, const void *right)
{
    for (ncoll_op op = NCOLL_SUM; op <= NCOLL_MAX; op++) {
        check(&ncoll__kernels_plain, type, op, left, right);
        check(&ncoll__kernels_scalar, type, op, left, right);
        check(ncoll__kernels(), type, op, left, right);
    }
}

static void test_specials(void **state)
{
    long double values[VALUES_MAX];
    _Alignas(16) unsigned char left[16], right[16];

    (void)state;
    for (unsigned t = 0; t < FLOAT_TYPES; t++) {
        unsigned n = specials(float_types[t], values);
        for (unsigned pair = 0; pair < n * n; pair++) {
            store_float(float_types[t], left, 0, values[pair / n]);
            store_float(float_types[t], right, 0, values[pair % n]);
            check_everywhere(float_types[t], left, right);
        }
    }
}

static void test_random_bits(void **state)
{
    struct random random = random_stream(test_seed(), 0);
    _Alignas(16) unsigned char left[16], right[16];

    (void)state;
    for (unsigned t = 0; t < FLOAT_TYPES; t++)
        for (unsigned i = 0; i < 20000; i++) {
            random_float(float_types[t], left, &random);
            random_float(float_types[t], right, &random);
            check_everywhere(float_types[t], left, right);
        }
}

/* ------------------------------------------------------------------ complex ------------------ */

#define CHECK_COMPLEX(T, type)                                                                     \
    do {                                                                                           \
        const ncoll_type part = element_part(type);                                                \
        T l[2], r[2], out[2];                                                                      \
        random_float(part, &l[0], &random);                                                        \
        random_float(part, &l[1], &random);                                                        \
        random_float(part, &r[0], &random);                                                        \
        random_float(part, &r[1], &random);                                                        \
        volatile T ac = l[0] * r[0], bd = l[1] * r[1], ad = l[0] * r[1], bc = l[1] * r[0];         \
        volatile T expected[2] = {ac - bd, ad + bc};                                               \
        ncoll__kernels()->combine[type][NCOLL_PROD](out, l, r, 1, type, NULL);                     \
        for (int p = 0; p < 2; p++)                                                                \
            assert_true(isnan(expected[p])                                                         \
                            ? isnan(out[p])                                                        \
                            : out[p] == expected[p] && !signbit(out[p]) == !signbit(expected[p])); \
    } while (0)

/* No fused operations, whatever the processor has. */
static void test_complex_products(void **state)
{
    struct random random = random_stream(test_seed(), 1);

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        CHECK_COMPLEX(float, NCOLL_COMPLEX_FLOAT);
        CHECK_COMPLEX(double, NCOLL_COMPLEX_DOUBLE);
    }
}

/* ------------------------------------------------------------------ conversions -------------- */

/* gcc has it on x86 from 12 on, clang from 15 on. */
#if defined(__FLT16_MANT_DIG__) && (!defined(__clang__) || __clang_major__ >= 15)
#define HAVE_FLOAT16
#endif

static void check_from_float(float f)
{
    uint16_t half = float_to_half(f), bfloat16 = float_to_bfloat16(f), expected;

    if (isnan(f)) {
        assert_true(isnan(load_float(NCOLL_HALF, &half, 0)));
        assert_true(isnan(load_float(NCOLL_BFLOAT16, &bfloat16, 0)));
    } else {
        store_float(NCOLL_HALF, &expected, 0, (long double)f);
        assert_int_equal(half, expected);
        store_float(NCOLL_BFLOAT16, &expected, 0, (long double)f);
        assert_int_equal(bfloat16, expected);
    }
#ifdef HAVE_FLOAT16
    _Float16 theirs = (_Float16)f;
    memcpy(&expected, &theirs, sizeof expected);
    assert_int_equal(half, expected); /* NaNs too */
#endif
}

/* A number, its neighbours, and the midpoints between it and the next short ones. */
static void check_around(uint32_t bits)
{
    static const uint32_t steps[] = {0, 1, 0x0fff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001};

    for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        check_from_float(float_of_bits(bits + steps[i]));
        check_from_float(float_of_bits(bits - steps[i]));
    }
}

static void test_conversions(void **state)
{
    struct random random = random_stream(test_seed(), 2);

    (void)state;
    for (uint32_t bits = 0; bits <= 0xffff; bits++) {
        uint16_t element = (uint16_t)bits;
        long double half = load_float(NCOLL_HALF, &element, 0);
        float f = half_to_float(element), b = bfloat16_to_float(element);
        assert_true(isnan(half) ? isnan(f)
                                : (long double)f == half && !signbit(f) == !signbit(half));
        if (!isnan(half))
            assert_int_equal(float_to_half(f), element);
        if (!isnan(b))
            assert_int_equal(float_to_bfloat16(b), element);
        check_around(bits_of_float(f));
        check_around(bits << 16);
    }
    for (unsigned i = 0; i < 200000; i++)
        check_from_float(float_of_bits((uint32_t)random_next(&random)));
    /* midpoints of subnormal halves, which are ordinary floats */
    for (unsigned i = 0; i < 2 * 1024; i++)
        check_around(bits_of_float((float)i * 0x1p-25f));
}

/* ------------------------------------------------------------------ pairs -------------------- */

static void expect_pair(ncoll_op op, ncoll_double_int32 a, ncoll_double_int32 b,
                        ncoll_double_int32 expected)
{
    ncoll_op_fn combine = ncoll__kernels_scalar.combine[NCOLL_DOUBLE_INT32][op];
    ncoll_double_int32 out;

    combine(&out, &a, &b, 1, NCOLL_DOUBLE_INT32, NULL);
    assert_memory_equal(&out, &expected, sizeof out);
    combine(&out, &b, &a, 1, NCOLL_DOUBLE_INT32, NULL);
    assert_memory_equal(&out, &expected, sizeof out);
}

static void test_pairs(void **state)
{
    const double nan = (double)NAN, inf = (double)INFINITY;
    typedef ncoll_double_int32 pair;

    (void)state;
    for (ncoll_op op = NCOLL_MINLOC; op <= NCOLL_MAXLOC; op++) {
        /* the lowest index of equal values; what is unused is cleaned */
        expect_pair(op, (pair){1, 7, 5}, (pair){1, -3, 6}, (pair){1, -3, 0});
        /* NaNs before anything else, the lowest index of theirs */
        expect_pair(op, (pair){nan, 7, 0}, (pair){inf, 1, 0}, (pair){nan, 7, 0});
        expect_pair(op, (pair){-nan, 7, 0}, (pair){-inf, 1, 0}, (pair){nan, 7, 0});
        expect_pair(op, (pair){-nan, 7, 0}, (pair){nan, 2, 0}, (pair){nan, 2, 0});
    }
    expect_pair(NCOLL_MINLOC, (pair){0.0, 1, 0}, (pair){-0.0, 2, 0}, (pair){-0.0, 2, 0});
    expect_pair(NCOLL_MAXLOC, (pair){0.0, 2, 0}, (pair){-0.0, 1, 0}, (pair){0.0, 2, 0});
    expect_pair(NCOLL_MINLOC, (pair){-inf, 2, 0}, (pair){-1, 1, 0}, (pair){-inf, 2, 0});
    expect_pair(NCOLL_MAXLOC, (pair){-2, 2, 0}, (pair){-1, 3, 0}, (pair){-1, 3, 0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_specials),
        cmocka_unit_test(test_random_bits),
        cmocka_unit_test(test_complex_products),
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_pairs),
    };

    return cmocka_run_group_tests_name("op_specials", tests, NULL, NULL);
}
