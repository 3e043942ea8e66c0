/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm within the node and verbs between nodes: four ranks of this process on two nodes, whose card
 * is a device made of memory.
 */
#include "soft_ranks.h"

#include <poll.h>
#include <string.h>

#include "transport/shm_verbs/shm_verbs.h"

#define RANKS 4

static const uint64_t nodes[RANKS] = {1, 2, 1, 2};

static bool are_near(int a, int b)
{
    return nodes[a] == nodes[b];
}

static void open_all(struct side sides[RANKS])
{
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(open_side_on(&sides[r], r, RANKS, nodes), NCOLL_OK);
        assert_int_equal(make_window(&sides[r], 0), NCOLL_OK);
    }
    for (int a = 0; a < RANKS; a++)
        for (int b = 0; b < a; b++)
            connect_sides(&sides[a], &sides[b], SLOTS * EPOCHS);
    for (int a = 0; a < RANKS; a++)
        for (int b = 0; b < a; b++)
            admit_sides(&sides[a], &sides[b]);
}

static void close_all(struct side sides[RANKS])
{
    for (int r = 0; r < RANKS; r++)
        close_side(&sides[r]);
}

/* Slot q of each rank gets what rank q has in scratch. */
static void send_to_all(struct side sides[RANKS], int from, size_t len)
{
    struct side *s = &sides[from];

    memset(scratch_of(s, 1), 'a' + from, len);
    for (int to = 0; to < RANKS; to++)
        if (to != from)
            assert_int_equal(send_one(s, to, (unsigned)from, len), NCOLL_OK);
}

static const unsigned char *landed(const struct window *w, unsigned slot, size_t len)
{
    return len <= SLOT_PAYLOAD ? window_slot(w, 1, slot)->payload
                               : w->bulk + 1 % EPOCHS * w->shape.bulk_bytes;
}

static void test_put(void **state)
{
    static const size_t lens[] = {0, 8, SLOT_PAYLOAD, 1000};
    struct side sides[RANKS];

    (void)state;
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        open_all(sides);
        for (int from = 0; from < RANKS; from++) {
            send_to_all(sides, from, lens[i]);
            for (int to = 0; to < RANKS; to++) {
                struct side *s = &sides[to];
                if (to == from)
                    continue;
                /* The flag of a message from another node rises in progress() only. */
                assert_int_equal(window_raised(s->window, 1, (unsigned)from), are_near(from, to));
                s->ops->progress(s->t);
                assert_true(window_raised(s->window, 1, (unsigned)from));
                const unsigned char *bytes = landed(s->window, (unsigned)from, lens[i]);
                assert_true(lens[i] == 0 ||
                            (bytes[0] == 'a' + from && bytes[lens[i] - 1] == 'a' + from));
            }
        }
        expect_no_overrun();
        close_all(sides);
    }
}

static void test_credits(void **state)
{
    struct side sides[RANKS];

    (void)state;
    open_all(sides);
    for (int from = 0; from < RANKS; from++)
        for (int to = 0; to < RANKS; to++) {
            struct side *s = &sides[from];
            if (to == from)
                continue;
            struct endpoint *peer = s->ops->endpoint(s->t, to);
            assert_int_equal(peer->by->ops->credit(peer->by, peer, s->window, 5), NCOLL_OK);
            sides[to].ops->progress(sides[to].t);
            assert_int_equal(atomic_load(&sides[to].window->credits[from]), 5);
        }
    close_all(sides);
}

