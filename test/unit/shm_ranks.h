/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks for the tests of the shm transport: forked processes or threads that meet in shared memory,
 * connect everybody with everybody and run a function.
 */
#ifndef NCOLL_TEST_SHM_RANKS_H
#define NCOLL_TEST_SHM_RANKS_H

#include <stdio.h>

#include "transport/shm/shm.h"

#define TEST_RANKS_MAX  8
#define TEST_BULK_BYTES (1u << 20)
#define TEST_SLOTS      4096

/* Shared by all ranks of a test. */
struct meeting {
    _Atomic int arrived;
    _Atomic uint64_t stamp_ns; /* for the test's own use */
    struct shm_description described[TEST_RANKS_MAX];
    struct offer offered[TEST_RANKS_MAX][TEST_RANKS_MAX]; /* by rank, to whom */
};

enum rank_kind { RANKS_ARE_PROCESSES, RANKS_ARE_THREADS };

/* One rank, and what its transport has reported to it. */
struct side {
    int rank, ranks;
    bool without_membarrier; /* set before connecting: peers are told that there is none */
    struct meeting *meeting;
    int meetings; /* so far */
    struct transport *transport;
    struct window *window;

    int gone_rank; /* -1: nobody */
    enum control_kind gone_how;
    uint64_t gone_ns;
    int mail_from; /* -1: none came */
    unsigned mails;
    struct control mail;
    int position_from;
    unsigned positions;
    struct position position;
    char cause[384]; /* of the last error */
};

/* In a rank's function: says what does not hold, and ends the rank with a failure. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, side->rank, #condition);   \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

#if defined(__SANITIZE_THREAD__)
#define SLOWDOWN 10
#else
#define SLOWDOWN 1
#endif

/* Returns the slot that a rank's messages go to: the first and the last slots of the window. */
static inline unsigned test_slot_of(int from)
{
    return from % 2 == 0 ? (unsigned)from : TEST_SLOTS - (unsigned)from;
}

uint64_t test_now_ns(void *arg);

/* Opens the transport of a rank and a window; false: it did not work. */
bool test_open(struct side *side);
int test_accept(struct side *side, int peer, const struct shm_description *d,
                const struct offer *o);
/* Waits until all ranks are here. */
void test_meet(struct side *side);

struct endpoint *test_endpoint(struct side *side, int rank);
/* Returns the signature of a rank's messages in an epoch. */
struct signature test_signature(uint64_t epoch, unsigned slot);
int test_put(struct side *side, int to, uint64_t epoch, unsigned slot, const void *src, size_t len);
/* One wait for a slot; NO_SLOT: for whatever comes. */
void test_wait(struct side *side, uint64_t epoch, unsigned slot, unsigned round,
               int64_t timeout_ns);
/* Until the slot is raised. Blocks where the transport would; looks after the peers in between. */
void test_await(struct side *side, uint64_t epoch, unsigned slot);

/* Runs body on connected ranks. Returns how many of them failed; one that is killed did not. */
int test_run(enum rank_kind kind, int ranks, bool without_membarrier,
             int (*body)(struct side *side));

#endif
