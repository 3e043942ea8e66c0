/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verbs transport over a device made of memory.
 */
#include "soft_ranks.h"

#include <stdio.h>
#include <string.h>

#include "transport/verbs/post.h"

/* ------------------------------------------------------------------ room ---------------------- */

/* A rank of a job of so many offers all others a connection for each of its groups. */
static void connect_all(int ranks, unsigned groups)
{
    struct side s;
    struct offer out;

    assert_int_equal(open_side(&s, 0, ranks), NCOLL_OK);
    for (unsigned id = 0; id < groups; id++) {
        assert_int_equal(make_window(&s, id), NCOLL_OK);
        for (int peer = 1; peer < ranks; peer++)
            if (offer(&s, peer, DEPTH, &out) != NCOLL_OK)
                fail_msg("%d ranks, group %u, peer %d: %s", ranks, id, peer, s.error);
    }
    expect_receives(&s);
    close_side(&s);
}

static void test_many_peers_and_groups(void **state)
{
    static const int ranks[] = {2, 17, 64, 300, 1000, 2000};

    (void)state;
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++)
        connect_all(ranks[i], 20);
}

/* The queues are as short as those of software RoCE. */
static void test_short_queues(void **state)
{
    (void)state;
    soft.max_cqe = 32767;
    connect_all(1000, 3);
    soft.max_srq_wr = 4096;
    connect_all(200, 20);
}

static void test_no_room(void **state)
{
    struct side s;
    struct offer out;
    int peer = 1;

    (void)state;
    soft.max_srq_wr = 512;
    assert_int_equal(open_side(&s, 0, 1000), NCOLL_OK);
    assert_int_equal(make_window(&s, 0), NCOLL_OK);
    while (offer(&s, peer, DEPTH, &out) == NCOLL_OK)
        peer++;
    assert_in_range(peer, 10, 60);
    assert_non_null(strstr(s.error, "has no room for more"));
    unsigned receives = soft.receives;
    assert_int_equal(offer(&s, peer, DEPTH, &out), NCOLL_ERR_RESOURCE);
    assert_int_equal(soft.receives, receives);
    close_side(&s);
}

/* In a job of many ranks a peer is allowed less. It sends no more than that, whatever the depth,
 * and whoever waits for more is woken by what confirms it. */
static void flood(int ranks)
{
    struct side sides[2], *from = &sides[0], *to = &sides[1];
    unsigned sent = 0, times = 0;

    pair(sides, ranks, SLOTS * EPOCHS);
    const struct connection *c = connection(from, 1);
    while (sent < SLOTS * EPOCHS) {
        int rc = send_one(from, 1, sent, sent % 300);
        sent += rc == NCOLL_OK;
        if (rc == NCOLL_OK)
            continue;
        assert_int_equal(rc, NCOLL_TIMEOUT);
        do /* until it would sleep */
            ncoll__verbs_sleep(verbs_of(from->t), -1, 1);
        while (!verbs_of(from->t)->armed || soft_wakes(verbs_of(from->t)->cq));
        if (c->sent - c->confirmed < c->may_send)
            continue; /* it was only the send queue */
        to->ops->progress(to->t);
        assert_true(soft_wakes(verbs_of(from->t)->cq));
        times++;
    }
    assert_true(times > 0);
    expect_no_overrun();
    close_side(from);
    close_side(to);
}

static void test_flood(void **state)
{
    (void)state;
    flood(2);
    flood(300);
    soft.max_srq_wr = 4096;
    soft.max_cqe = 8000;
    flood(240);
    soft.max_inline = 0;
    flood(240);
}

/* A sender that does not look is sent no more confirmations than it has receives for. */
static void test_confirmations(void **state)
{
    struct side sides[2];

    (void)state;
    for (unsigned allowed = UNCONFIRMED_LEAST; allowed <= 50; allowed++) {
        soft.max_srq_wr = (int)(allowed + WORDS_IN_FLIGHT + RECEIVE_BATCH);
        pair(sides, 2, SLOTS * EPOCHS);
        assert_int_equal(connection(&sides[0], 1)->may_send, allowed);
        const struct connection *c = connection(&sides[0], 1);
        unsigned before = soft.sends,
                 left = allowed - (c->sent - c->confirmed); /* after the keys */
        for (unsigned sent = 0; sent < left; sent++) {
            assert_int_equal(send_one(&sides[0], 1, sent, 8), NCOLL_OK);
            sides[1].ops->progress(sides[1].t);
        }
        assert_int_equal(send_one(&sides[0], 1, left, 8), NCOLL_TIMEOUT);
        assert_in_range(soft.sends - before - left, 3, 4);
        close_side(&sides[0]);
        close_side(&sides[1]);
    }
}