/* Allocated memory is advertised to both sides, registered memory over verbs only. */
static void test_memory(void **state)
{
    static unsigned char mine[8192];
    struct side sides[RANKS];
    struct memory *memory[2];

    (void)state;
    open_all(sides);
    struct side *s = &sides[0];
    assert_int_equal(s->ops->memory_allocate(s->t, 8192, &memory[0]), NCOLL_OK);
    assert_int_equal(s->ops->memory_register(s->t, mine, sizeof mine, &memory[1]), NCOLL_OK);
    for (int m = 0; m < 2; m++)
        for (int to = 1; to < RANKS; to++) {
            const struct side *peer = &sides[to];
            struct advertisement advertisement = {
                .epoch = 1, .signature = {7, 7}, .epochs = 1, .count = 1, .placed = {3}};
            struct endpoint *theirs = s->ops->endpoint(s->t, to);
            struct put put = {.to = peer->ops->endpoint(peer->t, 0),
                              .window = peer->window,
                              .epoch = 1,
                              .signature = {7, 7},
                              .slot = 3,
                              .src = scratch_of(peer, 1),
                              .len_bytes = 1000,
                              .route = ROUTE_PLACED,
                              .advertisement = &advertisement};
            bool advertises = m == 0 || !are_near(0, to);
            assert_int_equal(theirs->by->ops->advertise(theirs->by, theirs, s->window, 0, memory[m],
                                                        memory[m]->base, &advertisement),
                             NCOLL_OK);
            assert_int_equal(advertisement.out.words[0] != 0, advertises);
            if (!advertises)
                continue;
            memset(scratch_of(peer, 1), 'a' + to, 1000);
            assert_int_equal(put.to->by->ops->put(put.to->by, &put), NCOLL_OK);
            s->ops->progress(s->t);
            assert_int_equal(window_slot(s->window, 1, 3)->route, ROUTE_PLACED);
            assert_int_equal(memory[m]->base[999], 'a' + to);
        }
    for (int m = 0; m < 2; m++)
        s->ops->memory_release(s->t, memory[m]);
    close_all(sides);
}

/* A rank that sleeps is woken from either side: by its bell, or by the channel. */
static void test_wake(void **state)
{
    struct side sides[RANKS];

    (void)state;
    open_all(sides);
    for (int from = 1; from < RANKS; from++) {
        struct side *s = &sides[0];
        struct shm_verbs *m = shm_verbs_of(s->t);
        struct shm *near = (struct shm *)m->shm;
        const struct awaited awaited = {1, (unsigned)from, NULL};

        assert_true(ncoll__shm_fall_asleep(near, s->window, &awaited, 1));
        ncoll__verbs_sleep(verbs_of(m->verbs), near->bell[0], 1); /* arms the queue */
        assert_int_equal(send_one(&sides[from], 0, (unsigned)from, 8), NCOLL_OK);
        struct pollfd bell = {.fd = near->bell[0], .events = POLLIN};
        assert_int_equal(poll(&bell, 1, 0), are_near(0, from));
        assert_int_equal(soft_wakes(verbs_of(m->verbs)->cq), !are_near(0, from));
        ncoll__shm_awake(near);
        assert_int_equal(poll(&bell, 1, 0), 0);
        s->ops->progress(s->t);
        /* A rank does not sleep for a message that has come already. */
        assert_false(ncoll__shm_fall_asleep(near, s->window, &awaited, 1));
        ncoll__shm_awake(near);
    }
    close_all(sides);
}

static void test_sleep(void **state)
{
    struct side sides[RANKS];

    (void)state;
    open_all(sides);
    expect_sleep(&sides[0]);
    close_all(sides);
}

/* A neighbour sees what comes to rank 0 from another node when rank 0 has taken note of it, and
 * then at once, in slot or bulk memory; if it sleeps for that it is woken, by that alone. */
