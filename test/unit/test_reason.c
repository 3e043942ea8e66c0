/* SPDX-License-Identifier: BSD-3-Clause */
/* Reasons of errors: their texts, and those of errors that ranks can make here. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/support/crew.h"
#include "transport/because.h"

static void test_texts(void **state)
{
    static const int values[] = {
#define VALUE(code, value, text) value,
        NCOLL_REASON_MAP(VALUE)
#undef VALUE
    };

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        assert_string_not_equal(ncoll_reason_text(values[i]), "unknown reason");
        assert_int_equal(strncmp(ncoll_reason_name(values[i]), "NCOLL_REASON_", 13), 0);
        for (size_t k = 0; k < i; k++) {
            assert_true(values[k] < values[i]);
            assert_string_not_equal(ncoll_reason_text(values[k]), ncoll_reason_text(values[i]));
        }
    }
    assert_string_equal(ncoll_reason_text(-1), "unknown reason");
    assert_string_equal(ncoll_reason_name(9999), "NCOLL_REASON_?");
}

/* Every status with every reason comes out of one number as it went in. */
static void test_in_one_number(void **state)
{
    static const int statuses[] = {
#define VALUE(code, value, text) value,
        NCOLL_STATUS_MAP(VALUE)
#undef VALUE
    };

    (void)state;
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        int what = BECAUSE(statuses[i], NOT_POSSIBLE);
        assert_int_equal(because_status(what), statuses[i]);
        assert_int_equal(because_reason(what), NCOLL_REASON_NOT_POSSIBLE);
        assert_int_equal(because_status(statuses[i]), statuses[i]);
    }
    assert_int_equal(because_reason(NCOLL_ERR_MEMORY), NCOLL_REASON_OUT_OF_MEMORY);
    assert_int_equal(because_reason(NCOLL_ERR_PEER), NCOLL_REASON_OTHER);
}

static ncoll_reason expected;

static int differ(struct rank *r)
{
    int64_t in[4] = {0}, out[4];
    int rc;

    if (expected == NCOLL_REASON_COLLECTIVE_DIFFERS && r->rank == 1)
        rc = ncoll_barrier(r->world, NCOLL_BLOCK);
    else if (expected == NCOLL_REASON_TYPE_DIFFERS && r->rank == 1)
        rc = ncoll_allreduce(r->world, in, out, 1, NCOLL_UINT64, NCOLL_SUM, NCOLL_BLOCK);
    else if (expected == NCOLL_REASON_OPERATION_DIFFERS && r->rank == 1)
        rc = ncoll_allreduce(r->world, in, out, 1, NCOLL_INT64, NCOLL_MIN, NCOLL_BLOCK);
    else
        rc = ncoll_allreduce(r->world, in, out,
                             expected == NCOLL_REASON_COUNT_DIFFERS ? 1 + (size_t)r->rank : 1,
                             NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    if (rc == NCOLL_OK) /* it was done before the difference was seen */
        rc = ncoll_barrier(r->world, NCOLL_BLOCK);
    CHECK_STATUS(rc, NCOLL_ERR_MISMATCH);
    CHECK(ncoll_last_error(r->ctx)->reason == expected);
    return 0;
}

static void test_mismatches(void **state)
{
    static const ncoll_reason all[] = {NCOLL_REASON_COLLECTIVE_DIFFERS, NCOLL_REASON_TYPE_DIFFERS,
                                       NCOLL_REASON_OPERATION_DIFFERS, NCOLL_REASON_COUNT_DIFFERS};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        expected = all[i];
        assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 60, differ, NULL), 0);
    }
}

static int lose(struct rank *r)
{
    if (r->rank == 1 && expected == NCOLL_REASON_PEER_DIED)
        raise(SIGKILL);
    if (r->rank == 1)
        return 0;
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_ERR_PEER);
    CHECK(ncoll_last_error(r->ctx)->reason == expected);
    return 0;
}

static void test_peers(void **state)
{
    (void)state;
    expected = NCOLL_REASON_PEER_DIED;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 60, lose, NULL), 1);
    expected = NCOLL_REASON_PEER_LEFT;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 60, lose, NULL), 0);
}

static void test_creation(void **state)
{
    ncoll_params params;
    ncoll_context *ctx;
    ncoll_error error = {0};

    (void)state;
    assert_int_equal(ncoll_last_error(NULL)->reason, NCOLL_REASON_BAD_HANDLE);
    ncoll_params_init(&params, sizeof params);
    params.transport = "pigeons";
    assert_int_equal(ncoll_context_create(&params, &ctx, &error), NCOLL_ERR_ARGUMENT);
    assert_int_equal(error.reason, NCOLL_REASON_BAD_ARGUMENT);
    ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_FORK;
    assert_int_equal(ncoll_context_create(&params, &ctx, &error), NCOLL_ERR_BOOTSTRAP);
    assert_int_equal(error.reason, NCOLL_REASON_NO_LAUNCHER);
    ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_SELF;
    assert_int_equal(ncoll_context_create(&params, &ctx, &error), NCOLL_OK);
    assert_int_equal(error.reason, NCOLL_REASON_NONE);
    ncoll_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),      cmocka_unit_test(test_in_one_number),
        cmocka_unit_test(test_mismatches), cmocka_unit_test(test_peers),
        cmocka_unit_test(test_creation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
