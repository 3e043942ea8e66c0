/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the user's: allocated, registered, taken back, and misused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/group.h"
#include "lib/deliver/memory.h"
#include "test/support/seed.h"

#define BYTES ((size_t)1 << 20)

static ncoll_context *ctx;

static int setup(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_SELF;
    return ncoll_context_create(&params, &ctx, NULL) == NCOLL_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ncoll_context_destroy(ctx);
    return 0;
}

/* The status is the last error's, which says what happened and what to do. */
static void expect(int rc, ncoll_status status, const char *cause)
{
    const ncoll_error *error = ncoll_last_error(ctx);

    assert_int_equal(rc, status);
    assert_int_equal(error->status, status);
    if (strstr(error->cause, cause) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error->cause, cause);
    assert_true(strlen(error->remedy) > 0);
}

static size_t user_bytes(void)
{
    ncoll_stats stats = {.size = sizeof stats};

    assert_int_equal(ncoll_context_stats(ctx, &stats), NCOLL_OK);
    assert_true(stats.scratch_bytes > 0 && stats.scratch_bytes < stats.memory_bytes);
    /* a device knows some of it */
    bool device = strstr(stats.transport, "verbs") != NULL;
    assert_true(device ? stats.pinned_bytes > 0 && stats.pinned_bytes < stats.memory_bytes / 4
                       : stats.pinned_bytes == 0);
    return stats.user_bytes;
}

