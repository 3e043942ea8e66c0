/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of what a rank learns of its peers over shm: that they have died or left, control words and
 * positions from them; and whom it refuses.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "shm_ranks.h"
#include "test/support/hang.h"

/* ------------------------------------------------------------------ peers that go away ------- */

static int lose_rank_2(struct side *side)
{
    const struct transport_ops *ops = side->transport->ops;
    int suspect = side->rank == 0 ? 2 : -1;

    if (side->rank == 2) {
        usleep(100000); /* the others are asleep by now */
        atomic_store(&side->meeting->stamp_ns, test_now_ns(NULL));
        raise(SIGKILL);
    }
    for (unsigned round = 0; side->gone_rank < 0; round++) {
        test_wait(side, 1, 2, round, 1000000000);
        ops->check(side->transport, suspect);
    }
    CHECK(side->gone_rank == 2 && side->gone_how == CONTROL_PEER_FAILED);
    CHECK(side->gone_ns - atomic_load(&side->meeting->stamp_ns) <
          HANG_FACTOR * UINT64_C(200000000));
    return 0;
}

static void test_death_is_noticed(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 3, false, lose_rank_2), 0);
}

/* A rank that becomes another program, which runs on, is as gone as one that has ended. */
static int turn_into_another_program(struct side *side)
{
    const struct transport_ops *ops = side->transport->ops;

    if (side->rank == 1) {
        usleep(100000);
        atomic_store(&side->meeting->stamp_ns, test_now_ns(NULL));
        execlp("sleep", "sleep", "5", NULL);
        return 1;
    }
    for (unsigned round = 0; side->gone_rank < 0; round++) {
        test_wait(side, 1, 1, round, 20000000);
        ops->check(side->transport, 1);
    }
    CHECK(side->gone_rank == 1 && side->gone_how == CONTROL_PEER_FAILED);
    CHECK(side->gone_ns - atomic_load(&side->meeting->stamp_ns) <
          UINT64_C(5000000000)); /* it runs */
    return 0;
}

static void test_exec_is_noticed(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 2, false, turn_into_another_program), 0);
}

/* Rank 1 sends a last message and leaves; it is missed only after that message was seen. */
static int leave_after_message(struct side *side)
{
    const struct transport_ops *ops = side->transport->ops;

    if (side->rank == 1) {
        CHECK(test_put(side, 0, 1, 0, "good", 4) == NCOLL_OK);
        ops->close(side->transport);
        side->transport = NULL;
        return 0;
    }
    for (unsigned round = 0; side->gone_rank < 0; round++) {
        test_wait(side, 2, 0, round, 1000000000);
        ops->check(side->transport, 1);
    }
    CHECK(side->gone_rank == 1 && side->gone_how == CONTROL_PEER_LEFT);
    CHECK(window_raised(side->window, 1, 0));
    CHECK(memcmp(window_slot(side->window, 1, 0)->payload, "good", 4) == 0);
    /* The window of one that has left can still be written to. */
    CHECK(test_put(side, 1, 1, 0, "late", 4) == NCOLL_OK);
    return 0;
}

static void test_leaving_is_not_dying(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 2, false, leave_after_message), 0);
    assert_int_equal(test_run(RANKS_ARE_THREADS, 2, false, leave_after_message), 0);
}

/* Rank 1 of two, which take turns, leaves before rank 0 has mapped its memory. It has mapped that of
 * rank 0, and sent what it had to, if it was connected itself. */
static int accept_one_that_has_left(bool was_connected, struct side sides[2])
{
    struct meeting *meeting = calloc(1, sizeof *meeting);

    assert_non_null(meeting);
    for (int r = 0; r < 2; r++) {
        sides[r] = (struct side){.rank = r, .ranks = 2, .meeting = meeting};
        assert_true(test_open(&sides[r]));
    }
    if (was_connected) {
        assert_int_equal(test_accept(&sides[1], 0, &meeting->described[0], &meeting->offered[0][1]),
                         NCOLL_OK);
        assert_int_equal(test_put(&sides[1], 0, 1, 0, "good", 4), NCOLL_OK);
    }
    sides[1].transport->ops->close(sides[1].transport);
    int rc = test_accept(&sides[0], 1, &meeting->described[1], &meeting->offered[1][0]);
    free(meeting);
    return rc;
}

