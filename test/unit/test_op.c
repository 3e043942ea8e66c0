/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of the built-in operations against one-element-at-a-time arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/signature.h"
#include "lib/compute/kernels.h"
#include "lib/compute/op.h"
#include "test/support/reference.h"

/* Longer than any vector register, with every remainder below. */
#define COUNT_MAX 131
#define BYTES_MAX (COUNT_MAX * sizeof(long double))

#define OPERATIONS_MAX 160
static struct operation operations[OPERATIONS_MAX];
static unsigned n_operations;

enum placement { OUT_APART, OUT_IS_LEFT, OUT_IS_RIGHT, PLACEMENTS };

/* Kernels for one set of instructions, if this processor has it. */
struct level {
    const char *name;
    const struct kernels *kernels;
};
static struct level levels[3];
static unsigned n_levels;

static void find_levels(void)
{
    levels[n_levels++] = (struct level){"plain", &ncoll__kernels_plain};
#ifdef HAVE_KERNELS_AVX2
    if (ncoll__have_avx2())
        levels[n_levels++] = (struct level){"AVX2", &ncoll__kernels_avx2};
#endif
    levels[n_levels++] = (struct level){"scalar", &ncoll__kernels_scalar};
}

/* Vectors at `shift` bytes from what is aligned; the bytes around them stay as they are. */
static void check_kernel(const struct operation *o, const struct level *level, size_t count,
                         enum placement placement, size_t shift, struct random *random)
{
    _Alignas(16) unsigned char values[BYTES_MAX], memory[3][BYTES_MAX + 64], untouched[64];
    unsigned char *left = memory[0] + shift, *right = memory[1] + 2 * shift,
                  *apart = memory[2] + 3 * shift;
    unsigned char *out = placement == OUT_IS_LEFT    ? left
                         : placement == OUT_IS_RIGHT ? right
                                                     : apart;
    size_t bytes = count * o->size;
    struct reference expected;

    memset(memory, 0xa5, sizeof memory);
    memset(untouched, 0xa5, sizeof untouched);
    reference_open(&expected, o, count);
    for (unsigned side = 0; side < 2; side++) {
        reference_values(o, values, 0, count, (struct random){random_next(random)});
        reference_add(&expected, values);
        memcpy(side == 0 ? left : right, values, bytes);
    }
    level->kernels->combine[o->type][o->op](out, left, right, count, o->type, NULL);
    memcpy(values, out, bytes);
    if (reference_wrong(&expected, values) != count)
        fail_msg("%s of %zu elements of type %d, %s, placement %d, shift %zu: element %zu", o->name,
                 count, (int)o->type, level->name, (int)placement, shift,
                 reference_wrong(&expected, values));
    assert_memory_equal(out - shift, untouched, shift);
    assert_memory_equal(out + bytes, untouched, 8);
    reference_close(&expected);
}

static void check_kernels(const struct operation *o, const struct level *level)
{
    struct random random = random_stream(test_seed(), 0);

    for (size_t count = 0; count <= COUNT_MAX; count++)
        for (enum placement p = 0; p < PLACEMENTS; p++)
            check_kernel(o, level, count, p, 0, &random);
    for (size_t count = 0; count <= 70; count += 1 + count / 8)
        for (enum placement p = 0; p < PLACEMENTS; p++)
            for (size_t shift = 1; shift <= 15; shift++)
                check_kernel(o, level, count, p, shift, &random);
}

static void test_kernels(void **state)
{
    unsigned checked = 0;

    (void)state;
    for (unsigned i = 0; i < n_operations; i++) {
        struct op op;
        bool found = false;
        assert_true(ncoll__op_builtin(operations[i].op, operations[i].type, &op));
        for (unsigned level = 0; level < n_levels; level++) {
            const struct operation *o = &operations[i];
            ncoll_op_fn kernel = levels[level].kernels->combine[o->type][o->op];
            if (kernel == NULL)
                continue;
            check_kernels(o, &levels[level]);
            found = found || kernel == op.combine;
            checked++;
        }
        assert_true(found);
    }
    /* all but long double and pairs are in each but the last table */
    assert_int_equal(checked, (n_operations - 4 - 5 * 2) * (n_levels - 1) + 4 + 5 * 2);
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
        size_t size = o->size;
        struct op op;

        if (o->type > NCOLL_UINT64)
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
        size_t bytes = COUNT_MAX * o->size;
        _Alignas(16) unsigned char left[BYTES_MAX], right[BYTES_MAX], out[BYTES_MAX];
        struct op op;

        assert_true(ncoll__op_builtin(o->op, o->type, &op));
        if (op.inverse == NULL)
            continue;
        inverses++;
        reference_values(o, left, 0, COUNT_MAX, (struct random){random_next(&random)});
        reference_values(o, right, 0, COUNT_MAX, (struct random){random_next(&random)});
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
        _Alignas(16) unsigned char values[BYTES_MAX], out[BYTES_MAX];
        struct op op;

        assert_true(ncoll__op_builtin(o->op, o->type, &op));
        assert_true(op.commutative);
        assert_int_equal(op.exact, !o->rounds);
        if (!op.idempotent)
            continue;
        reference_values(o, values, 0, COUNT_MAX, random_stream(test_seed(), i));
        op.combine(values, values, values, COUNT_MAX, o->type, op.arg); /* a result */
        op.combine(out, values, values, COUNT_MAX, o->type, op.arg);
        assert_memory_equal(out, values, COUNT_MAX * o->size);
    }
}

/* The rows and columns of the table in ncoll.h. */
static bool is_defined(unsigned type, unsigned op)
{
    if (type < NCOLL_INT8 || type > NCOLL_DOUBLE_INT64)
        return false;
    if (op == NCOLL_SUM_REPRODUCIBLE)
        return type == NCOLL_FLOAT || type == NCOLL_DOUBLE;
    if (type <= NCOLL_UINT64)
        return op >= NCOLL_SUM && op <= NCOLL_BXOR;
    if (type <= NCOLL_BFLOAT16)
        return op >= NCOLL_SUM && op <= NCOLL_MAX;
    if (type <= NCOLL_COMPLEX_DOUBLE)
        return op == NCOLL_SUM || op == NCOLL_PROD;
    return op == NCOLL_MINLOC || op == NCOLL_MAXLOC;
}

static void test_unknown(void **state)
{
    struct op op;

    (void)state;
    for (unsigned type = 0; type < 40; type++)
        for (unsigned number = 0; number < 20; number++)
            assert_int_equal(ncoll__op_builtin(number, type, &op), is_defined(type, number));
    assert_false(ncoll__op_builtin(NCOLL_SUM, UINT32_MAX, &op));
    assert_false(ncoll__op_known(0));
    assert_true(ncoll__op_known(NCOLL_MAXLOC));
    assert_false(ncoll__op_known(NCOLL_SUM_REPRODUCIBLE + 1));
    assert_string_equal(ncoll__op_name(NCOLL_LXOR), "lxor");
    assert_string_equal(ncoll__op_name(0), "unknown");
    assert_string_equal(ncoll__op_name(OP_USER + 5), "user-defined");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels), cmocka_unit_test(test_corners),
        cmocka_unit_test(test_inverse), cmocka_unit_test(test_properties),
        cmocka_unit_test(test_unknown),
    };

    find_levels();
    n_operations = reference_operations(operations, OPERATIONS_MAX);
    return cmocka_run_group_tests_name("op", tests, NULL, NULL);
}
