/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks with an offset and a drift, seen through messages that take their time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "test/support/seed.h"
#include "tools/bench/measure/clock_model.h"

#define PROBES 20

/* The clock of another rank, over the time of this one. */
struct fake_clock {
    int64_t offset_ns;
    double drift;
};

static uint64_t read_fake(const struct fake_clock *clock, uint64_t now)
{
    return now + (uint64_t)(clock->offset_ns + (int64_t)(clock->drift * (double)now));
}

/* Two ways of at least 1 us, rarely longer, and not alike. */
static uint64_t way(struct random *random)
{
    uint64_t ns = 1000 + random_below(random, 300);

    return random_below(random, 4) == 0 ? ns + random_below(random, 50000) : ns;
}

static struct clock_point look(const struct fake_clock *clock, uint64_t *now, struct random *random)
{
    struct probe probes[PROBES];

    for (unsigned i = 0; i < PROBES; i++) {
        probes[i].sent = *now;
        *now += way(random);
        probes[i].theirs = read_fake(clock, *now);
        *now += way(random);
        probes[i].got = *now;
        probes[i].error_ns = 0;
    }
    return clock_point_of(probes, PROBES);
}

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* The line is never further off than it says. */
static void follow(const struct fake_clock *clock, struct random *random)
{
    struct clock_line line = {0};
    uint64_t now = UINT64_C(1000000000000), error = 0;

    for (unsigned i = 0; i < 100; i++) {
        struct clock_point point = look(clock, &now, random);
        clock_line_add(&line, &point);
        for (unsigned j = 0; j < 10; j++) {
            now += random_below(random, 10000000);
            error = clock_error_ns(&line, now);
            assert_true(apart(clock_theirs(&line, now), read_fake(clock, now)) <= error);
            assert_true(apart(clock_own(&line, read_fake(clock, now)), now) <= error + 1);
        }
    }
    assert_true(error < 5000); /* the drift is known by now: 200 ppm of 100 ms were 20 us */
}

static void test_lines(void **state)
{
    struct random random = {test_seed()};
    static const struct fake_clock clocks[] = {
        {0, 0}, {123456789, 0}, {-5000000000, 50e-6}, {77, -120e-6}, {0, 199e-6}};

    (void)state;
    for (size_t i = 0; i < sizeof clocks / sizeof clocks[0]; i++)
        follow(&clocks[i], &random);
}

/* Messages that take 20 ms for once do not make a clock that is known to a microsecond worse. */
static void test_bad_point(void **state)
{
    struct random random = {test_seed()};
    const struct fake_clock clock = {987654321, 20e-6};
    struct clock_line line = {0};
    uint64_t now = 1000000000;

    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        struct clock_point point = look(&clock, &now, &random);
        clock_line_add(&line, &point);
        now += 100000000;
    }
    const struct probe late = {
        .sent = now, .theirs = read_fake(&clock, now), .got = now + 20000000};
    struct clock_point point = clock_point_of(&late, 1);
    clock_line_add(&line, &point);
    now += 20000000;
    assert_true(clock_error_ns(&line, now) < 5000);
    assert_true(apart(clock_theirs(&line, now), read_fake(&clock, now)) <=
                clock_error_ns(&line, now));
}

/* One clock seen through another adds up errors. */
static void test_error_of_theirs(void **state)
{
    const struct probe probes[] = {{1000, 3000, 7000, 500}, {5000, 7100, 11000, 100}};
    struct clock_point point = clock_point_of(probes, 2);

    (void)state;
    assert_int_equal(point.at, 6050);
    assert_int_equal(point.offset_ns, 4950);
    assert_int_equal(point.error_ns, 1150);
}

/* A rank's own clock is not corrected. */
static void test_own_clock(void **state)
{
    struct clock_line line = {0};

    (void)state;
    assert_int_equal(clock_theirs(&line, 12345), 12345);
    assert_int_equal(clock_own(&line, 12345), 12345);
    assert_int_equal(clock_error_ns(&line, 12345), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_bad_point),
        cmocka_unit_test(test_error_of_theirs),
        cmocka_unit_test(test_own_clock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