static void test_neighbour(void **state)
{
    static const size_t lens[] = {8, 1000};
    struct side sides[RANKS];
    struct window_view view;

    (void)state;
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        open_all(sides);
        struct side *receiver = &sides[0], *other = &sides[1], *looks = &sides[2];
        struct shm *near = (struct shm *)shm_verbs_of(looks->t)->shm;
        struct pollfd bell = {.fd = near->bell[0], .events = POLLIN};
        const struct transport_ops *ops = looks->ops;

        assert_true(looks->t->shares_windows);
        assert_false(ops->view(looks->t, ops->endpoint(looks->t, 1), looks->window, &view));
        assert_true(ops->view(looks->t, ops->endpoint(looks->t, 0), looks->window, &view));
        const struct slot *slot = &view.slots[slot_index(1, 1)];
        const struct awaited awaited = {1, NO_SLOT, &slot->flag};
        assert_true(ncoll__shm_fall_asleep(near, looks->window, &awaited, 1));
        memset(scratch_of(other, 1), 'x', lens[i]);
        assert_int_equal(send_one(other, 0, 1, lens[i]), NCOLL_OK);
        assert_int_equal(send_one(receiver, 2, 0, 8), NCOLL_OK); /* not what it sleeps for */
        receiver->ops->wake_watchers(receiver->t);
        assert_int_equal(poll(&bell, 1, 0), 1); /* it looks, and finds nothing yet */
        assert_false(awaited_raised(looks->window, &awaited));
        ncoll__shm_awake(near);
        assert_true(ncoll__shm_fall_asleep(near, looks->window, &awaited, 1));
        assert_int_equal(send_one(receiver, 2, 3, 8), NCOLL_OK);
        assert_int_equal(poll(&bell, 1, 0), 0);
        receiver->ops->progress(receiver->t);
        assert_true(awaited_raised(looks->window, &awaited));
        receiver->ops->wake_watchers(receiver->t);
        assert_int_equal(poll(&bell, 1, 0), 1);
        ncoll__shm_awake(near);
        const unsigned char *bytes =
            lens[i] <= SLOT_PAYLOAD ? slot->payload : view.bulk + looks->window->shape.bulk_bytes;
        assert_true(bytes[0] == 'x' && bytes[lens[i] - 1] == 'x');
        assert_false(ncoll__shm_fall_asleep(near, looks->window, &awaited, 1));
        ncoll__shm_awake(near);
        close_all(sides);
    }
}

/* Without the queue and the queue pair by which a device is examined, and without an answer whether
 * queues can be resized, the transport goes on. */
#define TOLERATED 3u

static void test_shortage(void **state)
{
    unsigned tolerated = 0;
    struct side s;

    (void)state;
    for (unsigned at = 1;; at++) {
        soft_reset();
        soft.fail_at = at;
        int rc = open_side_on(&s, 0, RANKS, nodes);
        if (rc == NCOLL_OK)
            rc = make_window(&s, 0);
        close_side(&s);
        assert_int_equal(soft.objects, 0);
        if (soft.made < at)
            break; /* there was nothing left to fail */
        assert_true(rc == NCOLL_OK || s.error[0] != 0);
        tolerated += rc == NCOLL_OK;
    }
    assert_true(tolerated <= TOLERATED);
}

/* What each says to each, over either transport. */
static void say(void *arg, int rank, struct farewell *out)
{
    const struct side *s = arg;

    out->n_groups = 1;
    out->sum = (uint64_t)(s->rank * 10 + rank);
}

/* Each rank hears those that have left before it, and of no two neither. */
static void test_farewell(void **state)
{
    struct side sides[RANKS];
    struct farewell farewell;

    (void)state;
    open_all(sides);
    for (int a = 0; a < RANKS; a++) {
        struct side *s = &sides[a];
        if (a < RANKS - 1)
            s->ops->leave(s->t, say, s);
        else /* without a word */
            s->ops->leave(s->t, NULL, NULL);
        for (int b = 0; b < RANKS; b++) {
            if (b == a)
                continue;
            struct endpoint *peer = s->ops->endpoint(s->t, b);
            bool heard = peer->by->ops->farewell(peer->by, peer, &farewell);
            assert_int_equal(heard, b < a);
            if (heard)
                assert_int_equal(farewell.sum, b * 10 + a);
        }
    }
    close_all(sides);
}

/* One that says nothing has left all the same. */
static void test_silent_farewell(void **state)
{
    struct side sides[RANKS];
    struct farewell farewell;

    (void)state;
    open_all(sides);
    sides[0].ops->leave(sides[0].t, NULL, NULL);
    for (int r = 1; r < RANKS; r++) {
        struct side *s = &sides[r];
        s->ops->progress(s->t);
        struct endpoint *peer = s->ops->endpoint(s->t, 0);
        assert_true(peer->by->ops->farewell(peer->by, peer, &farewell));
        assert_int_equal(farewell.n_groups, 0);
    }
    close_all(sides);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, nothing_left)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_put),      TEST(test_credits),  TEST(test_memory),
        TEST(test_wake),     TEST(test_sleep),    TEST(test_neighbour),
        TEST(test_shortage), TEST(test_farewell), TEST(test_silent_farewell),
    };

    return cmocka_run_group_tests_name("shm_verbs", tests, NULL, NULL);
}
