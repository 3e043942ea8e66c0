/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies to other cores: every byte arrives whichever way is taken, and the cheaper way is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/support/seed.h"
#include "transport/push.h"

#define ROOM    ((size_t)1 << 17)
#define COPIES  2000
#define GUARD   64
#define KIB     1024
#define DEAR    1600 /* ticks for a KiB */
#define CHEAP   100
#define SETTLED 300 /* copies after which the choice has been made */

static unsigned char from[ROOM + GUARD], to[ROOM + 3 * GUARD];

/* Lengths, and both addresses, are at random; bytes around the copy stay. */
static void test_every_byte_arrives(void **state)
{
    struct random random = random_stream(test_seed(), 0);
    struct pushes pushes = {0};

    (void)state;
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)random_below(&random, 256);
    for (unsigned i = 0; i < COPIES; i++) {
        size_t len = STRING_BYTES + random_below(&random, i % 8 == 0 ? ROOM - STRING_BYTES : 5000);
        size_t at = GUARD + random_below(&random, GUARD), source = random_below(&random, GUARD);
        memset(to, 0xa5, at + len + GUARD);
        push_for(&pushes, len)->copies = i / 2 % 2; /* both ways in turn */
        ncoll__push(&pushes, ncoll__moves_strings() && i % 2 == 0, to + at, from + source, len);
        assert_memory_equal(to + at, from + source, len);
        for (size_t k = 1; k <= GUARD; k++) {
            assert_int_equal(to[at - k], 0xa5);
            assert_int_equal(to[at + len + k - 1], 0xa5);
        }
    }
}

/* The number of copies of the last SETTLED that were streamed, if both ways cost so much. */
static unsigned streamed(struct push *p, unsigned cached, unsigned streaming)
{
    unsigned count = 0;

    for (unsigned i = 0; i < 2 * SETTLED; i++) {
        bool streams = ncoll__push_streams(p);
        count += i >= SETTLED && streams;
        ncoll__push_note(p, streams, streams ? streaming : cached, KIB);
    }
    return count;
}

static void test_the_cheaper_way_is_found(void **state)
{
    struct push p = {0};

    (void)state;
    assert_true(streamed(&p, DEAR, CHEAP) >= SETTLED * 98 / 100);
    p = (struct push){0};
    assert_true(streamed(&p, CHEAP, DEAR) <= SETTLED * 2 / 100);
    p = (struct push){0};
    assert_true(streamed(&p, CHEAP * 3 / 2, CHEAP) <= SETTLED * 2 / 100); /* not worth it */
}

static void test_the_way_changes_when_a_rank_moves(void **state)
{
    struct push p = {0};

    (void)state;
    assert_true(streamed(&p, CHEAP, CHEAP) <= SETTLED * 2 / 100);
    assert_true(streamed(&p, DEAR, CHEAP) >= SETTLED * 98 / 100);
    assert_true(streamed(&p, CHEAP, CHEAP) <= SETTLED * 2 / 100);
}

/* A rank that loses its core in the middle of a copy. */
static void test_one_slow_copy_changes_nothing(void **state)
{
    struct push p = {0};

    (void)state;
    streamed(&p, DEAR, CHEAP);
    ncoll__push_note(&p, true, 10000000, KIB);
    assert_true(streamed(&p, DEAR, CHEAP) >= SETTLED * 98 / 100);
    p = (struct push){0};
    streamed(&p, CHEAP, CHEAP);
    ncoll__push_note(&p, false, 10000000, KIB);
    assert_false(p.cached / 2 > p.streamed);
}

static void test_lengths_have_their_own_costs(void **state)
{
    struct pushes p = {0};

    (void)state;
    assert_ptr_equal(push_for(&p, STRING_BYTES), &p.by_size[0]);
    assert_ptr_equal(push_for(&p, 2 * STRING_BYTES - 1), &p.by_size[0]);
    assert_ptr_equal(push_for(&p, 2 * STRING_BYTES), &p.by_size[1]);
    assert_ptr_equal(push_for(&p, (size_t)1 << 40), &p.by_size[PUSH_SIZES - 1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_byte_arrives),
        cmocka_unit_test(test_the_cheaper_way_is_found),
        cmocka_unit_test(test_the_way_changes_when_a_rank_moves),
        cmocka_unit_test(test_one_slow_copy_changes_nothing),
        cmocka_unit_test(test_lengths_have_their_own_costs),
    };

    return cmocka_run_group_tests_name("push", tests, NULL, NULL);
}
