/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of a window the device knows, and words that have no data: over a device made of memory,
 * which checks every key.
 */
#include "soft_ranks.h"

#include <string.h>

#include "transport/verbs/post.h"

static size_t pinned(const struct side *s)
{
    struct transport_counters counters;

    s->ops->counters(s->t, &counters);
    return counters.pinned_bytes;
}

/* A window is known to the device as far as plans use it. Its peers can put there when they have been
 * told the keys, and not before. */
static void test_keys(void **state)
{
    struct side sides[2], *from = &sides[0], *to = &sides[1];
    const struct window_extent first =
        ncoll__extent_first(&(struct window_shape){.ranks = 2, .n_slots = 64});
    const struct window_extent more = {first.slots + 1, 0, 0}, longs = {1, 1000, 0},
                               own = {1, 0, 1000};

    (void)state;
    for (int r = 0; r < 2; r++) {
        assert_int_equal(open_side(&sides[r], r, 2), NCOLL_OK);
        assert_int_equal(make_window(&sides[r], 0), NCOLL_OK);
    }
    connect_sides(from, to, SLOTS * EPOCHS);
    size_t before = pinned(to);
    assert_true(before < SLOTS * EPOCHS * SLOT_BYTES);
    assert_int_equal(send_one(from, 1, first.slots - 1, 8), NCOLL_OK);
    assert_int_equal(send_one(from, 1, first.slots, 8), NCOLL_TIMEOUT);
    assert_int_equal(from->ops->extend(from->t, from->window, &own), NCOLL_OK);
    assert_int_equal(send_one(from, 1, 0, 1000), NCOLL_TIMEOUT);
    assert_int_equal(to->ops->extend(to->t, to->window, &more), NCOLL_OK);
    assert_int_equal(to->ops->extend(to->t, to->window, &longs), NCOLL_OK);
    assert_true(pinned(to) > before);
    from->ops->progress(from->t);
    assert_int_equal(send_one(from, 1, first.slots, 8), NCOLL_TIMEOUT); /* not told yet */
    to->ops->admit(to->t, to->window, 0);
    from->ops->progress(from->t);
    assert_int_equal(send_one(from, 1, first.slots, 8), NCOLL_OK);
    memset(scratch_of(from, 1), 'k', 1000);
    assert_int_equal(send_one(from, 1, 0, 1000), NCOLL_OK);
    to->ops->progress(to->t);
    assert_true(window_raised(to->window, 1, first.slots) && window_raised(to->window, 1, 0));
    assert_int_equal(to->window->bulk[1 % EPOCHS * 4096 + 999], 'k');
    unsigned sends = soft.sends;
    to->ops->admit(to->t, to->window, 0); /* there is nothing to tell */
    assert_int_equal(soft.sends, sends);
    close_side(from);
    close_side(to);
}

/* Keys of several windows, which share a place in the inbox, and a full queue on their way. */
static void test_keys_of_many_windows(void **state)
{
    struct window *windows[2][8];
    struct side sides[2];
    const struct window_extent all = {SLOTS, 4096, 4096};

    (void)state;
    pair(sides, 2, DEPTH);
    for (unsigned id = 1; id <= 8; id++) {
        for (int r = 0; r < 2; r++) {
            assert_int_equal(make_window(&sides[r], id), NCOLL_OK);
            windows[r][id - 1] = sides[r].window;
            assert_int_equal(sides[r].ops->extend(sides[r].t, sides[r].window, &all), NCOLL_OK);
        }
        connect_sides(&sides[0], &sides[1], DEPTH);
    }
    struct connection *c = connection(&sides[1], 0);
    while (send_room(c) > 0)
        assert_true(ncoll__verbs_word(verbs_of(sides[1].t), c, WORD_RAW, 0, NULL, 0, 0));
    for (unsigned id = 1; id <= 8; id++)
        sides[1].ops->admit(sides[1].t, windows[1][id - 1], 0);
    for (int i = 0; i < 40; i++)
        sides[i % 2].ops->progress(sides[i % 2].t);
    for (unsigned id = 1; id <= 8; id++) {
        sides[0].window = windows[0][id - 1];
        assert_int_equal(send_one(&sides[0], 1, SLOTS - 1, 1000), NCOLL_OK);
        sides[1].ops->progress(sides[1].t);
        for (unsigned i = 1; i <= 8; i++)
            assert_int_equal(window_raised(windows[1][i - 1], 1, SLOTS - 1), i <= id);
    }
    assert_null(verbs_of(sides[0].t)->with_words);
    assert_null(verbs_of(sides[1].t)->with_words);
    expect_no_overrun();
    close_side(&sides[0]);
    close_side(&sides[1]);
}

