/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes and names of types, and types that the user creates, in a job of one rank. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/group.h"
#include "lib/plan/arguments.h"
#include "lib/base/type.h"

static ncoll_context *ctx;

static int setup(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_SELF;
    params.log_level = 0; /* errors are what is tested */
    return ncoll_context_create(&params, &ctx, NULL);
}

static int teardown(void **state)
{
    (void)state;
    ncoll_context_destroy(ctx);
    return 0;
}

static void test_sizes(void **state)
{
    static const size_t sizes[] = {0, 1, 2, 4,  8, 1,  2, 4,  8,  4, 8, sizeof(long double),
                                   2, 2, 8, 16, 8, 16, 8, 16, 16, 0};

    (void)state;
    for (ncoll_type type = 0; type < sizeof sizes / sizeof sizes[0]; type++) {
        assert_int_equal(ncoll_type_size(type), sizes[type]);
        assert_int_equal(ncoll_context_type_size(ctx, type), sizes[type]);
    }
    assert_int_equal(ncoll_type_size((ncoll_type)-1), 0);
    assert_int_equal(ncoll_context_type_size(NULL, NCOLL_INT8), 0);
    assert_int_equal(ncoll_context_type_size(ctx, TYPE_USER), 0);
    assert_string_equal(ncoll__type_name(NCOLL_UINT16), "uint16");
    assert_string_equal(ncoll__type_name(NCOLL_DOUBLE_INT64), "double + int64");
    assert_string_equal(ncoll__type_name(NCOLL_DOUBLE_INT64 + 1), "unknown");
    assert_string_equal(ncoll__type_name(TYPE_USER), "user-defined");
}

static void expect(int rc, int expected, const char *cause)
{
    assert_int_equal(rc, expected);
    if (strstr(ncoll_last_error(ctx)->text, cause) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", ncoll_last_error(ctx)->text, cause);
}

static void test_creation(void **state)
{
    static const size_t sizes[] = {1, 3, 16, 1000, PTRDIFF_MAX};
    enum { N = sizeof sizes / sizeof sizes[0] };
    ncoll_type types[N], type = 7;

    (void)state;
    assert_int_equal(ncoll_type_create(NULL, 8, &type), NCOLL_ERR_HANDLE);
    expect(ncoll_type_create(ctx, 0, &type), NCOLL_ERR_ARGUMENT, "0 bytes");
    expect(ncoll_type_create(ctx, (size_t)PTRDIFF_MAX + 1, &type), NCOLL_ERR_ARGUMENT, "bytes");
    expect(ncoll_type_create(ctx, 8, NULL), NCOLL_ERR_ARGUMENT, "type is NULL");
    assert_int_equal(type, 7);
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(ncoll_type_create(ctx, sizes[i], &types[i]), NCOLL_OK);
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(types[i], TYPE_USER + i);
        assert_int_equal(ncoll_context_type_size(ctx, types[i]), sizes[i]);
        assert_int_equal(ncoll_type_size(types[i]), 0);
    }
    for (unsigned i = N; i < TYPES_MAX; i++)
        assert_int_equal(ncoll_type_create(ctx, 8, &type), NCOLL_OK);
    assert_true(type < 256);
    expect(ncoll_type_create(ctx, 8, &type), NCOLL_ERR_RESOURCE, "200 types");
}

/* ------------------------------------------------------------------ operations --------------- */

static void keep_left(void *out, const void *left, const void *right, size_t count, ncoll_type type,
                      void *arg)
{
    (void)right, (void)type;
    memmove(out, left, count * *(const size_t *)arg);
}

static void test_operations_on_it(void **state)
{
    static size_t size = 3;
    const ncoll_op_def def = {
        .size = sizeof def, .flags = NCOLL_OP_COMMUTATIVE, .combine = keep_left, .arg = &size};
    unsigned char in[9] = "abcdefghi", out[9];
    ncoll_type type;
    ncoll_op number;
    struct op op;

    (void)state;
    assert_int_equal(ncoll_type_create(ctx, size, &type), NCOLL_OK);
    assert_int_equal(ncoll_op_create(ctx, &def, &number), NCOLL_OK);
    assert_int_equal(ncoll__op_resolve(ctx, number, type, &op), NCOLL_OK);
    assert_false(op.exact); /* who knows what it holds */
    assert_int_equal(ncoll__op_resolve(ctx, number, NCOLL_INT64_INT64, &op), NCOLL_OK);
    assert_true(op.exact);
    assert_int_equal(ncoll__op_resolve(ctx, number, NCOLL_DOUBLE_INT64, &op), NCOLL_OK);
    assert_false(op.exact);
    assert_int_equal(ncoll_allreduce(ncoll_world(ctx), in, out, 3, type, number, NCOLL_BLOCK),
                     NCOLL_OK);
    assert_memory_equal(in, out, 9);
    expect(ncoll_allreduce(ncoll_world(ctx), in, out, 3, type + 1, number, NCOLL_BLOCK),
           NCOLL_ERR_ARGUMENT, "is unknown");
    expect(ncoll_allreduce(ncoll_world(ctx), in, out, SIZE_MAX / 2, type, number, NCOLL_BLOCK),
           NCOLL_ERR_ARGUMENT, "more than memory");
    expect(ncoll_allreduce(ncoll_world(ctx), in, out, 3, type, NCOLL_SUM, NCOLL_BLOCK),
           NCOLL_ERR_ARGUMENT, "operation sum is not defined for user-defined");
}

static void test_undefined(void **state)
{
    struct op op;

    (void)state;
    expect(ncoll__op_resolve(ctx, NCOLL_MIN, NCOLL_COMPLEX_FLOAT, &op), NCOLL_ERR_ARGUMENT,
           "operation min is not defined for complex float");
    assert_non_null(strstr(ncoll_last_error(ctx)->remedy, "NCOLL_SUM"));
    expect(ncoll__op_resolve(ctx, NCOLL_SUM, NCOLL_DOUBLE_INT32, &op), NCOLL_ERR_ARGUMENT,
           "operation sum is not defined for double + int32");
    assert_non_null(strstr(ncoll_last_error(ctx)->remedy, "NCOLL_MINLOC"));
    expect(ncoll__op_resolve(ctx, NCOLL_BXOR, NCOLL_HALF, &op), NCOLL_ERR_ARGUMENT,
           "operation bxor is not defined for half");
    assert_non_null(strstr(ncoll_last_error(ctx)->remedy, "integer type"));
    expect(ncoll__op_resolve(ctx, NCOLL_MAXLOC, NCOLL_INT32, &op), NCOLL_ERR_ARGUMENT,
           "operation maxloc is not defined for int32");
    assert_non_null(strstr(ncoll_last_error(ctx)->remedy, "NCOLL_INT32_INT32"));
    expect(ncoll__op_resolve(ctx, 15, NCOLL_INT32, &op), NCOLL_ERR_ARGUMENT,
           "operation 15 is unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_creation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_operations_on_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_undefined, setup, teardown),
    };

    return cmocka_run_group_tests_name("type", tests, NULL, NULL);
}
