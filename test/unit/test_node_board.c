/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks of a node share while they join a job: parcels of blobs that differ little, and the
 * board on which blobs lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bootstrap/node_board.h"
#include "bootstrap/node_parcel.h"
#include "test/support/hang.h"
#include "test/support/seed.h"

/* ------------------------------------------------------------------ parcels ------------------- */

#define BLOBS 40
#define MOST  600

struct written {
    int rank;
    size_t len;
    unsigned char bytes[MOST];
};

/* Blobs of random lengths, each like the one before but for a few bytes, or quite different. */
static void make_blobs(struct random *random, struct written *blobs)
{
    for (int i = 0; i < BLOBS; i++) {
        struct written *w = &blobs[i];
        bool is_like = i > 0 && random_below(random, 4) > 0;
        w->rank = (int)random_below(random, 1000000);
        w->len = is_like && random_below(random, 2) ? w[-1].len : random_below(random, MOST + 1);
        for (size_t b = 0; b < w->len; b++)
            w->bytes[b] = is_like && random_below(random, 20) > 0
                              ? w[-1].bytes[b]
                              : (unsigned char)random_below(random, 256);
    }
}

static void pack(const struct written *blobs, struct blob *parcel)
{
    struct last_blob last = {0};

    for (int i = 0; i < BLOBS; i++)
        ncoll__node_parcel_add(parcel, &last, blobs[i].rank, blobs[i].bytes, blobs[i].len);
    ncoll__last_blob_free(&last);
    assert_false(parcel->failed);
}

/* Reads a parcel from memory of exactly its length, so that a sanitizer sees reads beyond it. */
static enum parcel_end read_all(const unsigned char *bytes, size_t len, const struct written *blobs)
{
    unsigned char *copy = malloc(len + (len == 0));
    struct parcel_reader reader = {.bytes = copy, .len = len};
    enum parcel_end end;
    const void *blob;
    size_t blob_len;
    int rank, n = 0;

    memcpy(copy, bytes, len);
    while ((end = ncoll__node_parcel_next(&reader, &rank, &blob, &blob_len)) == PARCEL_BLOB) {
        if (blobs == NULL)
            continue;
        assert_true(n < BLOBS && rank == blobs[n].rank && blob_len == blobs[n].len);
        assert_memory_equal(blob, blobs[n].bytes, blob_len);
        n++;
    }
    assert_true(blobs == NULL || n == BLOBS);
    ncoll__last_blob_free(&reader.last);
    free(copy);
    return end;
}

static void test_parcels(void **state)
{
    static struct written blobs[BLOBS];
    struct random random = random_stream(*(uint64_t *)*state, 1);

    for (int round = 0; round < 200; round++) {
        struct blob parcel = {0};
        make_blobs(&random, blobs);
        pack(blobs, &parcel);
        assert_int_equal(read_all(parcel.bytes, parcel.len, blobs), PARCEL_END);
        /* damaged: nothing but an end or an error, and no read outside */
        for (int i = 0; i < 50; i++) {
            size_t at = random_below(&random, parcel.len), cut = random_below(&random, parcel.len);
            unsigned char before = parcel.bytes[at];
            parcel.bytes[at] = (unsigned char)random_below(&random, 256);
            read_all(parcel.bytes, parcel.len, NULL);
            read_all(parcel.bytes, cut, NULL);
            parcel.bytes[at] = before;
        }
        ncoll__blob_free(&parcel);
    }
}

/* 128 blobs that differ in 8 bytes of 300 are hardly more than one of them. */
static void test_likeness(void **state)
{
    unsigned char bytes[300];
    struct last_blob last = {0};
    struct blob parcel = {0};

    (void)state;
    memset(bytes, 0x5a, sizeof bytes);
    for (uint64_t r = 0; r < 128; r++) {
        memcpy(bytes + 100, &(uint64_t){r * UINT64_C(0x9e3779b97f4a7c15)}, 8);
        ncoll__node_parcel_add(&parcel, &last, (int)r, bytes, sizeof bytes);
    }
    assert_in_range(parcel.len, 300, 300 + 128 * 28);
    ncoll__last_blob_free(&last);
    ncoll__blob_free(&parcel);
}

/* A length that no parcel can have is refused before memory is taken for it. */
static void test_impossible_length(void **state)
{
    const uint32_t head[] = {0, UINT32_MAX, 0};

    (void)state;
    assert_int_equal(read_all((const unsigned char *)head, sizeof head, NULL), PARCEL_WRONG);
}

/* ------------------------------------------------------------------ the board ----------------- */

#define RANKS   24
#define MEMBERS 4
#define NODES   (RANKS / MEMBERS)
#define ROUNDS  60
#define LONG    600

static size_t length(int rank, uint64_t k)
{
    return (size_t)(rank * 7919 + (int)k * 104729) % (k % 7 == 0 ? LONG : LONG / 2);
}

static void fill(unsigned char *bytes, int rank, uint64_t k)
{
    for (size_t i = 0; i < length(rank, k); i++)
        bytes[i] = (unsigned char)((size_t)rank * 31 + k * 7 + i * 13);
}

static bool has(const struct node_board *board, int rank, uint64_t k)
{
    unsigned char bytes[LONG];
    size_t len;
    const void *blob = ncoll__node_board_get(board, k, rank, &len);

    fill(bytes, rank, k);
    return blob != NULL && len == length(rank, k) && memcmp(blob, bytes, len) == 0;
}

