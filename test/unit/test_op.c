/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of the built-in operations against one-element-at-a-time arithmetic. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/card.h"
#include "lib/op.h"
#include "test/support/reference.h"

/* Longer than any vector register, with every remainder below. */
#define COUNT_MAX 131
#define BYTES_MAX (COUNT_MAX * sizeof(uint64_t))

static struct operation operations[128];
static unsigned n_operations;

enum placement { OUT_APART, OUT_IS_LEFT, OUT_IS_RIGHT, PLACEMENTS };

static void check_kernel(const struct operation *o, size_t count, enum placement placement,
                         struct random *random)
{
    unsigned char left[BYTES_MAX], right[BYTES_MAX], apart[BYTES_MAX + 8];
    unsigned char *out = placement == OUT_IS_LEFT    ? left
                         : placement == OUT_IS_RIGHT ? right
                                                     : apart;
    size_t bytes = count * ncoll_type_size(o->type);
    struct reference expected;
    struct op op;

    assert_true(ncoll__op_builtin(o->op, o->type, &op));
    reference_values(o, left, count, (struct random){random_next(random)});
    reference_values(o, right, count, (struct random){random_next(random)});
    reference_open(&expected, o, count);
    reference_add(&expected, left);
    reference_add(&expected, right);
    memset(apart, 0xa5, sizeof apart);
    op.combine(out, left, right, count, o->type, op.arg);
    if (reference_wrong(&expected, out) != count)
        fail_msg("%s of %zu elements of type %d, placement %d: element %zu", o->name, count,
                 (int)o->type, (int)placement, reference_wrong(&expected, out));
    for (size_t i = bytes; i < bytes + 8; i++)
        assert_int_equal(apart[i], 0xa5);
    reference_close(&expected);
}

static void test_kernels(void **state)
{
    struct random random = random_stream(test_seed(), 0);

    (void)state;
    for (unsigned i = 0; i < n_operations; i++)
        for (size_t count = 0; count <= COUNT_MAX; count++)
            for (enum placement p = 0; p < PLACEMENTS; p++)
                check_kernel(&operations[i], count, p, &random);
}