/* Credits arrive as they were given, each in its window, however far apart they are. */
static void test_credits(void **state)
{
    static const uint64_t epochs[] = {1, 4, 5, 1028, 1029, 3000000, 3000004, UINT64_C(1) << 40};
    struct window *windows[2][2];
    struct side sides[2];

    (void)state;
    pair(sides, 2, DEPTH);
    for (int r = 0; r < 2; r++) {
        windows[r][0] = sides[r].window;
        assert_int_equal(make_window(&sides[r], 1), NCOLL_OK);
        windows[r][1] = sides[r].window;
    }
    connect_sides(&sides[0], &sides[1], DEPTH);
    const struct transport_ops *ops = sides[0].ops;
    for (size_t i = 0; i < sizeof epochs / sizeof epochs[0]; i++)
        for (int w = 0; w < 2; w++) {
            uint64_t epoch = epochs[i] + (uint64_t)w;
            assert_int_equal(
                ops->credit(sides[0].t, ops->endpoint(sides[0].t, 1), windows[0][w], epoch),
                NCOLL_OK);
            ops->progress(sides[1].t);
            ops->progress(sides[0].t);
            assert_true(atomic_load(&windows[1][w]->credits[0]) == epoch);
        }
    assert_true(atomic_load(&windows[0][0]->credits[1]) == 0);
    /* A window of a later group begins anew, even if a rank has not looked since it was told that the
     * earlier one has no use any more: over shared memory beside the device. */
    assert_int_equal(ops->credit(sides[0].t, ops->endpoint(sides[0].t, 1), windows[0][1],
                                 epochs[sizeof epochs / sizeof epochs[0] - 1] + 2),
                     NCOLL_OK);
    for (int r = 0; r < 2; r++) {
        sides[r].ops->window_destroy(sides[r].t, windows[r][1], true);
        assert_int_equal(make_window(&sides[r], 1), NCOLL_OK);
    }
    connect_sides(&sides[0], &sides[1], DEPTH);
    assert_int_equal(ops->credit(sides[0].t, ops->endpoint(sides[0].t, 1), sides[0].window, 3),
                     NCOLL_OK);
    ops->progress(sides[1].t);
    assert_true(atomic_load(&sides[1].window->credits[0]) == 3);
    expect_no_overrun();
    close_side(&sides[0]);
    close_side(&sides[1]);
}

/* A peer that connects first may tell its keys before this rank knows that both can write. The answer
 * has to wait until then; without it the peer would never tell further keys. */
static void test_keys_before_ready(void **state)
{
    struct side sides[2], *early = &sides[0], *late = &sides[1];
    const struct window_extent slots = {SLOTS, 0, 0}, all = {SLOTS, 4096, 4096};
    struct offer to_early, to_late;

    (void)state;
    for (int r = 0; r < 2; r++) {
        assert_int_equal(open_side(&sides[r], r, 2), NCOLL_OK);
        assert_int_equal(make_window(&sides[r], 0), NCOLL_OK);
    }
    assert_int_equal(offer(early, 1, DEPTH, &to_late), NCOLL_OK);
    assert_int_equal(offer(late, 0, DEPTH, &to_early), NCOLL_OK);
    accept_from(early, late, &to_early);
    accept_from(late, early, &to_late);
    early->ops->met(early->t, 1);
    assert_int_equal(early->ops->extend(early->t, early->window, &slots), NCOLL_OK);
    early->ops->admit(early->t, early->window, 1);
    late->ops->progress(late->t);
    late->ops->progress(late->t);
    late->ops->met(late->t, 0);
    assert_int_equal(early->ops->extend(early->t, early->window, &all), NCOLL_OK);
    early->ops->admit(early->t, early->window, 1);
    for (int i = 0; i < 4; i++) {
        late->ops->progress(late->t);
        early->ops->progress(early->t);
    }
    assert_int_equal(late->ops->extend(late->t, late->window, &all), NCOLL_OK);
    assert_int_equal(send_one(late, 0, SLOTS - 1, 1000), NCOLL_OK);
    assert_null(verbs_of(late->t)->with_words);
    close_side(early);
    close_side(late);
}

