/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that sleep over shm: whatever ends their wait wakes them, and they use no processor. */
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "shm_ranks.h"

/*
 * A lost wake-up shows as a sleep to its time limit. That of the library is as short as a rank may be
 * without a core where others want it. So sleeps here have a limit that no machine takes to wake a rank.
 */
#define SLEEP_S      20
#define LOST_WAKE_NS UINT64_C(19000000000)

static atomic_bool sleeps_are_long;
static bool sleeps_often; /* ranks often say that they block at once, or that they do not */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

/* The linker gives the library this in place of syscall(). */
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    const struct timespec limit = {.tv_sec = SLEEP_S};

    if (sleeps_are_long && number == SYS_futex && b == FUTEX_WAIT)
        d = (long)&limit;
    return __real_syscall(number, a, b, c, d, e, f);
}

/* True if one of the messages has been there for so long that it should have ended the wait. One such sleep is enough:
 * later ones are short. */
static bool overslept(const struct window *w, const struct awaited *awaited, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t sent_ns;
        if (!window_raised(w, awaited[i].epoch, awaited[i].slot))
            continue;
        memcpy(&sent_ns, window_slot(w, awaited[i].epoch, awaited[i].slot)->payload,
               sizeof sent_ns);
        if (test_now_ns(NULL) - sent_ns > LOST_WAKE_NS) {
            sleeps_are_long = false;
            return true;
        }
    }
    return false;
}

/* Both block at every wait. */
static int exchange_asleep(struct side *side)
{
    static const uint64_t epochs = 100000 / SLOWDOWN;
    const struct transport_ops *ops = side->transport->ops;
    struct transport_counters counters;
    unsigned lost = 0, seed = (unsigned)side->rank + 1;
    int peer = 1 - side->rank;

    for (uint64_t epoch = 1; epoch <= epochs; epoch++) {
        if (sleeps_often && rand_r(&seed) % 8 == 0)
            ops->blocks(side->transport, rand_r(&seed) % 4 != 0);
        for (volatile unsigned delay = (unsigned)rand_r(&seed) % 2000; delay > 0; delay--)
            ;
        uint64_t sent_ns = test_now_ns(NULL);
        CHECK(test_put(side, peer, epoch, 5, &sent_ns, sizeof sent_ns) == NCOLL_OK);
        while (!window_raised(side->window, epoch, 5)) {
            test_wait(side, epoch, 5, UINT32_MAX, 1000000000);
            lost += overslept(side->window, &(struct awaited){epoch, 5}, 1);
        }
    }
    ops->counters(side->transport, &counters);
    CHECK(counters.sleeps > epochs / 100);
    CHECK(lost == 0);
    return 0;
}

/* Runs the body on processes and threads, and on processes without membarrier; ranks sleep now and
 * then, or often. */
static void run_all(int ranks, int (*body)(struct side *side))
{
    sleeps_are_long = true;
    for (int often = 0; often < 2; often++) {
        sleeps_often = often;
        assert_int_equal(test_run(RANKS_ARE_PROCESSES, ranks, false, body), 0);
        assert_int_equal(test_run(RANKS_ARE_PROCESSES, ranks, true, body), 0);
        assert_int_equal(test_run(RANKS_ARE_THREADS, ranks, false, body), 0);
    }
    sleeps_often = false;
}

static void test_no_wakeup_is_lost(void **state)
{
    (void)state;
    run_all(2, exchange_asleep);
}

static bool waits_for_all; /* await_all() below */

/* A rank can wait for all of slots below 64 only. */
static unsigned slot_of(int from)
{
    return waits_for_all ? (unsigned)from : test_slot_of(from);
}

/* Sleeps for any message of the others, which come in any order, until all have come. */
static unsigned await_any(struct side *side, uint64_t epoch)
{
    struct awaited awaited[TEST_RANKS_MAX];
    unsigned n, lost = 0;

    do {
        n = 0;
        for (int from = 1; from < side->ranks; from++)
            if (!window_raised(side->window, epoch, slot_of(from)))
                awaited[n++] = (struct awaited){epoch, slot_of(from)};
        if (n > 0)
            side->transport->ops->wait(side->transport, side->window, awaited, n, UINT32_MAX,
                                       1000000000);
        lost += overslept(side->window, awaited, n);
    } while (n > 0);
    return lost;
}

