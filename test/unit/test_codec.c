/* SPDX-License-Identifier: BSD-3-Clause */
/* The built-in codecs against plain definitions of what they do, and damaged bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "lib/compute/codec.h"
#include "lib/compute/half.h"
#include "test/support/seed.h"

#define COUNT_MAX 600

static struct random numbers;

/* Any bits: numbers of all sizes, infinities and NaNs. */
static double any_double(void)
{
    uint64_t bits = random_next(&numbers);
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ------------------------------------------------------------------ top-k --------------------- */

static uint64_t magnitude(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits << 1;
}

/* Few different numbers, so that many are equal; now and then any bits. */
static double tied_double(void)
{
    if (random_below(&numbers, 8) == 0)
        return any_double();
    return (random_below(&numbers, 2) == 0 ? 1.0 : -1.0) * (double)random_below(&numbers, 4);
}

/* True if x[i] is among the k: fewer than k are larger, or equal with a lower index. */
static bool is_kept(const double *x, size_t count, size_t k, size_t i)
{
    size_t before = 0;

    for (size_t j = 0; j < count; j++)
        before +=
            magnitude(x[j]) > magnitude(x[i]) || (magnitude(x[j]) == magnitude(x[i]) && j < i);
    return before < k;
}

static void check_topk(ncoll_type type, size_t count, double fraction)
{
    double x[COUNT_MAX];
    union {
        float f[COUNT_MAX];
        double d[COUNT_MAX];
    } in, out, sum;
    uint64_t bytes[COUNT_MAX * 2];
    ncoll_codec codec = {.size = sizeof codec};
    size_t element = ncoll_type_size(type), k = 0;

    while ((double)k / (double)count < fraction)
        k++;
    assert_int_equal(ncoll_codec_topk(&codec, fraction), NCOLL_OK);
    for (size_t i = 0; i < count; i++) {
        x[i] = tied_double();
        if (type == NCOLL_FLOAT)
            x[i] = in.f[i] = (float)x[i];
        else
            in.d[i] = x[i];
    }
    size_t len = codec.encode(bytes, &in, count, type, &codec);
    assert_int_equal(len, k * (element + 4));
    assert_int_equal(codec.bound(count, type, &codec), len);
    assert_int_equal(codec.decode(&out, bytes, len, count, type, &codec), 0);
    memset(&sum, 0, sizeof sum);
    assert_int_equal(codec.add(&sum, bytes, len, count, type, &codec), 0);
    for (size_t i = 0; i < count; i++) {
        static const unsigned char zero[sizeof(double)];
        bool kept = is_kept(x, count, k, i);
        const unsigned char *got = (unsigned char *)&out + i * element;
        const unsigned char *added = (unsigned char *)&sum + i * element;
        assert_memory_equal(got, kept ? (unsigned char *)&in + i * element : zero, element);
        if (x[i] != 0 && !isnan(x[i]))
            assert_memory_equal(added, got, element);
    }
}

static void test_topk(void **state)
{
    (void)state;
    for (int i = 0; i < 400; i++) {
        size_t count = 1 + random_below(&numbers, i % 2 == 0 ? 20 : COUNT_MAX);
        double fraction = (double)(1 + random_below(&numbers, 100)) / 100;
        check_topk(NCOLL_DOUBLE, count, fraction);
        check_topk(NCOLL_FLOAT, count, fraction);
    }
    check_topk(NCOLL_FLOAT, 1, 1e-9);
    check_topk(NCOLL_DOUBLE, 100, 0.07); /* 0.07 * 100 > 7 */
    check_topk(NCOLL_DOUBLE, COUNT_MAX, 1);
}

/* Indices that repeat, descend or lead beyond the vector, and other lengths, are refused before
 * anything is written. */
static void test_topk_damaged(void **state)
{
    enum { COUNT = 8, K = 3 };
    static const uint32_t bad[][K] = {{1, 1, 2}, {2, 1, 3}, {0, 1, COUNT}, {5, 6, UINT32_MAX}};
    const float in[COUNT] = {1, -5, 2, 0, 9, -3, 4, 0};
    float out[COUNT + 1];
    unsigned char bytes[K * 8];
    ncoll_codec codec = {.size = sizeof codec};

    (void)state;
    assert_int_equal(ncoll_codec_topk(&codec, 0.3), NCOLL_OK);
    assert_int_equal(codec.encode(bytes, in, COUNT, NCOLL_FLOAT, &codec), sizeof bytes);
    for (int i = 0; i <= COUNT; i++)
        out[i] = 77;
    for (size_t len = 0; len <= 2 * sizeof bytes; len++)
        if (len != sizeof bytes)
            assert_int_not_equal(codec.decode(out, bytes, len, COUNT, NCOLL_FLOAT, &codec), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy(bytes + sizeof(float[K]), bad[i], sizeof bad[i]);
        assert_int_not_equal(codec.decode(out, bytes, sizeof bytes, COUNT, NCOLL_FLOAT, &codec), 0);
        assert_int_not_equal(codec.add(out, bytes, sizeof bytes, COUNT, NCOLL_FLOAT, &codec), 0);
    }
    for (int i = 0; i <= COUNT; i++)
        assert_true(out[i] == 77);
}

/* ------------------------------------------------------------------ 16 bits ------------------- */

static double widen(uint16_t bits, ncoll_type to)
{
    return (double)(to == NCOLL_HALF ? half_to_float(bits) : bfloat16_to_float(bits));
}

/* The number of 16 bits that is nearest to x, by searching among the two around it: finite numbers
 * of one sign have ascending bits. Overflow begins half a unit above the largest number. */
static uint16_t nearest(double x, ncoll_type to)
{
    uint16_t infinity = to == NCOLL_HALF ? 0x7c00 : 0x7f80, low = 0, high = infinity;
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    double a = fabs(x);
    /* the next number that there would be, if exponents went on */
    double beyond = to == NCOLL_HALF ? 0x1p16 : 0x1p128;

    while (high - low > 1) {
        uint16_t middle = (uint16_t)((low + high) / 2);
        if (widen(middle, to) <= a)
            low = middle;
        else
            high = middle;
    }
    double below = widen(low, to), above = high == infinity ? beyond : widen(high, to);
    if (isinf(a) || a >= above)
        return sign | high;
    bool up = a - below > above - a || (a - below == above - a && low % 2 == 1);
    return sign | (up ? high : low);
}

/* A number in the range of the short type, often halfway between two of its numbers, or next to it. */
static double interesting(ncoll_type to)
{
    uint16_t infinity = to == NCOLL_HALF ? 0x7c00 : 0x7f80;
    uint16_t low = (uint16_t)random_below(&numbers, infinity - 1u);
    double x = (widen(low, to) + widen((uint16_t)(low + 1), to)) / 2;
    double sign = random_below(&numbers, 2) == 0 ? 1 : -1;

    switch (random_below(&numbers, 4)) {
    case 0:
        return sign * nextafter(x, 0);
    case 1:
        return sign * nextafter(x, INFINITY);
    case 2:
        return any_double();
    default:
        return sign * x;
    }
}

static void check_round16(ncoll_type type, ncoll_type to, size_t count)
{
    union {
        float f[COUNT_MAX];
        double d[COUNT_MAX];
    } in, out;
    uint64_t bytes[COUNT_MAX];
    ncoll_codec codec = {.size = sizeof codec};

    assert_int_equal(ncoll_codec_round16(&codec, to), NCOLL_OK);
    for (size_t i = 0; i < count; i++) {
        double x = interesting(to);
        if (type == NCOLL_FLOAT)
            in.f[i] = (float)x;
        else
            in.d[i] = x;
    }
    assert_int_equal(codec.encode(bytes, &in, count, type, &codec), 2 * count);
    assert_int_equal(codec.decode(&out, bytes, 2 * count, count, type, &codec), 0);
    for (size_t i = 0; i < count; i++) {
        double x = type == NCOLL_FLOAT ? (double)in.f[i] : in.d[i];
        double got = type == NCOLL_FLOAT ? (double)out.f[i] : out.d[i];
        double expected = widen(nearest(x, to), to);
        if (isnan(x) ? !isnan(got) : memcmp(&got, &expected, sizeof got) != 0)
            fail_msg("%a became %a, and not %a", x, got, expected);
    }
}

static void test_round16(void **state)
{
    static const ncoll_type types[] = {NCOLL_FLOAT, NCOLL_DOUBLE},
                            to[] = {NCOLL_HALF, NCOLL_BFLOAT16};

    (void)state;
    for (int i = 0; i < 400; i++)
        for (int t = 0; t < 4; t++)
            check_round16(types[t / 2], to[t % 2], 1 + random_below(&numbers, 100));
}

static void test_overflow(void **state)
{
    const float in[4] = {65519.996F, 65520, -65520, -INFINITY};
    float out[4];
    uint64_t bytes[1];
    ncoll_codec codec = {.size = sizeof codec};

    (void)state;
    assert_int_equal(ncoll_codec_round16(&codec, NCOLL_HALF), NCOLL_OK);
    assert_int_equal(codec.encode(bytes, in, 4, NCOLL_FLOAT, &codec), 8);
    assert_int_equal(codec.decode(out, bytes, 8, 4, NCOLL_FLOAT, &codec), 0);
    assert_true(out[0] == 65504 && out[1] == INFINITY && out[2] == -INFINITY &&
                out[3] == -INFINITY);
    assert_int_not_equal(codec.decode(out, bytes, 6, 4, NCOLL_FLOAT, &codec), 0);
}

/* ------------------------------------------------------------------ arguments, residuals ------ */

static void test_arguments(void **state)
{
    ncoll_codec codec = {.size = sizeof codec}, other = {.size = 1};

    (void)state;
    assert_int_equal(ncoll_codec_topk(NULL, 0.5), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_codec_topk(&other, 0.5), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_codec_topk(&codec, 0), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_codec_topk(&codec, 1.5), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_codec_topk(&codec, (double)NAN), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_codec_round16(NULL, NCOLL_HALF), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_codec_round16(&other, NCOLL_HALF), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_codec_round16(&codec, NCOLL_FLOAT), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_codec_round16(&codec, NCOLL_HALF), NCOLL_OK);
    assert_true(codec.bound(10, NCOLL_INT32, &codec) == SIZE_MAX);
    assert_int_equal(ncoll_codec_topk(&codec, 1), NCOLL_OK);
    assert_true(codec.bound(10, NCOLL_HALF, &codec) == SIZE_MAX);
}

/* Differences of every type that has a sum; what is not finite becomes 0. */
static void test_residual(void **state)
{
    const float a[4] = {1.5F, INFINITY, NAN, 3}, b[4] = {1, INFINITY, 1, -INFINITY};
    const long double la = 5, lb = 2;
    const int16_t ia[2] = {7, INT16_MIN}, ib[2] = {9, 1};
    const uint16_t ha = 0x4200, hb = 0x4000; /* 3 and 2 as halves */
    float f[4];
    long double l;
    int16_t i[2];
    uint16_t h;

    (void)state;
    ncoll__residual(f, a, b, 4, NCOLL_FLOAT);
    assert_true(f[0] == 0.5F && f[1] == 0 && f[2] == 0 && f[3] == 0);
    ncoll__residual(f, a, b, 2, NCOLL_COMPLEX_FLOAT);
    assert_true(f[0] == 0.5F && f[3] == 0);
    ncoll__residual(&l, &la, &lb, 1, NCOLL_LONG_DOUBLE);
    assert_true(l == 3);
    ncoll__residual(i, ia, ib, 2, NCOLL_INT16);
    assert_true(i[0] == -2 && i[1] == INT16_MAX);
    ncoll__residual(&h, &ha, &hb, 1, NCOLL_HALF);
    assert_int_equal(h, 0x3c00);
    assert_false(ncoll__residual_has(NCOLL_INT32_INT32));
    assert_false(ncoll__residual_has(40));
    for (ncoll_type t = NCOLL_INT8; t <= NCOLL_COMPLEX_DOUBLE; t++)
        assert_true(ncoll__residual_has(t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topk),      cmocka_unit_test(test_topk_damaged),
        cmocka_unit_test(test_round16),   cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_arguments), cmocka_unit_test(test_residual),
    };

    numbers = random_stream(test_seed(), 0);
    return cmocka_run_group_tests_name("codec", tests, NULL, NULL);
}