static void test_one_that_has_left_is_connected(void **state)
{
    unsigned char room[64];
    struct side sides[2];
    struct window_view view;

    (void)state;
    assert_int_equal(accept_one_that_has_left(true, sides), NCOLL_OK);
    struct side *side = &sides[0];
    const struct transport_ops *ops = side->transport->ops;
    struct endpoint *left = test_endpoint(side, 1);
    assert_true(window_raised(side->window, 1, 0));
    assert_memory_equal(window_slot(side->window, 1, 0)->payload, "good", 4);
    /* A message to it goes nowhere, and nothing is read there. */
    static unsigned char message[TEST_BULK_BYTES];
    assert_int_equal(test_put(side, 1, 1, TEST_SLOTS - 1, "late", 4), NCOLL_OK);
    assert_int_equal(test_put(side, 1, 2, 0, message, sizeof message), NCOLL_OK);
    assert_int_equal(ops->credit(side->transport, left, side->window, 7), NCOLL_OK);
    assert_true(ops->view(side->transport, left, side->window, &view));
    const struct slot shown = {.route = ROUTE_PEER_READ};
    const unsigned char *found;
    assert_int_equal(ops->find(side->transport, left, side->window, &shown, 64, room, &found),
                     NCOLL_ERR_PEER);
    window_slot(side->window, 1, 0)->source.words[3] = (uintptr_t)room;
    assert_int_equal(ops->get(side->transport, left, side->window, 1, 0, 64, room), NCOLL_ERR_PEER);
    /* It is missed by a rank that waits for it. */
    ops->check(side->transport, 1);
    assert_true(side->gone_rank == 1 && side->gone_how == CONTROL_PEER_LEFT);
    ops->close(side->transport);
}

static void test_one_that_was_not_connected_has_failed(void **state)
{
    struct side sides[2];

    (void)state;
    assert_int_equal(accept_one_that_has_left(false, sides), NCOLL_ERR_PEER);
    assert_null(test_endpoint(&sides[0], 1));
    sides[0].transport->ops->close(sides[0].transport);
}

/* ------------------------------------------------------------------ control words ------------ */

static int send_control(struct side *side)
{
    const struct transport_ops *ops = side->transport->ops;
    struct control word = {
        .kind = CONTROL_MISMATCH, .rank = {1, 2}, .signature = {{3, 30}, {4, 40}}};

    if (side->rank == 1) {
        usleep(70000); /* rank 0 sleeps */
        atomic_store(&side->meeting->stamp_ns, test_now_ns(NULL));
        ops->control(side->transport, test_endpoint(side, 0), &word);
        word.kind = CONTROL_PEER_FAILED;
        ops->control(side->transport, test_endpoint(side, 0), &word);
        test_meet(side);
        return 0;
    }
    while (side->mails == 0) {
        test_wait(side, 1, 0, UINT32_MAX, 1000000000);
        ops->check(side->transport, -1);
    }
    CHECK(side->mail_from == 1);
    CHECK(test_now_ns(NULL) - atomic_load(&side->meeting->stamp_ns) <
          HANG_FACTOR * UINT64_C(45000000));
    CHECK(side->mail.kind == CONTROL_MISMATCH && side->mail.rank[1] == 2 &&
          signature_equal(side->mail.signature[1], (struct signature){4, 40}));
    test_meet(side);
    return 0;
}

static void test_control_wakes_the_receiver(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 2, false, send_control), 0);
    assert_int_equal(test_run(RANKS_ARE_THREADS, 2, false, send_control), 0);
}

/*
 * Last words. A rank that gives up because of another one says so before it goes, and that is what
 * its peers have to learn of, even if it says so and goes while rank 0 is looking after it: rank 1
 * goes on when rank 0's transport asks or reports something in the middle of check().
 */
static struct {
    struct side *side;
    bool gone_on;
    unsigned mails_when_gone;
} last;

