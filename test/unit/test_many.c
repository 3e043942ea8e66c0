/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * More ranks than the bits of a word, by two bootstraps: they meet, call, hear which of them has
 * failed, and find that one of them calls something else, in a slot far from the first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ncoll.h"
#include "test/support/hang.h"
#include "test/support/port.h"

#define RANKS  100
#define VICTIM 70

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, params->rank, #condition); \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static int lose_one(const ncoll_params *params, void *arg)
{
    ncoll_params own = *params;
    ncoll_context *ctx;
    ncoll_error error;
    int64_t one = 1, sum = 0;
    int rc = NCOLL_OK;

    (void)arg;
    hang_after(60);
    own.log_level = NCOLL_LOG_NONE;
    own.bootstrap_timeout_ns = HANG_FACTOR * INT64_C(30000000000);
    CHECK(ncoll_context_create(&own, &ctx, &error) == NCOLL_OK);
    CHECK(ncoll_allreduce(ncoll_world(ctx), &one, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK) ==
          NCOLL_OK);
    CHECK(sum == RANKS);
    if (params->rank == VICTIM) {
        /* then all others have ended the allreduce */
        CHECK(ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK) == NCOLL_OK);
        _exit(0);
    }
    while (rc == NCOLL_OK)
        rc = ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK);
    CHECK(rc == NCOLL_ERR_PEER);
    CHECK(ncoll_last_error(ctx)->peer == VICTIM);
    ncoll_context_destroy(ctx);
    return 0;
}

/* One rank waits in an alltoall for messages of all others, which are in a barrier. */
static int call_otherwise(const ncoll_params *params, void *arg)
{
    ncoll_params own = *params;
    int64_t in[RANKS] = {0}, out[RANKS];
    ncoll_context *ctx;
    ncoll_error error;
    int rc;

    (void)arg;
    hang_after(60);
    own.log_level = NCOLL_LOG_NONE;
    own.bootstrap_timeout_ns = HANG_FACTOR * INT64_C(30000000000);
    CHECK(ncoll_context_create(&own, &ctx, &error) == NCOLL_OK);
    if (params->rank == VICTIM)
        rc = ncoll_alltoall(ncoll_world(ctx), in, out, 1, NCOLL_INT64, NCOLL_BLOCK);
    else
        rc = ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK);
    CHECK(rc == NCOLL_ERR_MISMATCH);
    ncoll_context_destroy(ctx);
    return 0;
}

static void run(ncoll_rank_main body, bool tcp)
{
    ncoll_params params;
    int codes[RANKS];
    char root[32];

    ncoll_params_init(&params, sizeof params);
    params.log_level = NCOLL_LOG_NONE;
    snprintf(root, sizeof root, "127.0.0.1:%d", free_port());
    if (tcp) {
        params.bootstrap = NCOLL_BOOTSTRAP_TCP;
        params.root = root;
    }
    ncoll_fork_ranks(RANKS, &params, body, NULL, codes);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(codes[r], 0);
}

static void test_fork(void **state)
{
    (void)state;
    run(lose_one, false);
}

static void test_tcp(void **state)
{
    (void)state;
    run(lose_one, true);
}

static void test_mismatch(void **state)
{
    (void)state;
    run(call_otherwise, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_tcp),
        cmocka_unit_test(test_mismatch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
