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

/* The shares of a device's usual limits; completions: those of software RoCE are fewer. */
static struct rooms divide(unsigned ranks, unsigned completions, bool many)
{
    const struct room_limits limits = {
        .receives = 32768, .completions = completions, .many_queues = many};
    struct rooms rooms;

    ncoll__rooms_divide(ranks, &limits, &rooms);
    return rooms;
}

/* Connects up to n peers. Returns how many; no queue is dealt out twice. */
static unsigned connect(struct rooms *r, unsigned n)
{
    unsigned connected = 0, queues = r->n_queues, here = r->taken;
    unsigned receives = r->receives.taken, sends = r->sends.taken;
    unsigned most = ncoll__rooms_completions(r);
    struct share share;

    for (; connected < n && ncoll__rooms_take(r, 264, &share); connected++) {
        here = r->n_queues > queues ? 0 : here;
        queues = r->n_queues;
        here += share.receives;
        receives += share.receives;
        sends += share.sends;
        assert_true(here == r->taken && here <= r->places && queues <= QUEUES_MOST);
        assert_true(receives == r->receives.taken && receives <= r->receives.places);
        assert_true(sends == r->sends.taken && sends <= r->sends.places);
        assert_true(share.receives >= 15 && share.sends >= 16);
    }
    assert_true(receives + (r->grows ? QUEUES_MOST : 1) * 16 + sends <= most);
    return connected;
}

/* All ranks of a job get the minimum if there is that much for all of them, however many queues it
 * is in. */
static void test_full_mesh(void **state)
{
    static const unsigned completions[] = {1 << 22, 32767};

    (void)state;
    for (unsigned ranks = 2; ranks < 5000; ranks += ranks < 200 ? 1 : 61)
        for (unsigned i = 0; i < 4; i++) {
            struct rooms rooms = divide(ranks, completions[i / 2], i % 2 != 0);
            unsigned fit = i < 2 ? 2183 : 1022; /* also with several queues */
            unsigned n = connect(&rooms, ranks - 1);
            if (n < ranks - 1 && ranks - 1 <= fit)
                fail_msg("%u ranks: %u connected, %u fit", ranks, n, fit);
        }
}

/* A rank that connects few of very many has short queues. */
static void test_few_of_many(void **state)
{
    struct rooms rooms = divide(1 << 20, 1 << 22, true);

    (void)state;
    assert_int_equal(connect(&rooms, 100), 100);
    assert_int_equal(rooms.n_queues, 1);
    assert_true(rooms.sends.taken < 100 * 32);
    assert_true(connect(&rooms, 1 << 20) > 300);
}

static void test_nothing_is_taken(void **state)
{
    struct rooms rooms = divide(3000, 1 << 22, true);
    struct share share;

    (void)state;
    connect(&rooms, 3000);
    struct rooms before = rooms;
    assert_false(ncoll__rooms_take(&rooms, 264, &share));
    assert_memory_equal(&before, &rooms, sizeof before);
}

static void test_completions(void **state)
{
    (void)state;
    assert_int_equal(ncoll__completions_grown(2048, 2047), 2558);
    assert_int_equal(ncoll__completions_grown(5000, 2047), 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),       cmocka_unit_test(test_all_get_the_least),
        cmocka_unit_test(test_huge),        cmocka_unit_test(test_full_mesh),
        cmocka_unit_test(test_few_of_many), cmocka_unit_test(test_nothing_is_taken),
        cmocka_unit_test(test_completions),
    };

    return cmocka_run_group_tests_name("room", tests, NULL, NULL);
}
