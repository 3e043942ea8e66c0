/* SPDX-License-Identifier: BSD-3-Clause */
/* Forked ranks with a bootstrap each, for test_bootstrap.c and test_bootstrap_tcp.c. */
#ifndef NCOLL_TEST_BOOTSTRAP_RANKS_H
#define NCOLL_TEST_BOOTSTRAP_RANKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "bootstrap/bootstrap.h"

#define TEST_RANKS_MAX 9
#define EXCHANGES      20
#define SIZE_MAX_BYTES 102400

/* In a rank: says what does not hold, and ends the rank's function with a failure. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d of %d: %s (last error: %s)\n", __FILE__, __LINE__,     \
                    side->rank, side->ranks, #condition, side->error.cause);                       \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* The user bootstrap of these ranks keeps its values here. */
struct values {
    _Atomic int fences;
    struct value {
        char key[32];
        size_t len;
        unsigned char bytes[SIZE_MAX_BYTES];
    } of[TEST_RANKS_MAX][EXCHANGES];
};

/* The bootstrap by an allgather passes its bytes on here. */
#define PIECE_MAX 4096
struct board {
    _Atomic int came;
    unsigned char bytes[TEST_RANKS_MAX * PIECE_MAX];
};

/* Memory that all ranks of a test share with it. */
struct meeting {
    char root[64];
    _Atomic int step;    /* for tests that put ranks in an order */
    _Atomic bool failed; /* some rank, so that nobody waits for it */
    struct values values;
    struct board board;
};

/* One rank. */
struct side {
    int rank, ranks;
    ncoll_fork_board *board;
    struct meeting *meeting;
    int64_t timeout_ns;
    const char *key; /* of the job, for tcp; NULL: none */
    struct bootstrap *b;
    ncoll_error error; /* what events.fail was last told */
    struct {
        int step; /* the rank's clock hardly moves until the meeting reaches this step; 0: it runs */
        uint64_t now; /* the clock's time until then */
    } patience;
    struct {
        const char *text; /* a log that has it advances the meeting; NULL: none does */
        int step;         /* to this one */
        int times;        /* how often it was logged */
    } watched;
    unsigned slow; /* its clock runs so many times slower; 0: it does not */
    bool dies;     /* by SIGALRM, as soon as its patience has ended */
    int fences;    /* entered through the user bootstrap */
    int gathers;   /* half allgathers that it has ended */
    bool in_fence;
};

typedef int (*side_body)(struct side *side);

/* Runs body on forked ranks; codes: [ranks]. Returns how many failed. */
int run_sides(int ranks, side_body body, int *codes);

/* Returns the configuration that a bootstrap is opened with. Fields that a test has use for may be
 * changed. */
struct bootstrap_config side_config(struct side *side, const struct bootstrap_ops *ops);
int side_open(struct side *side, const struct bootstrap_ops *ops);

/* Starts exchange k with a blob that follows from rank and k. 0, or what was returned. */
int side_start(struct side *side, int k);
/* Waits until it ends. */
int side_finish(struct side *side);
/* True if all ranks' blobs are those of exchange k. */
bool side_has_all(struct side *side, int k);

void side_pause(unsigned us);
double side_now_s(void);
/* Waits until the meeting has reached a step. */
void side_await(struct side *side, int step);
/* Advances the meeting to a step, unless it is past it. */
void side_advance(struct side *side, int step);
/* This side does so when it logs the text. Reminders are due at once. */
void side_watch(struct side *side, const char *text, int step);
/* The time-out of this side ends as soon as the meeting has reached a step, and not before. */
void side_has_patience_until(struct side *side, int step);
/* Polls failed() for limit_s; -1: nothing was reported. */
int side_await_failed(struct side *side, double limit_s);

#endif
