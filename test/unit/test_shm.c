/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shm transport by itself: messages of all sizes, credits, the bare exchange, and that nothing
 * is left behind.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "shm_ranks.h"

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

static int check_message(struct side *side, uint64_t epoch, int from, size_t len)
{
    const struct window *w = side->window;
    const struct slot *slot = window_slot(w, epoch, test_slot_of(from));
    const unsigned char *got = len <= SLOT_PAYLOAD
                                   ? slot->payload
                                   : w->bulk + epoch % EPOCHS * w->shape.bulk_bytes +
                                         (size_t)from * (TEST_BULK_BYTES / TEST_RANKS_MAX);

    CHECK(signature_equal(slot->signature, test_signature(epoch, test_slot_of(from))));
    for (size_t i = 0; i < len; i++)
        CHECK(got[i] == pattern(epoch, from, side->rank, i));
    return 0;
}

/* Everybody to everybody, each length in each set of slots, with ranks that come late now and
 * then. */
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
            CHECK(test_put(side, to, epoch, test_slot_of(side->rank), src, len) == NCOLL_OK);
        }
        for (int from = 0; from < side->ranks; from++) {
            if (from == side->rank)
                continue;
            test_await(side, epoch, test_slot_of(from));
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

/* There are as many messages under way as sets, each longer than a slot: none touches another. */
static int fill_all_sets(struct side *side)
{
    unsigned char src[5000];
    size_t len = sizeof src;
    int peer = 1 - side->rank;

    for (uint64_t first = 1; first < 1000; first += EPOCHS) {
        for (uint64_t epoch = first; epoch < first + EPOCHS; epoch++) {
            for (size_t i = 0; i < len; i++)
                src[i] = pattern(epoch, side->rank, peer, i);
            CHECK(test_put(side, peer, epoch, test_slot_of(side->rank), src, len) == NCOLL_OK);
        }
        for (uint64_t epoch = first; epoch < first + EPOCHS; epoch++)
            test_await(side, epoch, test_slot_of(peer));
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

/* ------------------------------------------------------------------ raw exchange ------------- */

static int exchange_raw(struct side *side)
{
    uint64_t samples_ns[100];

    /* every other time with data, more than there is room for */
    for (size_t i = 0; i < 10; i++)
        CHECK(side->transport->ops->raw_exchange(
                  side->transport, side->window, test_endpoint(side, 1 - side->rank),
                  1 + (unsigned)i % 4, i % 2 * 10 * EPOCHS * TEST_BULK_BYTES, 100,
                  samples_ns) == NCOLL_OK);
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
        cmocka_unit_test(test_raw_exchange),
        cmocka_unit_test(test_nothing_is_left),
    };

    return cmocka_run_group_tests_name("shm", tests, NULL, NULL);
}