/* Every pair of the values where integer arithmetic overflows or changes sign. */
static void test_corners(void **state)
{
    static const int64_t corners[] = {0,         1,         -1,        2,
                                      INT8_MIN,  INT8_MAX,  INT16_MIN, INT16_MAX,
                                      INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
    enum { N = sizeof corners / sizeof corners[0] };

    (void)state;
    for (unsigned i = 0; i < n_operations; i++) {
        const struct operation *o = &operations[i];
        size_t size = ncoll_type_size(o->type);
        struct op op;

        if (ncoll__type_is_float(o->type))
            continue;
        assert_true(ncoll__op_builtin(o->op, o->type, &op));
        for (unsigned pair = 0; pair < N * N; pair++) {
            uint64_t left = (uint64_t)corners[pair / N], right = (uint64_t)corners[pair % N];
            uint64_t out = 0;
            struct reference expected;
            reference_open(&expected, o, 1);
            reference_add(&expected, &left); /* little-endian: the low bytes */
            reference_add(&expected, &right);
            op.combine(&out, &left, &right, 1, o->type, op.arg);
            assert_memory_equal(&out, expected.exact, size);
            reference_close(&expected);
        }
    }
}

static void test_inverse(void **state)
{
    struct random random = random_stream(test_seed(), 1);
    unsigned inverses = 0;

    (void)state;
    for (unsigned i = 0; i < n_operations; i++) {
        const struct operation *o = &operations[i];
        size_t bytes = COUNT_MAX * ncoll_type_size(o->type);
        unsigned char left[BYTES_MAX], right[BYTES_MAX], out[BYTES_MAX];
        struct op op;

        assert_true(ncoll__op_builtin(o->op, o->type, &op));
        if (op.inverse == NULL)
            continue;
        inverses++;
        reference_values(o, left, COUNT_MAX, (struct random){random_next(&random)});
        reference_values(o, right, COUNT_MAX, (struct random){random_next(&random)});
        /* lxor keeps the truth of a value only: start from a result */
        op.combine(left, left, right, COUNT_MAX, o->type, op.arg);
        op.combine(out, left, right, COUNT_MAX, o->type, op.arg);
        op.inverse(out, out, right, COUNT_MAX, o->type, op.arg);
        assert_memory_equal(out, left, bytes);
    }
    assert_int_equal(inverses, 8 * 3); /* sum, lxor, bxor of the integer types */
}

static void test_properties(void **state)
{
    (void)state;
    for (unsigned i = 0; i < n_operations; i++) {
        const struct operation *o = &operations[i];
        unsigned char values[BYTES_MAX], out[BYTES_MAX];
        struct op op;

        assert_true(ncoll__op_builtin(o->op, o->type, &op));
        assert_true(op.commutative);
        assert_int_equal(op.exact, !o->rounds);
        if (!op.idempotent)
            continue;
        reference_values(o, values, COUNT_MAX, random_stream(test_seed(), i));
        op.combine(values, values, values, COUNT_MAX, o->type, op.arg); /* a result */
        op.combine(out, values, values, COUNT_MAX, o->type, op.arg);
        assert_memory_equal(out, values, COUNT_MAX * ncoll_type_size(o->type));
    }
}

static void test_signed_zeros_and_nans(void **state)
{
    const double quiet = (double)NAN, zero[] = {-0.0, 0.0};
    uint64_t odd_bits = UINT64_C(0xfff8000000000123);
    double odd, out;
    struct op min, max;

    (void)state;
    memcpy(&odd, &odd_bits, sizeof odd);
    assert_true(ncoll__op_builtin(NCOLL_MIN, NCOLL_DOUBLE, &min));
    assert_true(ncoll__op_builtin(NCOLL_MAX, NCOLL_DOUBLE, &max));
    for (int turned = 0; turned < 2; turned++) {
        min.combine(&out, &zero[turned], &zero[!turned], 1, NCOLL_DOUBLE, NULL);
        assert_true(out == 0 && signbit(out));
        max.combine(&out, &zero[turned], &zero[!turned], 1, NCOLL_DOUBLE, NULL);
        assert_true(out == 0 && !signbit(out));
        min.combine(&out, turned ? &odd : &zero[0], turned ? &zero[0] : &odd, 1, NCOLL_DOUBLE,
                    NULL);
        assert_memory_equal(&out, &quiet, sizeof out);
        max.combine(&out, turned ? &odd : &zero[0], turned ? &zero[0] : &odd, 1, NCOLL_DOUBLE,
                    NULL);
        assert_memory_equal(&out, &quiet, sizeof out);
    }
}

static void test_unknown(void **state)
{
    struct op op;

    (void)state;
    for (unsigned type = 0; type < 20; type++)
        for (unsigned number = 0; number < 20; number++) {
            bool known = type >= NCOLL_INT8 && type <= NCOLL_DOUBLE && number >= NCOLL_SUM &&
                         number <= (type >= NCOLL_FLOAT ? NCOLL_MAX : NCOLL_BXOR);
            assert_int_equal(ncoll__op_builtin(number, (ncoll_type)type, &op), known);
        }
    assert_int_equal(ncoll_type_size((ncoll_type)0), 0);
    assert_int_equal(ncoll_type_size((ncoll_type)11), 0);
    assert_int_equal(ncoll_type_size((ncoll_type)-1), 0);
    assert_string_equal(ncoll__type_name(NCOLL_UINT16), "uint16");
    assert_string_equal(ncoll__type_name(99), "unknown");
    assert_string_equal(ncoll__op_name(NCOLL_LXOR), "lxor");
    assert_string_equal(ncoll__op_name(0), "unknown");
    assert_string_equal(ncoll__op_name(OP_USER + 5), "user-defined");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_corners),
        cmocka_unit_test(test_inverse),
        cmocka_unit_test(test_properties),
        cmocka_unit_test(test_signed_zeros_and_nans),
        cmocka_unit_test(test_unknown),
    };

    n_operations = reference_operations(operations, 128);
    return cmocka_run_group_tests_name("op", tests, NULL, NULL);
}