static void on_last_gone(void *arg, int rank, enum control_kind how, const char *why)
{
    struct side *side = arg;

    (void)why;
    side->gone_rank = rank;
    side->gone_how = how;
    last.mails_when_gone = side->mails;
}

static void on_last_position(void *arg, int from_rank, const struct position *position)
{
    (void)from_rank, (void)position;
    test_meet(arg); /* rank 1 goes on, */
    test_meet(arg); /* and has left */
}

static uint64_t last_now_ns(void *arg)
{
    const struct shm *s = (const struct shm *)last.side->transport;

    (void)arg;
    if (!last.gone_on) {
        last.gone_on = true;
        test_meet(last.side); /* rank 1 goes on, */
        while (!ncoll__process_ended(&s->by_rank[1]->process))
            ; /* and has ended */
    }
    return test_now_ns(NULL);
}

static int say_and_go(struct side *side, bool leave)
{
    const struct transport_ops *ops = side->transport->ops;
    const struct control word = {.kind = CONTROL_PEER_FAILED, .rank = {2, -1}};
    const struct position position = {.group = 7, .signature = {8, 9}};

    if (leave)
        ops->tell(side->transport, test_endpoint(side, 0), &position);
    test_meet(side);
    test_meet(side); /* rank 0 is in the middle */
    ops->control(side->transport, test_endpoint(side, 0), &word);
    if (!leave)
        raise(SIGKILL);
    ops->close(side->transport);
    side->transport = NULL;
    test_meet(side);
    return 0;
}

static int hear_last_words(struct side *side, bool leave)
{
    struct transport_events *events = &((struct shm *)side->transport)->config.events;

    if (side->rank == 1)
        return say_and_go(side, leave);
    last.side = side;
    last.gone_on = leave;
    events->peer_gone = on_last_gone;
    events->position = on_last_position;
    events->now_ns = last_now_ns;
    test_meet(side);
    while (side->gone_rank < 0)
        side->transport->ops->check(side->transport, 1);
    CHECK(side->gone_rank == 1);
    CHECK(side->gone_how == (leave ? CONTROL_PEER_LEFT : CONTROL_PEER_FAILED));
    CHECK(last.mails_when_gone > 0 && side->mail.rank[0] == 2);
    return 0;
}

static int say_and_leave(struct side *side)
{
    return hear_last_words(side, true);
}

static int say_and_end(struct side *side)
{
    return hear_last_words(side, false);
}

/* Rank 1 tells rank 2 only, and leaves: rank 0, which waits for it, learns of it all the same. */
static int say_to_another_and_leave(struct side *side)
{
    const struct transport_ops *ops = side->transport->ops;
    const struct control word = {.kind = CONTROL_PEER_FAILED, .rank = {3, -1}};

    if (side->rank == 1) {
        ops->control(side->transport, test_endpoint(side, 2), &word);
        ops->close(side->transport);
        side->transport = NULL;
    }
    while (side->rank == 0 && side->gone_rank < 0)
        ops->check(side->transport, 1);
    test_meet(side);
    if (side->rank == 0) {
        CHECK(side->gone_rank == 1 && side->gone_how == CONTROL_PEER_LEFT);
        CHECK(side->mails == 1 && side->mail_from == 1 && side->mail.rank[0] == 3);
    }
    return 0;
}

static void test_last_words_come_first(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 2, false, say_and_leave), 0);
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 2, false, say_and_end), 0);
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 3, false, say_to_another_and_leave), 0);
    assert_int_equal(test_run(RANKS_ARE_THREADS, 3, false, say_to_another_and_leave), 0);
}

/* A position does not wake its receiver. No second one can be sent until the receiver has taken the
 * first. Control words are sent meanwhile. */