/* The same, but it is woken when all have come. */
static unsigned await_all(struct side *side, uint64_t epoch)
{
    unsigned lost = 0;

    for (;;) {
        struct awaited awaited = {.epoch = epoch, .slot = NO_SLOT};
        for (int from = 1; from < side->ranks; from++) {
            unsigned slot = slot_of(from);
            if (window_raised(side->window, epoch, slot))
                continue;
            if (awaited.slot == NO_SLOT)
                awaited.slot = slot;
            else
                awaited.also |= UINT64_C(1) << slot;
        }
        if (awaited.slot == NO_SLOT)
            return lost;
        side->transport->ops->wait(side->transport, side->window, &awaited, 1, UINT32_MAX,
                                   1000000000);
        lost += overslept(side->window, &awaited, 1);
    }
}

static int await_several(struct side *side)
{
    static const uint64_t epochs = 20000 / SLOWDOWN;
    unsigned lost = 0, seed = (unsigned)side->rank + 1;

    for (uint64_t epoch = 1; epoch <= epochs; epoch++) {
        if (sleeps_often && rand_r(&seed) % 8 == 0)
            side->transport->ops->blocks(side->transport, rand_r(&seed) % 4 != 0);
        if (side->rank > 0) {
            for (volatile unsigned delay = (unsigned)rand_r(&seed) % 2000; delay > 0; delay--)
                ;
            uint64_t sent_ns = test_now_ns(NULL);
            CHECK(test_put(side, 0, epoch, slot_of(side->rank), &sent_ns, 8) == NCOLL_OK);
            test_await(side, epoch, 0);
            continue;
        }
        lost += waits_for_all ? await_all(side, epoch) : await_any(side, epoch);
        for (int to = 1; to < side->ranks; to++)
            CHECK(test_put(side, to, epoch, 0, NULL, 0) == NCOLL_OK);
    }
    CHECK(lost == 0);
    return 0;
}

static void test_no_wakeup_of_any_is_lost(void **state)
{
    (void)state;
    waits_for_all = false;
    run_all(4, await_several);
}

static void test_no_wakeup_of_all_is_lost(void **state)
{
    (void)state;
    waits_for_all = true;
    run_all(4, await_several);
}

static uint64_t cpu_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static int wait_in_vain(struct side *side)
{
    uint64_t start_ns = test_now_ns(NULL), used_ns = cpu_ns();

    if (side->rank == 0)
        while (test_now_ns(NULL) - start_ns < 500000000)
            test_wait(side, 1, 0, UINT32_MAX, 1000000000);
    CHECK(cpu_ns() - used_ns < 100000000);
    return 0;
}

static void test_a_blocked_rank_uses_no_cpu(void **state)
{
    (void)state;
    sleeps_are_long = false;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 2, false, wait_in_vain), 0);
}

static int await_credit_asleep(struct side *side)
{
    const struct transport_ops *ops = side->transport->ops;
    const struct window *w = side->window;

    if (side->rank == 1) {
        usleep(70000); /* rank 0 sleeps */
        CHECK(ops->credit(side->transport, test_endpoint(side, 0), w, 5) == NCOLL_OK);
    } else {
        while (atomic_load(&w->credits[1]) != 5)
            test_wait(side, 1, NO_SLOT, UINT32_MAX, 1000000000);
    }
    test_meet(side);
    return 0;
}

static void test_credit_ends_a_wait(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 2, false, await_credit_asleep), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_wakeup_is_lost),
        cmocka_unit_test(test_no_wakeup_of_any_is_lost),
        cmocka_unit_test(test_no_wakeup_of_all_is_lost),
        cmocka_unit_test(test_a_blocked_rank_uses_no_cpu),
        cmocka_unit_test(test_credit_ends_a_wait),
    };

    return cmocka_run_group_tests_name("shm_sleep", tests, NULL, NULL);
}
