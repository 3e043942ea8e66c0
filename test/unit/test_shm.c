/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shm transport by itself: messages of all sizes, wake-ups, deaths, control words, errors, and
 * that nothing is left behind.
 */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "shm_ranks.h"

#if defined(__SANITIZE_THREAD__)
#define SLOWDOWN 10
#else
#define SLOWDOWN 1
#endif

/* A sleep that a message should have ended, and that ended by its own time limit (50 ms). */
#define LOST_WAKE_NS 45000000u

/* ------------------------------------------------------------------ messages ----------------- */

static unsigned char pattern(uint64_t epoch, int from, int to, size_t i)
{
    return (unsigned char)(epoch * 31 + (unsigned)from * 7 + (unsigned)to * 3 + i);
}

static size_t length(uint64_t epoch)
{
    static const size_t lengths[] = {0,  1,  4,   8,   16,  47,   48,    49,
                                     63, 64, 231, 232, 233, 4096, 100000};

    return lengths[epoch / EPOCHS % (sizeof lengths / sizeof lengths[0])];
}

/* The first and the last slots of the window. */
static unsigned slot_of(int from)
{
    return from % 2 == 0 ? (unsigned)from : TEST_SLOTS - (unsigned)from;
}

static int check_message(struct side *side, uint64_t epoch, int from, size_t len)
{
    const struct window *w = side->window;
    const struct slot *slot = window_slot(w, epoch, slot_of(from));
    const unsigned char *got = len <= SLOT_PAYLOAD
                                   ? slot->payload
                                   : w->bulk + epoch % EPOCHS * w->shape.bulk_bytes +
                                         (size_t)from * (TEST_BULK_BYTES / TEST_RANKS_MAX);

    CHECK(card_equal(slot->card, test_card(epoch, slot_of(from))));
    for (size_t i = 0; i < len; i++)
        CHECK(got[i] == pattern(epoch, from, side->rank, i));
    return 0;
}

/* Everybody to everybody, each length in each set of slots, with ranks that come late now and then.
 */
static int exchange_all(struct side *side)
{
    static const uint64_t epochs = 3000 / SLOWDOWN;
    unsigned seed = (unsigned)side->rank + 1;
    unsigned char *src = malloc(100000);

    CHECK(src != NULL);
    for (uint64_t epoch = 1; epoch <= epochs; epoch++) {
        size_t len = length(epoch);
        if (rand_r(&seed) % 16 == 0)
            usleep((useconds_t)rand_r(&seed) % 300);
        for (int to = 0; to < side->ranks; to++) {
            if (to == side->rank)
                continue;
            for (size_t i = 0; i < len; i++)
                src[i] = pattern(epoch, side->rank, to, i);
            CHECK(test_put(side, to, epoch, slot_of(side->rank), src, len) == NCOLL_OK);
        }
        for (int from = 0; from < side->ranks; from++) {
            if (from == side->rank)
                continue;
            test_await(side, epoch, slot_of(from));
            if (check_message(side, epoch, from, len) != 0)
                return 1;
        }
    }
    free(src);
    return 0;
}

static void test_messages_between_processes(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 4, false, exchange_all), 0);
}

static void test_messages_between_threads(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_THREADS, 4, false, exchange_all), 0);
}

/* As many messages under way as there are sets, each longer than a slot: none touches another. */
static int fill_all_sets(struct side *side)
{
    unsigned char src[5000];
    size_t len = sizeof src;
    int peer = 1 - side->rank;

    for (uint64_t first = 1; first < 1000; first += EPOCHS) {
        for (uint64_t epoch = first; epoch < first + EPOCHS; epoch++) {
            for (size_t i = 0; i < len; i++)
                src[i] = pattern(epoch, side->rank, peer, i);
            CHECK(test_put(side, peer, epoch, slot_of(side->rank), src, len) == NCOLL_OK);
        }
        for (uint64_t epoch = first; epoch < first + EPOCHS; epoch++)
            test_await(side, epoch, slot_of(peer));
        for (uint64_t epoch = first; epoch < first + EPOCHS; epoch++)
            if (check_message(side, epoch, peer, len) != 0)
                return 1;
        test_meet(side);
    }
    return 0;
}

static void test_sets_are_apart(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 2, false, fill_all_sets), 0);
    assert_int_equal(test_run(RANKS_ARE_THREADS, 2, false, fill_all_sets), 0);
}

/* ------------------------------------------------------------------ credits ------------------ */

/* One goes ahead by as much as the others let it, which answer by nothing but credits. What it has
 * put before a credit allowed it is there when the credit is. */
