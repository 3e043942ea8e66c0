/* SPDX-License-Identifier: BSD-3-Clause */
/* The addresses of all ranks: each is found again, whatever the others are, and those of a usual job
 * take few bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/context.h"
#include "test/support/seed.h"

#define RANKS   1000
#define LONGEST 300

static struct ncoll_context *make(int ranks)
{
    struct ncoll_context *ctx = calloc(1, sizeof *ctx);

    assert_non_null(ctx);
    ncoll_params_init(&ctx->settings, sizeof ctx->settings);
    ctx->ranks = ranks;
    return ctx;
}

static void done(struct ncoll_context *ctx)
{
    ncoll__addresses_free(ctx);
    free(ctx);
}

/* All lengths, bytes that mostly stay the same from rank to rank; asked for in any order. */
static void test_found_again(void **state)
{
    static unsigned char addresses[RANKS][LONGEST];
    static size_t lengths[RANKS];
    struct random random = random_stream(test_seed(), 0);

    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        struct ncoll_context *ctx = make(RANKS);
        size_t len;
        for (int r = 0; r < RANKS; r++) {
            lengths[r] = kind == 0   ? 48
                         : kind == 1 ? 0
                                     : (size_t)random_below(&random, LONGEST + 1);
            memcpy(addresses[r], addresses[r > 0 ? r - 1 : 0], LONGEST);
            for (unsigned i = 0; i < kind; i++)
                addresses[r][random_below(&random, LONGEST)] = (unsigned char)random_next(&random);
            assert_true(ncoll__address_add(ctx, addresses[r], lengths[r]));
        }
        for (unsigned i = 0; i < 5 * RANKS; i++) {
            int r = (int)random_below(&random, RANKS);
            const void *found = ncoll__address_of(ctx, r, &len);
            assert_int_equal(len, lengths[r]);
            assert_true(len == 0 ? found == NULL : memcmp(found, addresses[r], len) == 0);
        }
        assert_null(ncoll__address_of(ctx, RANKS, &len));
        assert_null(ncoll__address_of(ctx, -1, &len));
        done(ctx);
    }
}

/* 16 ranks on a node, which differ in one word. */
static void test_few_bytes(void **state)
{
    struct ncoll_context *ctx = make(160000);
    struct random random = random_stream(test_seed(), 1);
    uint32_t address[12] = {0};

    (void)state;
    for (int r = 0; r < ctx->ranks; r++) {
        for (unsigned w = 0; w < 12 && r % 16 == 0; w++)
            address[w] = (uint32_t)random_next(&random);
        address[4]++;
        assert_true(ncoll__address_add(ctx, address, sizeof address));
    }
    assert_in_range(ctx->addresses.used, 4 * 160000, 9 * 160000);
    done(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found_again),
        cmocka_unit_test(test_few_bytes),
    };

    return cmocka_run_group_tests_name("addresses", tests, NULL, NULL);
}