/* Keys that are still to be told keep a window from being freed: its peer would take them for those of the
 * next window of that number. */
static void test_keys_before_the_end(void **state)
{
    struct window *windows[2][2];
    struct side sides[2], *teller = &sides[0], *other = &sides[1];
    const struct window_extent all = {SLOTS, 4096, 4096};

    (void)state;
    pair(sides, 2, DEPTH);
    for (unsigned i = 0; i < 2; i++) {
        for (int r = 0; r < 2; r++) {
            assert_int_equal(make_window(&sides[r], 1 + i), NCOLL_OK);
            windows[r][i] = sides[r].window;
        }
        connect_sides(&sides[0], &sides[1], DEPTH);
    }
    for (int i = 0; i < 2; i++) { /* the second one waits for the answer to the first one */
        assert_int_equal(teller->ops->extend(teller->t, windows[0][i], &all), NCOLL_OK);
        teller->ops->admit(teller->t, windows[0][i], 1);
    }
    for (int i = 0; i < 4; i++) {
        assert_false(teller->ops->arrived(teller->t, windows[0][1]));
        teller->ops->progress(teller->t);
    }
    bool arrived = false;
    for (int i = 0; i < 8 && !arrived; i++) {
        other->ops->progress(other->t);
        teller->ops->progress(teller->t);
        arrived = teller->ops->arrived(teller->t, windows[0][1]);
    }
    assert_true(arrived);
    for (int r = 0; r < 2; r++) {
        sides[r].ops->window_destroy(sides[r].t, windows[r][1], true);
        assert_int_equal(make_window(&sides[r], 2), NCOLL_OK);
    }
    connect_sides(&sides[0], &sides[1], DEPTH);
    for (int i = 0; i < 4; i++)
        sides[i % 2].ops->progress(sides[i % 2].t);
    assert_int_equal(other->ops->extend(other->t, other->window, &all), NCOLL_OK);
    assert_int_equal(send_one(other, 0, SLOTS - 1, 1000),
                     NCOLL_TIMEOUT); /* it has no keys for that */
    close_side(teller);
    close_side(other);
}

/* Ranks that are connected already may accept each other's windows at different times. A credit that
 * comes before its window is accepted counts afterwards. */
static void test_credit_before_accept(void **state)
{
    struct side sides[2], *early = &sides[0], *late = &sides[1];
    struct offer to_early, to_late;

    (void)state;
    pair(sides, 2, DEPTH);
    for (int r = 0; r < 2; r++)
        assert_int_equal(make_window(&sides[r], 1), NCOLL_OK);
    assert_int_equal(offer(early, 1, DEPTH, &to_late), NCOLL_OK);
    assert_int_equal(offer(late, 0, DEPTH, &to_early), NCOLL_OK);
    accept_from(early, late, &to_early);
    assert_int_equal(
        early->ops->credit(early->t, early->ops->endpoint(early->t, 1), early->window, 5),
        NCOLL_OK);
    late->ops->progress(late->t);
    accept_from(late, early, &to_late);
    assert_true(atomic_load(&late->window->credits[0]) == 5);
    assert_int_equal(
        early->ops->credit(early->t, early->ops->endpoint(early->t, 1), early->window, 7),
        NCOLL_OK);
    late->ops->progress(late->t);
    assert_true(atomic_load(&late->window->credits[0]) == 7);
    close_side(early);
    close_side(late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_keys),
        TEST(test_keys_of_many_windows),
        TEST(test_credits),
        TEST(test_keys_before_ready),
        TEST(test_keys_before_the_end),
        TEST(test_credit_before_accept),
    };

    return cmocka_run_group_tests_name("verbs_keys", tests, NULL, NULL);
}