static int run_ahead(struct side *side)
{
    static const uint64_t epochs = 20000 / SLOWDOWN;
    const struct transport_ops *ops = side->transport->ops;
    const struct window *w = side->window;

    for (uint64_t epoch = 1; epoch <= epochs; epoch++) {
        if (side->rank != 0) {
            test_await(side, epoch, 7);
            CHECK(memcmp(window_slot(w, epoch, 7)->payload, &epoch, sizeof epoch) == 0);
            CHECK(ops->credit(side->transport, test_endpoint(side, 0), w, epoch) == NCOLL_OK);
            continue;
        }
        for (int to = 1; to < side->ranks; to++) {
            for (unsigned round = 0; atomic_load(&w->credits[to]) + EPOCHS < epoch; round++)
                test_wait(side, epoch, NO_SLOT, round, 1000000);
            CHECK(atomic_load(&w->credits[to]) < epoch);
            CHECK(test_put(side, to, epoch, 7, &epoch, sizeof epoch) == NCOLL_OK);
        }
    }
    test_meet(side);
    for (int rank = 0; rank < side->ranks; rank++)
        CHECK(atomic_load(&w->credits[rank]) == (side->rank == 0 && rank > 0 ? epochs : 0));
    return 0;
}

static void test_credits(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 4, false, run_ahead), 0);
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 3, true, run_ahead), 0);
    assert_int_equal(test_run(RANKS_ARE_THREADS, 4, false, run_ahead), 0);
}

static int await_credit_asleep(struct side *side)
{
    const struct transport_ops *ops = side->transport->ops;
    const struct window *w = side->window;

    if (side->rank == 1) {
        usleep(70000); /* rank 0 sleeps */
        CHECK(ops->credit(side->transport, test_endpoint(side, 0), w, 5) == NCOLL_OK);
    } else {
        while (atomic_load(&w->credits[1]) != 5)
            test_wait(side, 1, NO_SLOT, UINT32_MAX, 1000000000);
    }
    test_meet(side);
    return 0;
}

static void test_credit_ends_a_wait(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 2, false, await_credit_asleep), 0);
}

/* ------------------------------------------------------------------ sleep and wake-up -------- */

/* Whether one of the messages has been there for so long that it should have ended the wait. */
static bool overslept(const struct window *w, const struct awaited *awaited, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t sent_ns;
        if (!window_raised(w, awaited[i].epoch, awaited[i].slot))
            continue;
        memcpy(&sent_ns, window_slot(w, awaited[i].epoch, awaited[i].slot)->payload,
               sizeof sent_ns);
        if (test_now_ns(NULL) - sent_ns > LOST_WAKE_NS)
            return true;
    }
    return false;
}

/* Both block at every wait. A lost wake-up shows as a sleep to the time limit; a few of those may
 * be the machine's doing. */
static int exchange_asleep(struct side *side)
{
    static const uint64_t epochs = 100000 / SLOWDOWN;
    const struct transport_ops *ops = side->transport->ops;
    struct transport_counters counters;
    unsigned lost = 0, seed = (unsigned)side->rank + 1;
    int peer = 1 - side->rank;

    for (uint64_t epoch = 1; epoch <= epochs; epoch++) {
        for (volatile unsigned delay = (unsigned)rand_r(&seed) % 2000; delay > 0; delay--)
            ;
        uint64_t sent_ns = test_now_ns(NULL);
        CHECK(test_put(side, peer, epoch, 5, &sent_ns, sizeof sent_ns) == NCOLL_OK);
        while (!window_raised(side->window, epoch, 5)) {
            test_wait(side, epoch, 5, UINT32_MAX, 1000000000);
            lost += overslept(side->window, &(struct awaited){epoch, 5}, 1);
        }
    }
    ops->counters(side->transport, &counters);
    CHECK(counters.sleeps > epochs / 100);
    CHECK(lost <= 3);
    return 0;
}

static void test_no_wakeup_is_lost(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 2, false, exchange_asleep), 0);
    assert_int_equal(test_run(RANKS_ARE_THREADS, 2, false, exchange_asleep), 0);
}

static void test_no_wakeup_is_lost_without_membarrier(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 2, true, exchange_asleep), 0);
}

/* Sleeps for the messages of all others at once, which come in any order. */
static unsigned await_all(struct side *side, uint64_t epoch)
{
    struct awaited awaited[TEST_RANKS_MAX];
    unsigned n, lost = 0;

    do {
        n = 0;
        for (int from = 1; from < side->ranks; from++)
            if (!window_raised(side->window, epoch, slot_of(from)))
                awaited[n++] = (struct awaited){epoch, slot_of(from)};
        if (n > 0)
            side->transport->ops->wait(side->transport, side->window, awaited, n, UINT32_MAX,
                                       1000000000);
        lost += overslept(side->window, awaited, n);
    } while (n > 0);
    return lost;
}