static int tell_positions(struct side *side)
{
    const struct transport_ops *ops = side->transport->ops;
    struct control word = {.kind = CONTROL_PEER_FAILED, .rank = {1, -1}};
    struct position position = {.group = 7, .signature = {8, 9}};

    for (uint64_t round = 0; round < 100; round++) {
        if (side->rank == 1)
            for (position.epoch = 3 * round; position.epoch < 3 * round + 3; position.epoch++)
                CHECK(ops->tell(side->transport, test_endpoint(side, 0), &position) ==
                      (position.epoch == 3 * round));
        if (side->rank == 1 && round == 50)
            ops->control(side->transport, test_endpoint(side, 0), &word);
        test_meet(side);
        if (side->rank == 0) {
            ops->check(side->transport, -1);
            CHECK(side->positions == round + 1 && side->position_from == 1);
            CHECK(side->position.epoch == 3 * round && side->position.group == 7 &&
                  signature_equal(side->position.signature, position.signature));
            CHECK(side->mails == (round >= 50));
        }
        test_meet(side);
    }
    return 0;
}

static void test_positions(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 2, false, tell_positions), 0);
    assert_int_equal(test_run(RANKS_ARE_THREADS, 2, false, tell_positions), 0);
}

/* ------------------------------------------------------------------ errors ------------------- */

static pid_t ended_process(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return pid;
}

/* Rank 1 of the meeting is not there: rank 0's own memory stands for it, and is then belied. */
static void test_what_is_not_the_peer_is_refused(void **state)
{
    struct meeting meeting = {0};
    struct side side = {.ranks = 2, .meeting = &meeting};
    struct shm_description d;
    struct offer right, wrong;
    struct shm_offer o;

    (void)state;
    assert_true(test_open(&side));
    memcpy(&o, &meeting.offered[0][0], sizeof o);
    memcpy(&right, &o, sizeof o);

    d = meeting.described[0], d.node++;
    assert_int_equal(test_accept(&side, 1, &d, &right), NCOLL_ERR_UNSUPPORTED);
    assert_non_null(strstr(side.cause, "rank 0 is on node"));

    d = meeting.described[0], d.pid_namespace++;
    assert_int_equal(test_accept(&side, 1, &d, &right), NCOLL_ERR_UNSUPPORTED);
    assert_non_null(strstr(side.cause, "pid namespace"));

    d = meeting.described[0], d.uid++;
    assert_int_equal(test_accept(&side, 1, &d, &right), NCOLL_ERR_UNSUPPORTED);
    assert_non_null(strstr(side.cause, "user"));

    d = meeting.described[0], d.board.nonce++;
    assert_int_equal(test_accept(&side, 1, &d, &right), NCOLL_ERR_PEER);
    assert_non_null(strstr(side.cause, "is not the memory"));

    d = meeting.described[0], d.board.fd = 0;
    assert_int_equal(test_accept(&side, 1, &d, &right), NCOLL_ERR_PEER);

    d = meeting.described[0], d.board.pid = ended_process();
    assert_int_equal(test_accept(&side, 1, &d, &right), NCOLL_ERR_PEER);
    assert_non_null(strstr(side.cause, "gone"));

    d = meeting.described[0], o.segment.bytes += 4096;
    memcpy(&wrong, &o, sizeof o);
    assert_int_equal(test_accept(&side, 1, &d, &wrong), NCOLL_ERR_PEER);

    o.segment.bytes -= 4096, o.rank = 1; /* for another one */
    memcpy(&wrong, &o, sizeof o);
    assert_int_equal(test_accept(&side, 1, &d, &wrong), NCOLL_ERR_BOOTSTRAP);
    assert_int_equal(
        side.transport->ops->accept(side.transport, side.window, 1, &d, sizeof d - 1, &right),
        NCOLL_ERR_BOOTSTRAP);
    side.transport->ops->close(side.transport);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_death_is_noticed),
        cmocka_unit_test(test_exec_is_noticed),
        cmocka_unit_test(test_leaving_is_not_dying),
        cmocka_unit_test(test_one_that_has_left_is_connected),
        cmocka_unit_test(test_one_that_was_not_connected_has_failed),
        cmocka_unit_test(test_control_wakes_the_receiver),
        cmocka_unit_test(test_last_words_come_first),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_what_is_not_the_peer_is_refused),
    };

    return cmocka_run_group_tests_name("shm_peers", tests, NULL, NULL);
}
