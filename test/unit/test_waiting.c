/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that share their cores with a foreign process block at once, and stop it when that has gone. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/inspect.h"
#include "lib/run/waiting.h"
#include "test/support/crew.h"

#define MS      UINT64_C(1000000)
#define AWAY    (4 * MS) /* a slice of the scheduler */
#define LIMIT_S 30

/* ------------------------------------------------------------------ the rule ------------------ */

static const struct transport_ops ops;
static struct transport transport = {.ops = &ops, .long_absence_ns = MS / 2};
static struct ncoll_context ctx;

static void begin(int64_t spin_ns, bool oversubscribed)
{
    ctx = (struct ncoll_context){.transport = &transport,
                                 .settings.spin_ns = spin_ns,
                                 .places.oversubscribed = oversubscribed};
    ncoll__waiting_begin(&ctx);
}

static void test_the_usual_way_depends_on_the_cores(void **state)
{
    (void)state;
    begin(-1, false);
    assert_true(ctx.waiting.spins);
    assert_int_equal(ctx.waiting.looks, LOOKS_SPINS);
    begin(-1, true);
    assert_false(ctx.waiting.spins);
    assert_int_equal(ctx.waiting.looks, LOOKS_YIELDS);
    begin(5000, true);
    assert_true(ctx.waiting.spins);
    assert_int_equal(ctx.waiting.spin_ns, 5000);
}

static void test_the_tools_are_told_how_long_a_rank_spins(void **state)
{
    (void)state;
    assert_int_equal(ncoll__waiting_spin_ns(-1, false, false), 100000);
    assert_int_equal(ncoll__waiting_spin_ns(-1, false, true), 20000);
    assert_int_equal(ncoll__waiting_spin_ns(-1, true, false), 0);
    assert_int_equal(ncoll__waiting_spin_ns(-1, true, true), 0);
    assert_int_equal(ncoll__waiting_spin_ns(5000, true, false), 5000);
    assert_int_equal(ncoll__waiting_spin_ns(5000, true, true), 5000);
    begin(-1, false);
    assert_int_equal(ctx.waiting.spin_ns, ncoll__waiting_spin_ns(-1, false, false));
}

static void test_a_short_absence_changes_nothing(void **state)
{
    (void)state;
    begin(-1, true);
    ncoll__waiting_away(&ctx, MS, MS / 10);
    assert_false(ctx.waiting.blocks);
}

static void away_twice(uint64_t now)
{
    ncoll__waiting_away(&ctx, now, AWAY);
    ncoll__waiting_away(&ctx, now + 2 * AWAY, AWAY);
}

/* Absences that are far apart, for a rank that yields and one that spins. */
static void test_once_is_not_enough(void **state)
{
    (void)state;
    for (int oversubscribed = 0; oversubscribed < 2; oversubscribed++) {
        begin(-1, oversubscribed);
        for (uint64_t now = 100 * MS; now < 1000 * MS; now += 25 * MS) {
            ncoll__waiting_away(&ctx, now, AWAY);
            assert_false(ctx.waiting.blocks);
        }
        away_twice(2000 * MS);
        assert_true(ctx.waiting.blocks);
    }
}

static uint64_t used_ns; /* by other ranks, since the last call */

static uint64_t siblings_ns(struct transport *t)
{
    (void)t;
    return used_ns;
}

/* Other ranks have had the core meanwhile, or another process. */
static void test_ranks_may_compute(void **state)
{
    static const struct transport_ops with_siblings = {.siblings_ns = siblings_ns};

    (void)state;
    begin(-1, true);
    transport.ops = &with_siblings;
    used_ns = AWAY;
    for (uint64_t now = 100 * MS; now < 1000 * MS; now += AWAY) {
        ncoll__waiting_away(&ctx, now, AWAY);
        assert_false(ctx.waiting.blocks);
    }
    used_ns = AWAY / 4;
    for (uint64_t now = 2000 * MS; now < 2010 * MS; now += AWAY)
        ncoll__waiting_away(&ctx, now, AWAY);
    assert_true(ctx.waiting.blocks);
    transport.ops = &ops;
}

static uint64_t must_not_ask(struct transport *t)
{
    (void)t;
    fail_msg("the rank asks what other ranks have used");
    return 0;
}

static void begin_shared(double ranks_per_core)
{
    ctx = (struct ncoll_context){.transport = &transport,
                                 .settings.spin_ns = -1,
                                 .places = {.oversubscribed = true, .here = ranks_per_core}};
    ncoll__waiting_begin(&ctx);
}

static void test_the_more_ranks_the_fewer_yields(void **state)
{
    (void)state;
    begin_shared(RANKS_MANY - 1);
    assert_true(ctx.waiting.yields > 1000);
    begin_shared(RANKS_MANY);
    assert_int_equal(ctx.waiting.yields, FEW_YIELDS);
    assert_false(ctx.waiting.blocks);
}