/* ------------------------------------------------------------------ failures ------------------ */

/* If anything cannot be made there is an error, nothing left over, and the next try works. */
static void test_each_failure(void **state)
{
    struct side s;
    struct offer out;
    bool failed = true;

    (void)state;
    for (unsigned at = 1; failed; at++) {
        soft_reset();
        soft.max_inline = 128; /* so that there is memory for copies */
        soft.fail_at = at;
        failed = false;
        while (open_side(&s, 0, 8) != NCOLL_OK)
            failed = true;
        while (make_window(&s, 0) != NCOLL_OK)
            failed = true;
        for (int peer = 1; peer < 8; peer++)
            while (offer(&s, peer, DEPTH, &out) != NCOLL_OK)
                failed = true;
        failed |= soft.made >= at; /* some failures it can do without */
        struct verbs *v = verbs_of(s.t);
        assert_int_equal(v->queues[0].need, 7 * (DEPTH + MORE_IN_FLIGHT + WORDS_IN_FLIGHT));
        expect_receives(&s);
        close_side(&s);
        assert_int_equal(soft.objects, 0);
    }
}

static void test_peer_and_port(void **state)
{
    struct side sides[2];

    (void)state;
    for (int down = 0; down < 2; down++) {
        pair(sides, 2, DEPTH);
        soft_cut(connection(&sides[0], 1)->qp->qp_num);
        soft.port = down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
        send_one(&sides[0], 1, 0, 8);
        sides[0].ops->progress(sides[0].t);
        assert_int_equal(sides[0].gone, 1);
        assert_non_null(strstr(sides[0].why, "retry"));
        assert_int_equal(strstr(sides[0].why, "this rank's own port is") != NULL, down);
        assert_int_equal(send_one(&sides[0], 1, 1, 8), NCOLL_ERR_PEER);
        soft.port = IBV_PORT_ACTIVE;
        close_side(&sides[0]);
        close_side(&sides[1]);
    }
}

static void test_device_fails(void **state)
{
    struct side sides[2];

    (void)state;
    pair(sides, 2, DEPTH);
    soft_report(IBV_EVENT_PORT_ERR); /* may come back */
    clock_ns += 1000 * MS;
    sides[1].ops->check(sides[1].t, -1);
    assert_int_equal(sides[1].gone, -1);
    soft_report(IBV_EVENT_DEVICE_FATAL);
    clock_ns += 1000 * MS;
    sides[1].ops->check(sides[1].t, -1);
    assert_int_equal(sides[1].gone, 1); /* itself */
    assert_non_null(strstr(sides[1].why, "soft0"));
    close_side(&sides[0]);
    close_side(&sides[1]);
}

/* Posting what was received fails: the rank is lost, and says so. */
static void test_refill_fails(void **state)
{
    struct side sides[2];

    (void)state;
    pair(sides, 2, SLOTS * EPOCHS);
    for (unsigned i = 0; i < RECEIVE_BATCH; i++)
        assert_int_equal(send_one(&sides[0], 1, i, 8), NCOLL_OK);
    soft.fail_at = soft.made + 1;
    sides[1].ops->progress(sides[1].t);
    assert_int_equal(sides[1].gone, 1);
    assert_non_null(strstr(sides[1].why, "receive queue"));
    close_side(&sides[0]);
    close_side(&sides[1]);
}

static void test_long_window(void **state)
{
    struct side s;
    static unsigned char memory[1 << 20];
    struct memory *m;

    (void)state;
    soft.max_mr_size = 30000;
    assert_int_equal(open_side(&s, 0, 2), NCOLL_OK);
    assert_int_equal(make_window(&s, 0), NCOLL_ERR_RESOURCE);
    assert_non_null(strstr(s.error, "can register, 30000"));
    assert_int_equal(s.ops->memory_register(s.t, memory, sizeof memory, &m), NCOLL_ERR_RESOURCE);
    assert_int_equal(s.ops->memory_register(s.t, memory, 5000, &m), NCOLL_OK);
    s.ops->memory_release(s.t, m);
    close_side(&s);
}

/* Allocated memory is registered with all of its segment, from the start of its first page: a huge
 * page can be kept from forked children as a whole only. */
