/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes: a schedule that runs once for each segment of a long call, S runs at once, as
 * lib/executor.c has it, on all ranks, with the credits of lib/credit.h. Each run advances by
 * itself.
 *
 *     e    run, 1 .. N; it begins when all runs up to e - S have finished on its rank
 *     K    CREDIT_SETS: run e uses set e mod K of slots, bulk memory and scratch
 *
 * Values are the model's business: runs have nothing in common but these sets, provided that a set
 * is free when it is used again. That is asked by happens-before: what a rank KNOWS in a step is up
 * to which run every other rank has finished by chains of
 *
 *     steps of one run, in order; from a put to its wait; from the end of all runs up to e - S to
 *     the beginning of run e; from a credit that was sent to a put that needed it
 *
 * and of nothing else: that two runs of one rank happened in some order counts for nothing. So what
 * is known does not depend on the interleaving, where no put needs a credit. Where some do, which
 * credits are sent does: there the runs are carried out with credits that come at once, at random,
 * or when nothing else can go on, and each has to be true when it is sent. Wrong is
 *
 *   - a put to a set of which the putting rank does not know that the receiver has finished with
 * it, and those to whom the receiver has passed on messages from there;
 *   - scratch that is written while what was put from it may still be read;
 *   - a credit for a run that has not finished, or a put that waits for one of those that do not
 *     need any: schedules that synchronise;
 *   - that nothing can go on.
 *
 * A run that may begin later than with S lanes knows no less, so that 4 lanes imply fewer; all are
 * run all the same in groups of up to LANES_EACH_P.
 */
#ifndef NCOLL_TEST_VERIFY_LANES_H
#define NCOLL_TEST_VERIFY_LANES_H

#include "lib/credit.h"
#include "test/verify/schedules.h"

#define LANES_MAX CREDIT_CALLS
#define LANE_RUNS (CREDIT_SETS + LANES_MAX + 1) /* N: each lane uses a set again */

/* What can be planted: mistakes of an executor. */
#define LANE_MISCHIEFS(X)                                                                          \
    X(lanes_share_a_set)                                                                           \
    X(sets_for_one_lane_too_few)                                                                   \
    X(scratch_shared_by_two_lanes)                                                                 \
    X(lane_starts_before_its_set_is_free)                                                          \
    X(lane_more_than_there_are)                                                                    \
    X(lane_ends_before_its_last_message)                                                           \
    X(message_to_the_next_lane)                                                                    \
    X(put_of_a_lane_without_asking)                                                                \
    X(credit_for_lanes_under_way)                                                                  \
    X(lane_waits_for_a_later_one)

enum lane_mischief {
    NO_LANE_MISCHIEF,
#define NAME(name) LANE_##name,
    LANE_MISCHIEFS(NAME)
#undef NAME
};

/* When a credit comes. */
enum delivery { CREDITS_AT_ONCE, CREDITS_LAST, CREDITS_AT_RANDOM, DELIVERIES };

typedef uint8_t run_number;
_Static_assert(LANE_RUNS + 2 * CREDIT_SETS < 256, "a run_number holds them");

/* One run on one rank. */
struct lane {
    unsigned next; /* step */
    bool begun, finished, scratch_written;
    unsigned snapshot; /* row that its puts send; NO_SNAPSHOT: knows more since the last */
};

/* A slot of one set. */
struct lane_slot {
    run_number run; /* whose message is in it; 0: none yet */
    bool waited;
    unsigned row; /* what its sender knew */
};

struct lane_credit {
    unsigned from, to;
    uint64_t number;
};

struct lanes {
    const struct schedule *schedule;
    unsigned P, S, N, slots;
    enum lane_mischief mischief;
    enum delivery delivery;
    bool synchronises;

    struct credits *credits; /* of each rank */
    uint64_t *told, *heard;  /* P x P */
    unsigned *begun;         /* runs, of each rank */
    struct lane *lanes;      /* P x N */
    run_number *known;       /* P x N rows: run's */
    run_number *settled;     /* P x (N + 1) rows: what the end of all runs up to e knows */
    run_number *rows;        /* sent with messages */
    unsigned *row_users; /* messages that have not been waited for, and the lane that sends it */
    unsigned *free_rows, n_free_rows;
    unsigned n_rows, rows_allocated;
    size_t rows_bytes;
    bool *passes_on;         /* of each rank: it puts from messages */
    struct lane_slot *inbox; /* P x K x slots */
    struct lane_credit *under_way;
    unsigned n_under_way, under_way_allocated;
    unsigned *ready, n_ready;
    bool *is_ready;
    size_t P_allocated, inbox_allocated;
    uint64_t seed;
    unsigned turn; /* of deliveries */

    uint64_t runs, edges, sent; /* counted over all: runs of all ranks, put-wait edges, credits */
    char fault[256];
};

/* False: l->fault says why. */
bool lanes_run(struct lanes *l, const struct schedule *schedule, unsigned S, enum delivery delivery,
               enum lane_mischief mischief);

/* With 1, 2, 3 and 4 lanes, and 4 with each delivery of credits where there are any; or with 4 and
 * one delivery, each in turn. */
enum lanes_extent { LANES_EACH, LANES_MOST };
bool lanes_all(struct lanes *l, const struct schedule *schedule, enum lanes_extent extent);
void lanes_free(struct lanes *l);

#endif
