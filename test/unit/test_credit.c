/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many credits a receiver gives its sender, in rows of calls that go one way (o) and calls that
 * synchronise (s), one after the other: as few as can be, but so early that the sender never waits.
 * That the policy is right is the business of test/verify.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/credit.h"

/* Calls that a credit is on its way for. */
#define DELAY 2u

struct side {
    struct credits credits;
    struct credit_of of[1], *page;
};

struct pair {
    struct side sender, receiver;
    uint64_t calls;
    uint64_t under_way[DELAY]; /* credits; 0: none */
    unsigned given, waited;
};

static void begin(struct pair *p)
{
    *p = (struct pair){0};
    p->sender.page = p->sender.of;
    p->sender.credits = (struct credits){.pages = &p->sender.page};
    p->receiver.page = p->receiver.of;
    p->receiver.credits = (struct credits){.pages = &p->receiver.page};
}

static void give(struct pair *p, uint64_t credit)
{
    if (credit == 0)
        return;
    p->given++;
    ncoll__credit_on_sent(&p->receiver.credits, 0, credit);
    p->under_way[p->calls % DELAY] = credit;
}

static void call(struct pair *p, bool synchronises)
{
    struct credits *sender = &p->sender.credits, *receiver = &p->receiver.credits;
    uint64_t e = ++p->calls;

    ncoll__credit_on_credit(sender, 0, p->under_way[e % DELAY]);
    p->under_way[e % DELAY] = 0;
    ncoll__credit_on_start(sender, e, synchronises);
    ncoll__credit_on_start(receiver, e, synchronises);
    give(p, ncoll__credit_due_at_start(receiver, 0, e));
    p->waited += !ncoll__credit_may_put(sender, 0, e);
    ncoll__credit_on_finish(sender, e, synchronises);
    ncoll__credit_on_finish(receiver, e, synchronises);
    if (!synchronises)
        give(p, ncoll__credit_due_at_end(receiver, 0, e));
}

/* Credits given in `times` rows; none was waited for. */
static unsigned credits_in(struct pair *p, const char *row, unsigned times)
{
    unsigned before = p->given;

    for (size_t i = 0; i < times * strlen(row); i++)
        call(p, row[i % strlen(row)] == 's');
    assert_int_equal(p->waited, 0);
    return p->given - before;
}

static void test_one_way(void **state)
{
    struct pair p;

    (void)state;
    begin(&p);
    assert_in_range(credits_in(&p, "o", 100), 100 / CREDIT_SETS, 100 / (CREDIT_SETS / 2));
}

/* Synchronising calls say the same, as long as they come often enough: no credit but the first. */
static void test_in_turns(void **state)
{
    const char *rows[] = {"s", "so", "soo", "sooo", "sos", "ssoos"};
    struct pair p;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin(&p);
        assert_in_range(credits_in(&p, rows[i], 3), 0, 2);
        assert_int_equal(credits_in(&p, rows[i], 100), 0);
    }
    begin(&p);
    assert_in_range(credits_in(&p, "soooo", 100), 95, 110);
}

/* The synchronising call that is expected after calls in turns does not come; the sender does not
 * wait even so. */
static void test_then_one_way(void **state)
{
    struct pair p;

    (void)state;
    for (unsigned turns = 1; turns < 100; turns++) {
        begin(&p);
        credits_in(&p, "so", turns);
        assert_in_range(credits_in(&p, "o", 20), 2, 20 / (CREDIT_SETS / 2));
        begin(&p);
        credits_in(&p, "s", turns);
        assert_in_range(credits_in(&p, "o", 20), 2, 20 / (CREDIT_SETS / 2));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_way),
        cmocka_unit_test(test_in_turns),
        cmocka_unit_test(test_then_one_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
