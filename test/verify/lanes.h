/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes: a schedule that runs once for each segment of a long call, S runs at once, as
 * lib/run/executor.c has it, on all ranks, with the credits of lib/base/credit.h. Each run
 * advances by itself.
 *
 *     e    run, 1 .. N; it begins when all runs up to e - S have finished on its rank
 *     K    CREDIT_SETS: run e uses set e mod K of slots, bulk memory and scratch
 *     N    K + S + 1: each lane uses a set again
 *
 * Values are the model's business: runs have nothing in common but these sets, provided that a set
 * is free when it is used again. Wrong is
 *
 *   - a put to a set of which the putting rank does not know that the receiver has finished with
 *     it, and those to whom the receiver has passed on messages from there;
 *   - scratch that is written while what was put from it may still be read: of schedules that
 *     synchronise where it lies, since it may be a peer read; for the others see mixed.h;
 *   - the same where a neighbour of the receiver may still look at a message there;
 *   - a credit for a run that has not finished, or a put that waits for one of those that do not
 *     need any: schedules that synchronise;
 *   - the end of a run of such a schedule, without knowing that all ranks have entered it;
 *   - that nothing can go on.
 *
 * Schedules that synchronise. What a rank KNOWS in a step is up to which run every other rank has
 * finished by chains of
 *
 *     steps of one run, in order; from a put to its wait; from the end of all runs up to e - S to
 *     the beginning of run e
 *
 * and of nothing else: that two runs of one rank happened in some order counts for nothing. So what
 * is known does not depend on the interleaving, and one order of execution stands for all.
 *
 * Nor does it depend on a rank's name. Where the outline of a schedule is symmetric, all ranks may
 * carry out its hull in step, and then they know the same of ranks at the same distances. So one is
 * enough, FOLDED: what rank 0 gets from the rank at distance d is what it puts to the one at
 * distance -d, and what that rank knew is what rank 0 did, counted from there. The hull asks as
 * much as any rank.
 *
 * The others. A put needs a credit, or it is one of the first K runs; a credit is checked when it
 * is sent; so a set is free when a put comes. What remains is that nothing gets stuck, with credits
 * that come at once, at random, or when nothing else can go on. Why that is so for credits that
 * come at any time: at the latest at the beginning of e a rank has told all that put to it in e of
 * its run e - K, which is over; so in the worst case puts of e wait for their receiver to begin e,
 * and that waits for runs up to e - S only. If the schedule alone ends (which the model shows), run
 * e ends when all up to e - S have, and so do all, one after another.
 *
 * S lanes imply fewer, for schedules that synchronise. Let k(S, e, i) be what a rank knows of
 * another in step i of run e, and k(S, e) what it knows at the end of all runs up to e, which does
 * not fall with e. With S' < S lanes run e begins with k(S', e - S') in place of k(S, e - S).
 * Suppose that k(S', f) >= k(S, f) on all ranks for all f < e; then k(S', e - S') >= k(S', e - S)
 * >= k(S, e - S), what comes with messages in run e is no less either, by the order of its steps,
 * and k(S', e) >= k(S, e). What is asked of k is that it be large enough for sets that depend on e
 * and not on S; and that a run waits for all before e - S' makes no new circle. This is for the
 * understanding: 1, 2, 3 and 4 lanes are all carried out.
 *
 * What it comes to: a rank that has ended run e - S knows that all have entered it, and so ended
 * e - 2 S; K = 2 LANES_MAX.
 */
#ifndef NCOLL_TEST_VERIFY_LANES_H
#define NCOLL_TEST_VERIFY_LANES_H

#include "lib/base/credit.h"
#include "test/verify/knowledge.h"
#include "test/verify/outline.h"

#define LANES_MAX CREDIT_RUNS
#define LANE_RUNS (CREDIT_SETS + LANES_MAX + 1) /* the largest N */

/* The mistakes of an executor that can be planted. */
#define LANE_MISCHIEFS(X)                                                                          \
    X(lanes_share_a_set)                                                                           \
    X(sets_for_one_lane_too_few)                                                                   \
    X(sets_as_many_as_fewer_lanes_ask_for)                                                         \
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

_Static_assert(LANE_RUNS + 2 * CREDIT_SETS < 256, "a run_number holds them");

/* One run on one rank. */
struct lane {
    unsigned next; /* event */
    bool finished;
    unsigned snapshot; /* row that its puts send; NO_ROW: knows more since the last */
};

/* The sets of a run: its own, and the latest runs before it with the same, or with the same
 * scratch; 0: none.
 */
struct lane_sets {
    run_number set, before, scratch_before;
};

/* The message that one wait of a set is for. */
struct lane_slot {
    run_number run; /* whose message is in it; 0: none yet */
    bool waited;
    uint16_t looks; /* that are still to come */
    unsigned row;   /* what its sender knew */
};

_Static_assert(sizeof(struct lane_slot) == 8,
               "there are many of them, and memory is what it takes");

struct lane_credit {
    unsigned to, mate; /* the receiver, and the sender among its peers */
    uint64_t number;
};

struct lanes {
    const struct outline *outline;
    unsigned P, S, N;
    bool folded;
    unsigned ranks;  /* that are carried out: all, or one */
    unsigned begins; /* runs that may be under way: S, but for what is planted */
    unsigned kept;   /* rows of a rank: of those, and of one before them */
    enum lane_mischief mischief;
    enum delivery delivery;

    struct credits *credits;                     /* of each rank */
    struct credit_of *credit_of, **credit_pages; /* of each rank's peers */
    unsigned *begun;                             /* runs, of each rank */
    struct lane *lanes;                          /* ranks x N */
    unsigned char *known;                        /* ranks x kept rows: struct knowledge in run e */
    run_number *settled; /* ranks x N + 1: what the end of all runs up to e knows of all ranks */
    unsigned char *rows; /* struct knowledge, sent with messages */
    unsigned *row_users; /* messages that have not been waited for, and the lane that sends it */
    unsigned *free_rows, n_free_rows;
    unsigned n_rows, rows_allocated;
    size_t rows_bytes;
    struct lane_sets sets[LANE_RUNS + 2];
    struct lane_slot *inbox; /* ranks x K x waits */
    struct lane_credit *under_way;
    unsigned n_under_way, under_way_allocated;
    unsigned *ready, n_ready;
    bool *is_ready;
    size_t ranks_allocated, mates_allocated, pages_allocated, known_allocated, inbox_allocated;
    uint64_t seed;
    unsigned turn; /* of deliveries */

    uint64_t runs, edges, sent; /* counted over all: runs of all ranks, put-wait edges, credits */
    char fault[256];
};

#define NO_ROW UINT32_MAX

/* False: l->fault says why. Folded: only of an outline that is symmetric. */
bool lanes_run(struct lanes *l, const struct outline *outline, unsigned S, bool folded,
               enum delivery delivery, enum lane_mischief mischief);

/* With 1, 2, 3 and 4 lanes: folded where it can be, or with one delivery of credits, in turn; in
 * each way: both folded and not, and with each delivery. */
bool lanes_all(struct lanes *l, const struct outline *outline, bool each_way);
/* Frees the lanes; the counts over all runs stay. */
void lanes_free(struct lanes *l);

/* In lanes_memory.c: everything as it is before the first run. */
void lanes_prepare(struct lanes *l);

/* The events of a rank. */
static inline const struct event *lanes_begin(const struct lanes *l, unsigned rank)
{
    return l->folded ? l->outline->hull : outline_begin(l->outline, rank);
}

static inline const struct event *lanes_end(const struct lanes *l, unsigned rank)
{
    return l->folded ? l->outline->hull + l->outline->n_hull : outline_end(l->outline, rank);
}

static inline struct lane *lane_of(const struct lanes *l, unsigned rank, unsigned e)
{
    return &l->lanes[(size_t)rank * l->N + e - 1];
}

static inline struct knowledge *known_of(const struct lanes *l, unsigned rank, unsigned e)
{
    size_t row = (size_t)rank * l->kept + e % l->kept;
    return (struct knowledge *)(l->known + row * knowledge_bytes(l->P));
}

static inline run_number *settled_of(const struct lanes *l, unsigned rank, unsigned e)
{
    return &l->settled[(size_t)rank * (l->N + 1) + e];
}

#endif
