/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of several failures a rank reports, and who it says it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/watch/failure.h"
#include "lib/base/group.h"

#define MUCH_LATER 100

static int setup(void **state)
{
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_SELF;
    params.log_level = NCOLL_LOG_ERROR;
    return ncoll_context_create(&params, (ncoll_context **)state, NULL);
}

static int teardown(void **state)
{
    ncoll_context_destroy(*state);
    return 0;
}

static void happens(ncoll_context *ctx, enum control_kind kind, uint32_t calls_ahead)
{
    struct failure failure = {.kind = kind, .rank = {0, -1}};

    failure.epoch = (uint32_t)ctx->world->window->epoch + calls_ahead;
    ncoll__broken(ctx, &failure);
}

static void test_first_stays(void **state)
{
    happens(*state, CONTROL_PEER_FAILED, 0);
    happens(*state, CONTROL_MISMATCH, 1);
    assert_int_equal(ncoll_barrier(ncoll_world(*state), NCOLL_BLOCK), NCOLL_ERR_PEER);
}

static void test_mismatch_of_this_call_stays(void **state)
{
    happens(*state, CONTROL_MISMATCH, 1);
    happens(*state, CONTROL_PEER_FAILED, 0);
    assert_int_equal(ncoll_barrier(ncoll_world(*state), NCOLL_BLOCK), NCOLL_ERR_MISMATCH);
}

/* A rank that waits for the dead one in an earlier call would wait for ever. */
static void test_death_outranks_a_later_mismatch(void **state)
{
    happens(*state, CONTROL_MISMATCH, MUCH_LATER);
    happens(*state, CONTROL_PEER_FAILED, 0);
    assert_int_equal(ncoll_barrier(ncoll_world(*state), NCOLL_BLOCK), NCOLL_ERR_PEER);
}

/* An earlier mismatch outranks a later one also on a rank that waits in the call of the earlier
 * one. */
static void test_earlier_mismatch_outranks_a_later_one(void **state)
{
    const ncoll_context *ctx = *state;
    uint32_t now = (uint32_t)ctx->world->window->epoch;

    happens(*state, CONTROL_MISMATCH, MUCH_LATER);
    happens(*state, CONTROL_MISMATCH, MUCH_LATER + 1);
    assert_int_equal(ctx->failure.epoch, now + MUCH_LATER);
    happens(*state, CONTROL_MISMATCH, MUCH_LATER - 1);
    assert_int_equal(ctx->failure.epoch, now + MUCH_LATER - 1);
    happens(*state, CONTROL_MISMATCH, 1);
    happens(*state, CONTROL_MISMATCH, 0);
    assert_int_equal(ctx->failure.epoch, now + 1);
}

static void keep_text(void *arg, ncoll_log_level level, const char *text)
{
    (void)level;
    snprintf(arg, 64, "%s", text);
}

static void test_log_before_the_rank_is_known(void **state)
{
    char text[64];
    ncoll_context early = {
        .rank = -1, .settings = {.log = keep_text, .log_arg = text, .log_level = NCOLL_LOG_WARN}};

    (void)state;
    ncoll__log(&early, NCOLL_LOG_WARN, "%d things", 3);
    assert_string_equal(text, "ncoll: 3 things");
    early.rank = 7;
    ncoll__log(&early, NCOLL_LOG_WARN, "%d things", 3);
    assert_string_equal(text, "ncoll: rank 7: 3 things");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_first_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_mismatch_of_this_call_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_death_outranks_a_later_mismatch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_earlier_mismatch_outranks_a_later_one, setup,
                                        teardown),
        cmocka_unit_test(test_log_before_the_rank_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
