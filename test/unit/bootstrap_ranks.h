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

/* What the user bootstrap of these ranks keeps its values in. */
struct values {
    _Atomic int fences;
    struct value {
        char key[32];
        size_t len;
        unsigned char bytes[SIZE_MAX_BYTES];
    } of[TEST_RANKS_MAX][EXCHANGES];
};

/* Memory that all ranks of a test share with it. */
struct meeting {
    char root[64];
    _Atomic int step; /* for tests that put ranks in an order */
    struct values values;
};

/* One rank. */
struct side {
    int rank, ranks;
    ncoll_fork_board *board;
    struct meeting *meeting;
    int64_t timeout_ns;
    struct bootstrap *b;
    ncoll_error error; /* what events.fail was last told */
    int fences;        /* entered through the user bootstrap */
    bool in_fence;
};

typedef int (*side_body)(struct side *side);

/* Runs body on forked ranks, each for at most 60 s; codes: [ranks]. Returns how many failed. */
int run_sides(int ranks, side_body body, int *codes);

/* What a bootstrap is opened with. Fields that a test has use for may be changed. */
struct bootstrap_config side_config(struct side *side, const struct bootstrap_ops *ops);
int side_open(struct side *side, const struct bootstrap_ops *ops);

/* Starts exchange k with a blob that follows from rank and k. 0, or what was returned. */
int side_start(struct side *side, int k);
/* Waits until it ends, for at most 20 s. */
int side_finish(struct side *side);
/* Whether all ranks' blobs are those of exchange k. */
bool side_has_all(struct side *side, int k);

void side_pause(unsigned us);
double side_now_s(void);
/* Waits until the meeting has reached a step. */
void side_await(struct side *side, int step);
/* Polls failed() for at most limit_s; -1: nothing was reported. */
int side_await_failed(struct side *side, double limit_s);

#endif
