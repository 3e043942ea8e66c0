/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shared receive queues of a rank, over a device made of memory: one in a small job, several in a
 * large one, each with all that its connections can have in flight.
 */
#include "soft_ranks.h"

#include <string.h>

#include "transport/verbs/post.h"

#define RANKS 1000

/* Offers connections to ranks from `peer` on until the rank has n queues. Returns the next rank. */
static int fill(struct side *s, int peer, unsigned n)
{
    struct offer out;

    while (verbs_of(s->t)->n_queues < n)
        if (peer >= s->ranks || offer(s, peer++, DEPTH, &out) != NCOLL_OK)
            fail_msg("peer %d: %s", peer, s->error);
    return peer;
}

static void open_first(struct side *s, int ranks)
{
    assert_int_equal(open_side(s, 0, ranks), NCOLL_OK);
    assert_int_equal(make_window(s, 0), NCOLL_OK);
}

/* A small job has one queue, which is long enough for all that peers may wish, and long send queues. */
static void test_small_job(void **state)
{
    static const struct {
        int ranks;
        unsigned receives;
    } jobs[] = {{2, 264}, {16, 3960}, {100, 26136}, {128, RECEIVES_MAX - RECEIVE_BATCH}};

    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        struct side s;
        struct offer out;
        open_first(&s, jobs[i].ranks);
        struct verbs *v = verbs_of(s.t);
        assert_int_equal(v->rooms.places, jobs[i].receives);
        for (int peer = 1; peer < s.ranks; peer++) {
            assert_int_equal(offer(&s, peer, DEPTH, &out), NCOLL_OK);
            assert_int_equal(v->by_rank[peer]->send_depth, SEND_DEPTH);
            assert_true(peer > 64 || v->by_rank[peer]->allowed == UNCONFIRMED_MAX);
        }
        assert_int_equal(v->n_queues, 1);
        expect_receives(&s);
        close_side(&s);
    }
}

/* A large one begins with a short queue. The next ones are made when they are needed. */
static void test_large_job(void **state)
{
    struct side s;
    struct offer out;

    (void)state;
    open_first(&s, RANKS);
    struct verbs *v = verbs_of(s.t);
    assert_int_equal(v->rooms.places, FIRST_RECEIVES - RECEIVE_BATCH);
    assert_int_equal(fill(&s, 1, 2), 102);
    assert_true(v->by_rank[1]->allowed > 100 && v->by_rank[1]->send_depth == SEND_DEPTH);
    assert_int_equal(v->by_rank[50]->send_depth, SEND_LEAST);
    assert_int_equal(v->by_rank[100]->queue, 0);
    assert_int_equal(v->by_rank[101]->queue, 1);
    for (int peer = 102; peer < RANKS; peer++)
        assert_int_equal(offer(&s, peer, DEPTH, &out), NCOLL_OK);
    assert_in_range(v->n_queues, 4, QUEUES_MOST);
    expect_receives(&s);
    close_side(&s);
}

/* A device that has few such queues, which its ranks share, gives each rank one. */
static void test_few_queues(void **state)
{
    struct side s;

    (void)state;
    for (soft.max_srq = 1; soft.max_srq < SRQS_MANY; soft.max_srq += 511) {
        open_first(&s, RANKS);
        assert_int_equal(verbs_of(s.t)->rooms.places, RECEIVES_MAX - RECEIVE_BATCH);
        struct offer out;
        for (int peer = 1; peer < RANKS; peer++)
            assert_int_equal(offer(&s, peer, DEPTH, &out), NCOLL_OK);
        assert_int_equal(verbs_of(s.t)->n_queues, 1);
        expect_receives(&s);
        close_side(&s);
    }
}

/* One peer of each queue sends all that it may, until all has come. */
static void test_floods(void **state)
{
    struct side to, from[QUEUES_MOST];
    unsigned sent[QUEUES_MOST] = {0}, n = QUEUES_MOST - 1, left = n * SLOTS * EPOCHS;
    int peer = 1;

    (void)state;
    open_first(&to, 2500); /* which do not all fit, so that all queues are filled */
    struct verbs *v = verbs_of(to.t);
    for (unsigned i = 0; i < n; i++) {
        peer = fill(&to, peer, i + 1);
        assert_int_equal(open_side(&from[i], peer++, to.ranks), NCOLL_OK);
        assert_int_equal(make_window(&from[i], 0), NCOLL_OK);
        connect_sides(&from[i], &to, SLOTS * EPOCHS);
        admit_sides(&from[i], &to);
        assert_int_equal(v->by_rank[peer - 1]->queue, i);
    }
    while (left > 0) {
        for (unsigned i = 0; i < n; i++) {
            while (sent[i] < SLOTS * EPOCHS && send_one(&from[i], 0, sent[i], 8) == NCOLL_OK) {
                sent[i]++;
                left--;
            }
            from[i].ops->progress(from[i].t);
        }
        to.ops->progress(to.t);
        for (unsigned i = 0; i < n; i++) /* confirmations */
            from[i].ops->progress(from[i].t);
    }
    expect_no_overrun();
    assert_true(v->receives_used < RECEIVE_BATCH);
    for (unsigned i = 0; i < n; i++)
        close_side(&from[i]);
    to.ops->progress(to.t);
    ncoll__receives_refill(v);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(v->queue_used[i], 0);
    expect_receives(&to);
    close_side(&to);
}

/* If another queue, or anything else of the connection that begins it, cannot be made, there is an
 * error, and the next try works. */
static void test_next_queue_fails(void **state)
{
    struct side s;
    struct offer out;
    bool failed = true;

    (void)state;
    for (unsigned at = 1; failed; at++) {
        soft_reset();
        open_first(&s, RANKS);
        struct verbs *v = verbs_of(s.t);
        int peer = 1;
        while (v->rooms.places - v->rooms.taken >= v->rooms.receives.least)
            assert_int_equal(offer(&s, peer++, DEPTH, &out), NCOLL_OK);
        assert_int_equal(v->n_queues, 1);
        struct rooms before = v->rooms;
        soft.fail_at = soft.made + at;
        failed = offer(&s, peer, DEPTH, &out) != NCOLL_OK;
        assert_true(!failed || v->by_rank[peer] != NULL ||
                    memcmp(&before, &v->rooms, sizeof before) == 0);
        assert_int_equal(offer(&s, peer, DEPTH, &out), NCOLL_OK);
        assert_int_equal(v->n_queues, 2);
        assert_int_equal(v->by_rank[peer]->queue, 1);
        expect_receives(&s);
        close_side(&s);
        assert_int_equal(soft.objects, 0);
        failed |= soft.made >= soft.fail_at;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_small_job, fresh, nothing_left),
        cmocka_unit_test_setup_teardown(test_large_job, fresh, nothing_left),
        cmocka_unit_test_setup_teardown(test_few_queues, fresh, nothing_left),
        cmocka_unit_test_setup_teardown(test_floods, fresh, nothing_left),
        cmocka_unit_test_setup_teardown(test_next_queue_fails, fresh, nothing_left),
    };

    return cmocka_run_group_tests_name("queues", tests, NULL, NULL);
}