static void test_whole_pages(void **state)
{
    struct memory *m;
    struct side s;

    (void)state;
    assert_int_equal(open_side(&s, 0, 2), NCOLL_OK);
    assert_int_equal(s.ops->memory_allocate(s.t, 5000, &m), NCOLL_OK);
    const struct verbs_memory *memory = (const struct verbs_memory *)m;
    assert_ptr_equal(memory->mr->addr, memory->segment.base);
    assert_int_equal(memory->mr->length, memory->segment.bytes);
    assert_true(m->base > (unsigned char *)memory->segment.base);
    s.ops->memory_release(s.t, m);
    close_side(&s);
}

/* A rank that leaves while its send queue is full says goodbye all the same. */
static void test_goodbye_finds_room(void **state)
{
    struct side sides[2];
    unsigned sent = 0;

    (void)state;
    pair(sides, 2, SLOTS * EPOCHS);
    struct connection *c = connection(&sides[0], 1);
    while (send_one(&sides[0], 1, sent, 8) == NCOLL_OK)
        sent++;
    while (send_room(c) > 0) /* the words' own room */
        assert_true(ncoll__verbs_word(verbs_of(sides[0].t), c, WORD_RAW, 0, NULL, 0, 0));
    soft.blind = 3;
    close_side(&sides[0]);
    sides[1].ops->progress(sides[1].t);
    assert_true(connection(&sides[1], 0)->left);
    expect_no_overrun();
    close_side(&sides[1]);
}

/* Each message raises its slot in the window that it is for, whatever their numbers at either end are
 * and wherever windows have come and gone. */
static void test_windows(void **state)
{
    struct window *windows[2][4];
    struct side sides[2];

    (void)state;
    pair(sides, 2, DEPTH);
    for (unsigned id = 1; id < 4; id++)
        for (int r = 0; r < 2; r++) {
            windows[r][id - 1] = sides[r].window;
            /* at one end another place than at the other */
            if (id == 2 && r == 1) {
                sides[1].ops->window_destroy(sides[1].t, windows[1][1], true);
                windows[1][1] = NULL;
            }
            assert_int_equal(make_window(&sides[r], id), NCOLL_OK);
        }
    connect_sides(&sides[0], &sides[1], DEPTH);
    admit_sides(&sides[0], &sides[1]);
    assert_int_equal(((struct verbs_window *)sides[0].window)->first, 3 * SLOTS);
    assert_int_equal(((struct verbs_window *)sides[1].window)->first, 2 * SLOTS);
    for (unsigned i = 0; i < SLOTS; i++) {
        assert_int_equal(send_one(&sides[0], 1, i, 8), NCOLL_OK);
        assert_int_equal(send_one(&sides[1], 0, i, 8), NCOLL_OK);
        for (int r = 0; r < 2; r++) {
            sides[r].ops->progress(sides[r].t);
            assert_true(window_raised(sides[r].window, 1, i));
            assert_false(window_raised(windows[r][0], 1, i));
            assert_false(window_raised(windows[r][2], 1, i));
        }
    }
    close_side(&sides[0]);
    close_side(&sides[1]);
}

/* ------------------------------------------------------------------ meeting ------------------- */

/* Opens two ranks, of which rank 0 has accepted the other's offer, and rank 1 not yet: it accepts
 * to_1. */
static void open_half(struct side sides[2], struct offer *to_1)
{
    struct offer to_0;

    for (int r = 0; r < 2; r++) {
        assert_int_equal(open_side(&sides[r], r, 2), NCOLL_OK);
        assert_int_equal(make_window(&sides[r], 0), NCOLL_OK);
    }
    assert_int_equal(offer(&sides[0], 1, DEPTH, to_1), NCOLL_OK);
    assert_int_equal(offer(&sides[1], 0, DEPTH, &to_0), NCOLL_OK);
    accept_from(&sides[0], &sides[1], &to_0);
}

/* A rank that has sent all, and left, before the other one knows that it can be written to. */
static void test_left_before_met(void **state)
{
    struct side sides[2];
    struct offer to_1;

    (void)state;
    open_half(sides, &to_1);
    accept_from(&sides[1], &sides[0], &to_1);
    sides[1].ops->met(sides[1].t, 0);
    assert_int_equal(send_one(&sides[1], 0, 0, 8), NCOLL_OK);
    close_side(&sides[1]);
    assert_null(connection(&sides[0], 1));
    assert_int_equal(sides[0].ops->ready(sides[0].t, (int[]){1}, 1), NCOLL_OK);
    assert_true(window_raised(sides[0].window, 1, 0));
    assert_non_null(connection(&sides[0], 1));
    assert_int_equal(send_one(&sides[0], 1, 0, 8), NCOLL_ERR_PEER);
    assert_int_equal(
        sides[0].ops->credit(sides[0].t, sides[0].ops->endpoint(sides[0].t, 1), sides[0].window, 1),
        NCOLL_ERR_PEER);
    assert_int_equal(sides[0].gone, -1);
    close_side(&sides[0]);
}