static void allocated_memory_is_zeroed_and_whole(void **state)
{
    unsigned char *memory = NULL;
    int64_t in = 7, *out;

    (void)state;
    assert_int_equal(ncoll_alloc(ctx, BYTES + 1, (void **)&memory), NCOLL_OK);
    assert_int_equal((uintptr_t)memory % 4096, 0);
    assert_int_equal(user_bytes(), BYTES + 1);
    for (size_t i = 0; i <= BYTES; i++)
        assert_int_equal(memory[i], 0);
    memset(memory, 1, BYTES + 1);
    out = (int64_t *)memory;
    assert_int_equal(
        ncoll_allreduce(ncoll_world(ctx), &in, out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
        NCOLL_OK);
    assert_int_equal(*out, 7);
    assert_int_equal(ncoll_free(ctx, memory), NCOLL_OK);
    assert_int_equal(user_bytes(), 0);
    assert_int_equal(ncoll_free(ctx, NULL), NCOLL_OK);
}

static void regions_are_found_from_their_first_to_their_last_byte(void **state)
{
    static unsigned char memory[8 * 1000];
    struct random random = random_stream(test_seed(), 0);
    unsigned order[8] = {0, 1, 2, 3, 4, 5, 6, 7};

    (void)state;
    for (unsigned i = 8; i-- > 1;) {
        unsigned j = (unsigned)random_below(&random, i + 1), other = order[j];
        order[j] = order[i];
        order[i] = other;
    }
    /* 500 bytes of each 1000 */
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(ncoll_mem_register(ctx, memory + 1000 * order[i], 500), NCOLL_OK);
    assert_int_equal(user_bytes(), 8 * 500);
    for (unsigned i = 0; i < 8; i++) {
        unsigned char *at = memory + (size_t)1000 * i;
        assert_non_null(ncoll__memory_find(ctx, at, 500));
        assert_ptr_equal(ncoll__memory_find(ctx, at, 500)->base, at);
        assert_ptr_equal(ncoll__memory_find(ctx, at + 499, 1)->base, at);
        assert_null(ncoll__memory_find(ctx, at, 501));
        assert_null(ncoll__memory_find(ctx, at + 1, 500));
        assert_null(ncoll__memory_find(ctx, at + 500, 1));
        assert_null(ncoll__memory_find(ctx, at - 1, 2));
        assert_null(ncoll__memory_find(ctx, at, SIZE_MAX));
    }
    for (unsigned i = 0; i < 8; i += 2)
        assert_int_equal(ncoll_mem_deregister(ctx, memory + 1000 * order[i]), NCOLL_OK);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(ncoll__memory_find(ctx, memory + 1000 * order[i], 1) != NULL, i % 2);
    /* the others go with the context */
}

static void bad_input_is_told(void **state)
{
    static unsigned char memory[3000];
    unsigned char *allocated;

    (void)state;
    assert_int_equal(ncoll_alloc(NULL, 1, (void **)&allocated), NCOLL_ERR_HANDLE);
    assert_int_equal(ncoll_free(NULL, NULL), NCOLL_ERR_HANDLE);
    assert_int_equal(ncoll_mem_register(NULL, memory, 1), NCOLL_ERR_HANDLE);
    assert_int_equal(ncoll_mem_deregister(NULL, memory), NCOLL_ERR_HANDLE);
    expect(ncoll_alloc(ctx, 0, (void **)&allocated), NCOLL_ERR_ARGUMENT, "0 bytes");
    expect(ncoll_alloc(ctx, 1, NULL), NCOLL_ERR_ARGUMENT, "pointer for the memory is NULL");
    expect(ncoll_alloc(ctx, SIZE_MAX, (void **)&allocated), NCOLL_ERR_MEMORY, "more than memory");
    expect(ncoll_alloc(ctx, (size_t)64 << 40, (void **)&allocated), NCOLL_ERR_MEMORY,
           "can ever have");
    expect(ncoll_mem_register(ctx, NULL, 8), NCOLL_ERR_ARGUMENT, "8 bytes");
    expect(ncoll_mem_register(ctx, memory, 0), NCOLL_ERR_ARGUMENT, "0 bytes");
    expect(ncoll_mem_register(ctx, memory, SIZE_MAX), NCOLL_ERR_ARGUMENT, "bytes at");
    expect(ncoll_mem_deregister(ctx, memory), NCOLL_ERR_ARGUMENT, "is not the start");
    expect(ncoll_free(ctx, memory), NCOLL_ERR_ARGUMENT, "is not the start");

    assert_int_equal(ncoll_mem_register(ctx, memory + 1000, 1000), NCOLL_OK);
    expect(ncoll_mem_register(ctx, memory + 1000, 1000), NCOLL_ERR_ARGUMENT, "are registered");
    expect(ncoll_mem_register(ctx, memory, 1001), NCOLL_ERR_ARGUMENT, "overlap");
    expect(ncoll_mem_register(ctx, memory + 1999, 1), NCOLL_ERR_ARGUMENT, "overlap");
    expect(ncoll_mem_register(ctx, memory, 3000), NCOLL_ERR_ARGUMENT, "overlap");
    assert_int_equal(ncoll_mem_register(ctx, memory, 1000), NCOLL_OK);
    assert_int_equal(ncoll_mem_register(ctx, memory + 2000, 1000), NCOLL_OK);
    expect(ncoll_mem_deregister(ctx, memory + 1001), NCOLL_ERR_ARGUMENT, "is not the start");
    expect(ncoll_free(ctx, memory + 1000), NCOLL_ERR_ARGUMENT, "ncoll_alloc()");
    assert_int_equal(ncoll_mem_deregister(ctx, memory + 1000), NCOLL_OK);
    expect(ncoll_mem_deregister(ctx, memory + 1000), NCOLL_ERR_ARGUMENT, "is not the start");

    assert_int_equal(ncoll_alloc(ctx, 1, (void **)&allocated), NCOLL_OK);
    expect(ncoll_mem_register(ctx, allocated, 1), NCOLL_ERR_ARGUMENT, "from ncoll_alloc()");
    expect(ncoll_mem_deregister(ctx, allocated), NCOLL_ERR_ARGUMENT, "ncoll_mem_register()");
    assert_int_equal(ncoll_free(ctx, allocated), NCOLL_OK);
    expect(ncoll_free(ctx, allocated), NCOLL_ERR_ARGUMENT, "is not the start");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(allocated_memory_is_zeroed_and_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(regions_are_found_from_their_first_to_their_last_byte,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(bad_input_is_told, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