static int await_several(struct side *side)
{
    static const uint64_t epochs = 20000 / SLOWDOWN;
    unsigned lost = 0, seed = (unsigned)side->rank + 1;

    for (uint64_t epoch = 1; epoch <= epochs; epoch++) {
        if (side->rank > 0) {
            for (volatile unsigned delay = (unsigned)rand_r(&seed) % 2000; delay > 0; delay--)
                ;
            uint64_t sent_ns = test_now_ns(NULL);
            CHECK(test_put(side, 0, epoch, slot_of(side->rank), &sent_ns, 8) == NCOLL_OK);
            test_await(side, epoch, 0);
            continue;
        }
        lost += await_all(side, epoch);
        for (int to = 1; to < side->ranks; to++)
            CHECK(test_put(side, to, epoch, 0, NULL, 0) == NCOLL_OK);
    }
    CHECK(lost <= 3); /* a few may be the machine's doing */
    return 0;
}

static void test_no_wakeup_of_several_is_lost(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 4, false, await_several), 0);
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 4, true, await_several), 0);
    assert_int_equal(test_run(RANKS_ARE_THREADS, 4, false, await_several), 0);
}

static int wait_in_vain(struct side *side)
{
    uint64_t start_ns = test_now_ns(NULL);
    struct timespec used;

    if (side->rank == 0)
        while (test_now_ns(NULL) - start_ns < 500000000)
            test_wait(side, 1, 0, UINT32_MAX, 1000000000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    CHECK(used.tv_sec == 0 && used.tv_nsec < 100000000);
    return 0;
}

static void test_a_blocked_rank_uses_no_cpu(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 2, false, wait_in_vain), 0);
}

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
    CHECK(side->gone_ns - atomic_load(&side->meeting->stamp_ns) < 200000000);
    return 0;
}

static void test_death_is_noticed(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 3, false, lose_rank_2), 0);
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

/* ------------------------------------------------------------------ control words ------------ */

static int send_control(struct side *side)
{
    const struct transport_ops *ops = side->transport->ops;
    struct control word = {.kind = CONTROL_MISMATCH, .rank = {1, 2}, .card = {{3, 30}, {4, 40}}};

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
    CHECK(test_now_ns(NULL) - atomic_load(&side->meeting->stamp_ns) < 45000000);
    CHECK(side->mail.kind == CONTROL_MISMATCH && side->mail.rank[1] == 2 &&
          card_equal(side->mail.card[1], (struct card){4, 40}));
    test_meet(side);
    return 0;
}

static void test_control_wakes_the_receiver(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 2, false, send_control), 0);
    assert_int_equal(test_run(RANKS_ARE_THREADS, 2, false, send_control), 0);
}

/* ------------------------------------------------------------------ raw exchange ------------- */

static int exchange_raw(struct side *side)
{
    uint64_t samples_ns[100];

    /* every other time with data, more than there is room for */
    for (size_t i = 0; i < 10; i++)
        CHECK(side->transport->ops->raw_exchange(
                  side->transport, side->window, test_endpoint(side, 1 - side->rank),
                  i % 2 * 10 * EPOCHS * TEST_BULK_BYTES, 100, samples_ns) == NCOLL_OK);
    for (int i = 0; i < 100; i++)
        CHECK(samples_ns[i] > 0);
    return 0;
}

static void test_raw_exchange(void **state)
{
    (void)state;
    assert_int_equal(test_run(RANKS_ARE_PROCESSES, 2, false, exchange_raw), 0);
    assert_int_equal(test_run(RANKS_ARE_THREADS, 2, false, exchange_raw), 0);
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

/* ------------------------------------------------------------------ leftovers ---------------- */

static int open_files(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;

    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static int mapped_segments(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int count = 0;

    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL)
        count += strstr(line, "memfd:ncoll") != NULL;
    fclose(maps);
    return count;
}

static void test_nothing_is_left(void **state)
{
    int files = open_files();

    (void)state;
    assert_int_equal(test_run(RANKS_ARE_THREADS, 4, false, exchange_all), 0);
    assert_int_equal(open_files(), files);
    assert_int_equal(mapped_segments(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_between_processes),
        cmocka_unit_test(test_messages_between_threads),
        cmocka_unit_test(test_sets_are_apart),
        cmocka_unit_test(test_credits),
        cmocka_unit_test(test_credit_ends_a_wait),
        cmocka_unit_test(test_no_wakeup_is_lost),
        cmocka_unit_test(test_no_wakeup_is_lost_without_membarrier),
        cmocka_unit_test(test_no_wakeup_of_several_is_lost),
        cmocka_unit_test(test_a_blocked_rank_uses_no_cpu),
        cmocka_unit_test(test_death_is_noticed),
        cmocka_unit_test(test_leaving_is_not_dying),
        cmocka_unit_test(test_control_wakes_the_receiver),
        cmocka_unit_test(test_raw_exchange),
        cmocka_unit_test(test_what_is_not_the_peer_is_refused),
        cmocka_unit_test(test_nothing_is_left),
    };

    return cmocka_run_group_tests_name("shm", tests, NULL, NULL);
}
