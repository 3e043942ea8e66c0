/* SPDX-License-Identifier: BSD-3-Clause */
/* How a queue is divided among peers. In a small job all peers get what they ask for. In a large
 * job the first peers do, and all others get enough. In a huge job the first peers still get
 * enough. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "transport/verbs/room.h"

#define WISH  265u
#define LEAST 16u

static struct room make(unsigned places, unsigned connections)
{
    return (struct room){.places = places, .to_come = connections, .least = LEAST};
}

static void test_small(void **state)
{
    (void)state;
    for (unsigned n = 1; n < 100; n++) {
        struct room room = make(n * WISH, n);
        for (unsigned i = 0; i < n; i++)
            assert_int_equal(ncoll__room_take(&room, WISH), WISH);
        assert_int_equal(ncoll__room_take(&room, WISH), 0);
    }
}

static void test_all_get_the_least(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 1000; n++) {
        struct room room = make(16384, n);
        for (unsigned i = 0; i < n; i++) {
            unsigned got = ncoll__room_take(&room, WISH);
            assert_in_range(got, LEAST, WISH);
            if (i < 20)
                assert_true(n > 400 || got == WISH);
        }
        assert_true(room.taken <= room.places);
    }
}

static void test_huge(void **state)
{
    struct room room = make(16384, 1000000);
    unsigned connections = 0;

    (void)state;
    for (unsigned i = 0; i < 20; i++, connections++)
        assert_int_equal(ncoll__room_take(&room, WISH), WISH);
    while (ncoll__room_take(&room, WISH) >= LEAST)
        connections++;
    assert_true(connections > 100 && room.taken <= room.places);
}

static void test_return(void **state)
{
    struct room room = make(100, 2);

    (void)state;
    unsigned got = ncoll__room_take(&room, WISH);
    ncoll__room_return(&room, got);
    assert_int_equal(room.taken, 0);
    assert_int_equal(ncoll__room_take(&room, WISH), got);
    ncoll__room_take(&room, WISH);
    assert_true(room.taken <= room.places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_all_get_the_least),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_return),
    };

    return cmocka_run_group_tests_name("room", tests, NULL, NULL);
}