static bool put(struct node_board *board, int rank, uint64_t k)
{
    unsigned char bytes[LONG];

    fill(bytes, rank, k);
    return ncoll__node_board_put(board, k, rank, bytes, length(rank, k));
}

/* Waits for all members, in place of a fence. */
static void await_all(const struct node_board *board, uint64_t k)
{
    int count;

    while (ncoll__node_board_absent(board, k, &count) >= 0)
        usleep(20);
}

/* A member: leaves its blob, and brings the parcels of the nodes that it claims. All find all. */
static int be_member(struct node_board *board, int member)
{
    uint64_t barrier = 0;

    for (uint64_t k = 1; k <= ROUNDS; k++) {
        if (!put(board, member, k))
            return 1;
        ncoll__node_board_arrive(board, member, ++barrier);
        await_all(board, barrier);
        for (int i = 1; i < NODES; i++) {
            int node = 1 + (member + i) % (NODES - 1);
            if (ncoll__node_board_claim(board, k, node) != 0)
                continue;
            for (int r = node * MEMBERS; r < (node + 1) * MEMBERS; r++)
                if (!put(board, r, k))
                    return 2;
            ncoll__node_board_settle(board, k, node, PARCEL_HERE);
        }
        for (int node = 1; node < NODES; node++)
            while (ncoll__node_board_claim(board, k, node) != PARCEL_HERE)
                usleep(20);
        for (int r = 0; r < RANKS; r++)
            if (!has(board, r, k))
                return 3;
    }
    return 0;
}

/* Processes that map one board, with blobs that grow and shrink. */
static void test_shared_board(void **state)
{
    struct node_board board, mine;
    pid_t pids[MEMBERS];
    int status, failed = 0;

    (void)state;
    assert_int_equal(ncoll__node_board_create(&board, RANKS, NODES, MEMBERS, 77, true), 0);
    struct segment_name name = ncoll__segment_name(&board.segment);
    fflush(NULL);
    for (int m = 0; m < MEMBERS; m++)
        if ((pids[m] = fork()) == 0) {
            hang_after(60);
            int rc = ncoll__node_board_attach(&mine, &name);
            _exit(rc != 0 ? 9 : be_member(&mine, m));
        }
    for (int m = 0; m < MEMBERS; m++) {
        assert_int_equal(waitpid(pids[m], &status, 0), pids[m]);
        failed += status != 0;
    }
    assert_int_equal(failed, 0);
    /* one that is not the same is refused */
    name.nonce++;
    assert_true(ncoll__node_board_attach(&mine, &name) < 0);
    ncoll__node_board_release(&board);
}

/* A board that is full refuses a blob, and keeps the others; a rank apart is not waited for. */
static void test_limits(void **state)
{
    static unsigned char big[RANKS * ROOM_PER_RANK];
    struct node_board board;
    int count;

    (void)state;
    assert_int_equal(ncoll__node_board_create(&board, RANKS, NODES, MEMBERS, 0, false), 0);
    assert_true(put(&board, 1, 1));
    assert_false(ncoll__node_board_put(&board, 1, 2, big, sizeof big));
    assert_true(has(&board, 1, 1));
    assert_null(ncoll__node_board_get(&board, 1, 2, &(size_t){0}));
    assert_null(ncoll__node_board_get(&board, 3, 1, &(size_t){0}));
    assert_true(put(&board, 2, 1) && has(&board, 2, 1));

    ncoll__node_board_arrive(&board, 0, 1);
    ncoll__node_board_arrive(&board, 3, 1);
    assert_int_equal(ncoll__node_board_absent(&board, 1, &count), 1);
    assert_int_equal(count, 2);
    ncoll__node_board_set_apart(&board, 1);
    assert_int_equal(ncoll__node_board_absent(&board, 1, &count), 2);
    uint32_t news = atomic_load(&board.memory->news);
    ncoll__node_board_arrive(&board, 2, 1); /* the last one that is waited for */
    assert_int_equal(atomic_load(&board.memory->news), news + 1);
    assert_int_equal(ncoll__node_board_absent(&board, 1, &count), -1);

    /* a parcel that could not be had can be asked for again in the next exchange */
    assert_int_equal(ncoll__node_board_claim(&board, 1, 3), 0);
    assert_int_equal(ncoll__node_board_claim(&board, 1, 3), PARCEL_CLAIMED);
    ncoll__node_board_settle(&board, 1, 3, PARCEL_REFUSED);
    assert_int_equal(ncoll__node_board_claim(&board, 1, 3), PARCEL_REFUSED);
    assert_int_equal(ncoll__node_board_claim(&board, 2, 3), 0);
    ncoll__node_board_settle(&board, 1, 3, PARCEL_HERE); /* too late */
    assert_int_equal(ncoll__node_board_claim(&board, 2, 3), PARCEL_CLAIMED);
    ncoll__node_board_release(&board);
}

int main(void)
{
    uint64_t seed = test_seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_parcels, &seed),
        cmocka_unit_test(test_likeness),
        cmocka_unit_test(test_impossible_length),
        cmocka_unit_test(test_shared_board),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests_name("node_board", tests, NULL, NULL);
}