static void test_crowded_ranks_block_and_do_not_ask_why(void **state)
{
    static const struct transport_ops with_siblings = {.siblings_ns = must_not_ask};

    (void)state;
    transport.ops = &with_siblings;
    begin_shared(WAITING_CROWDED);
    for (uint64_t now = 100 * MS; now < 1000 * MS; now += AWAY) {
        ncoll__waiting_away(&ctx, now, AWAY);
        ncoll__waiting_try(&ctx, now);
        assert_true(ctx.waiting.blocks);
        assert_int_equal(ctx.waiting.looks, LOOKS_BLOCKS);
    }
    transport.ops = &ops;
}

static void test_what_the_user_has_set_stays(void **state)
{
    (void)state;
    begin(0, true);
    away_twice(10 * MS);
    assert_false(ctx.waiting.blocks);
    ctx.places.here = WAITING_CROWDED;
    ncoll__waiting_begin(&ctx);
    assert_false(ctx.waiting.blocks);
}

/* With a neighbour that stays, the time away is a small part. */
static void test_it_tries_less_and_less_often(void **state)
{
    uint64_t now = MS, lost = 0, end = 20000 * MS;

    (void)state;
    begin(-1, true);
    ncoll__waiting_away(&ctx, now, AWAY);
    while (now < end) {
        ncoll__waiting_away(&ctx, now += AWAY, AWAY);
        lost += AWAY;
        assert_true(ctx.waiting.blocks);
        assert_int_equal(ctx.waiting.looks, LOOKS_BLOCKS);
        ncoll__waiting_try(&ctx, ctx.waiting.until_ns - 1);
        assert_true(ctx.waiting.blocks);
        now = ctx.waiting.until_ns;
        ncoll__waiting_try(&ctx, now);
        assert_false(ctx.waiting.blocks);
    }
    assert_true(lost < end / 200);
}

/* Absences that have nothing to do with each other cost a few times their length. */
static void test_what_was_not_repeated_is_soon_forgotten(void **state)
{
    (void)state;
    begin(-1, false);
    for (uint64_t now = 1000 * MS; now < 20000 * MS; now += 1000 * MS) {
        away_twice(now);
        assert_true(ctx.waiting.blocks);
        assert_true(ctx.waiting.spin_ns < 100000);
        assert_true(ctx.waiting.until_ns <= now + 10 * AWAY);
        ncoll__waiting_try(&ctx, now + 10 * AWAY);
        assert_false(ctx.waiting.blocks);
    }
}

/* ------------------------------------------------------------------ ranks --------------------- */

static pid_t neighbour;

static void bind_to_one_core(void)
{
    cpu_set_t allowed, one;
    int cpu = 0;

    sched_getaffinity(0, sizeof allowed, &allowed);
    while (!CPU_ISSET(cpu, &allowed))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

static void start_neighbour(void)
{
    neighbour = fork();
    assert_true(neighbour >= 0);
    if (neighbour > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile unsigned i = 0;; i++)
        ;
}

static void stop_neighbour(void)
{
    if (neighbour > 0 && kill(neighbour, SIGKILL) == 0)
        waitpid(neighbour, NULL, 0);
    neighbour = 0;
}

/* Makes calls until each rank has been seen to block, or not to block, at least once. If that does not
 * happen, the limit of the crew ends them. */
static int call_until(struct rank *r, bool blocks)
{
    int64_t seen = 0, all = 0;

    while (all == 0) {
        seen |= r->ctx->waiting.blocks == blocks;
        CHECK_STATUS(ncoll_allreduce(r->world, &seen, &all, 1, NCOLL_INT64, NCOLL_MIN, NCOLL_BLOCK),
                     NCOLL_OK);
    }
    return 0;
}

static int meet_a_neighbour(struct rank *r)
{
    if (call_until(r, true) != 0)
        return 1;
    if (r->rank == 0)
        kill(neighbour, SIGKILL);
    return call_until(r, false);
}

static void test_ranks_block_beside_a_neighbour(void **state)
{
    cpu_set_t before;

    (void)state;
    sched_getaffinity(0, sizeof before, &before);
    bind_to_one_core();
    start_neighbour();
    int failed = crew_run(CREW_PROCESSES, 3, NULL, LIMIT_S, meet_a_neighbour, NULL);
    stop_neighbour();
    sched_setaffinity(0, sizeof before, &before);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_usual_way_depends_on_the_cores),
        cmocka_unit_test(test_the_tools_are_told_how_long_a_rank_spins),
        cmocka_unit_test(test_a_short_absence_changes_nothing),
        cmocka_unit_test(test_once_is_not_enough),
        cmocka_unit_test(test_ranks_may_compute),
        cmocka_unit_test(test_the_more_ranks_the_fewer_yields),
        cmocka_unit_test(test_crowded_ranks_block_and_do_not_ask_why),
        cmocka_unit_test(test_what_the_user_has_set_stays),
        cmocka_unit_test(test_it_tries_less_and_less_often),
        cmocka_unit_test(test_what_was_not_repeated_is_soon_forgotten),
        cmocka_unit_test(test_ranks_block_beside_a_neighbour),
    };

    return cmocka_run_group_tests_name("waiting", tests, NULL, NULL);
}