/* A connection that takes more than 2 s is logged, once, with both addresses. */
static void test_slow_connection(void **state)
{
    struct side sides[2];
    struct offer to_1;

    (void)state;
    open_half(sides, &to_1);
    for (unsigned tenths = 0; tenths < 50; tenths++, clock_ns += 100 * MS) {
        assert_int_equal(sides[0].ops->ready(sides[0].t, (int[]){1}, 1), NCOLL_TIMEOUT);
        assert_int_equal(sides[0].warnings, tenths >= 20);
    }
    assert_non_null(strstr(sides[0].warning,
                           "rank 1 has not been connected for 2.0 s: soft0 port 1, "
                           "10.0.0.1, to 10.0.0.1;"));
    accept_from(&sides[1], &sides[0], &to_1);
    close_side(&sides[0]);
    close_side(&sides[1]);
}

/* ------------------------------------------------------------------ the rest ------------------ */

/* Positions come round: what was long ago must not seem to lie ahead. */
static void test_positions_come_round(void **state)
{
    struct side sides[2];

    (void)state;
    pair(sides, 2, SLOTS * EPOCHS);
    struct connection *c = connection(&sides[0], 1);
    for (uint32_t at = 1; at <= 3; at++) { /* quarters of all positions */
        c->posted = c->completed = c->signalled = at << 30;
        for (unsigned i = 0; i < SEND_DEPTH / SIGNALS; i++)
            assert_int_equal(send_one(&sides[0], 1, i, 8), NCOLL_OK);
        for (int r = 0; r < 2; r++)
            sides[r].ops->progress(sides[r].t);
        assert_true(sides[0].ops->drained(sides[0].t, false));
    }
    unsigned sends = soft.sends;
    for (int look = 0; look < 2; look++) { /* the first sees that it has been alive */
        clock_ns += 1000 * MS;
        sides[0].ops->check(sides[0].t, -1);
    }
    assert_true(soft.sends > sends);
    close_side(&sides[0]);
    close_side(&sides[1]);
}

static void test_drained(void **state)
{
    struct side sides[2];

    (void)state;
    pair(sides, 2, SLOTS * EPOCHS);
    assert_true(sides[0].ops->drained(sides[0].t, false));
    assert_int_equal(send_one(&sides[0], 1, 0, 1000), NCOLL_OK);
    assert_true(sides[0].ops->drained(sides[0].t, true)); /* nothing of the user's */
    assert_false(sides[0].ops->drained(sides[0].t, false));
    sides[0].ops->progress(sides[0].t);
    assert_true(sides[0].ops->drained(sides[0].t, false));
    assert_int_equal(send_one(&sides[0], 1, 1, 1000), NCOLL_OK);
    assert_false(sides[0].ops->drained(sides[0].t, false));
    sides[0].ops->progress(sides[0].t);
    assert_true(sides[0].ops->drained(sides[0].t, false));
    assert_null(verbs_of(sides[0].t)->undrained);
    close_side(&sides[0]);
    close_side(&sides[1]);
}

static void test_sleep(void **state)
{
    struct side sides[2];

    (void)state;
    pair(sides, 2, DEPTH);
    expect_sleep(&sides[0]);
    close_side(&sides[0]);
    close_side(&sides[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_many_peers_and_groups),
        TEST(test_short_queues),
        TEST(test_no_room),
        TEST(test_flood),
        TEST(test_confirmations),
        TEST(test_each_failure),
        TEST(test_peer_and_port),
        TEST(test_device_fails),
        TEST(test_refill_fails),
        TEST(test_long_window),
        TEST(test_whole_pages),
        TEST(test_goodbye_finds_room),
        TEST(test_windows),
        TEST(test_left_before_met),
        TEST(test_slow_connection),
        TEST(test_positions_come_round),
        TEST(test_drained),
        TEST(test_sleep),
    };

    return cmocka_run_group_tests_name("verbs", tests, NULL, NULL);
}
