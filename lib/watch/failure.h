/* SPDX-License-Identifier: BSD-3-Clause */
/* Failures of other ranks: ranks that are gone, that call something else, or that wait in a
 * circle. */
#ifndef NCOLL_LIB_FAILURE_H
#define NCOLL_LIB_FAILURE_H

#include "lib/base/failure.h"

/* ------------------------------------------------------------------ failure.c ---------------- */

/* Callbacks for the transport. */
void ncoll__on_peer_gone(void *ctx, int rank, enum control_kind how, const char *why);
void ncoll__on_control(void *ctx, int from_rank, const struct control *message);
/* Called before this rank leaves. If calls of other ranks cannot go on without it, tells them
 * so. */
void ncoll__quit(struct ncoll_context *ctx);
/* Handles the failure of a put or a credit to a rank (NCOLL_ERR_PEER). Returns NCOLL_ERR_PEER. */
int ncoll__peer_unreachable(struct ncoll_context *ctx, int rank);
/* Does the work of ncoll__failure() if there is a failure. */
int ncoll__report_failure(struct ncoll_context *ctx);
/* Records that a rank that is needed has left. Returns NCOLL_ERR_PEER. */
int ncoll__peer_left(struct ncoll_context *ctx, int rank);
/* Records the failure that the bootstrap has learned of, if there is one. */
void ncoll__ask_bootstrap(struct ncoll_context *ctx);
/* Writes status, peer, cause and remedy of the failure. There must be one. */
void ncoll__failure_in_words(const struct ncoll_context *ctx, ncoll_error *out);
/* Looks for failed peers, for failures that the bootstrap knows, and for mismatches and stalls. A
 * rank that waits calls it from time to time. */
void ncoll__check(struct ncoll_group *g, uint64_t now_ns);

/* ------------------------------------------------------------------ root_cause.c ------------- */

/* Tells the bootstrap the root cause for which this rank cannot go on. */
void ncoll__publish_root_cause(struct ncoll_context *ctx);
/* Returns the root cause of a peer's end, as far as the bootstrap knows it: another rank that the
 * peer has named, or the peer itself; -1: the bootstrap does not know it, or not yet. */
int ncoll__culprit(struct ncoll_context *ctx, int rank);
/* True if that rank has named this one as the reason for which it gave up. */
bool ncoll__gave_up(struct ncoll_context *ctx, int rank);
/* Records the root cause of a peer's end as the failure. */
void ncoll__accuse(struct ncoll_context *ctx, int rank, enum control_kind how, const char *why);
/* Records the root cause of a peer's end, as ncoll__accuse() does; but while ranks connect to each
 * other, it only suspects the peer at first, until there is news of the root cause
 * (ncoll__judge_suspect()). */
void ncoll__suspect(struct ncoll_context *ctx, int rank, enum control_kind how, const char *why);
/* Records the failure of a suspected peer when its root cause is known, or has been waited for long
 * enough. A rank that waits calls it from time to time. */
void ncoll__judge_suspect(struct ncoll_context *ctx);
/* For the creation of a context: after an NCOLL_ERR_PEER about a peer that is gone, looks for the
 * root cause for at most half a second. Returns the status of the recorded error, which names the
 * root cause if it was found. */
int ncoll__find_culprit(struct ncoll_context *ctx);
/* Calls the transport's ready(). After NCOLL_ERR_PEER the recorded error names the root cause. */
int ncoll__ready(struct ncoll_context *ctx, const int *peers, unsigned n_peers);

/* ------------------------------------------------------------------ farewell.c --------------- */

/* Sends farewells to the peers. If a peer that has left before made other calls than this rank,
 * logs that. Takes a limited time. */
void ncoll__leave_peers(struct ncoll_context *ctx);

/* ------------------------------------------------------------------ mismatch.c --------------- */

/* Callback for the transport. */
void ncoll__on_position(void *ctx, int from_rank, const struct position *position);
/* Looks for mismatches, and tells this rank's position so that others can find them. */
void ncoll__look_for_mismatches(struct ncoll_context *ctx, uint64_t now_ns);

/* ------------------------------------------------------------------ stall.c ------------------ */

/* A call that times out leaves a record if its time-out was at least this long. */
#define LONG_WAIT_NS INT64_C(1000000000)

/* Checks all groups, and logs a warning about each call that has made no progress for a long
 * time. */
void ncoll__watch_stalls(struct ncoll_context *ctx, uint64_t now_ns);
/* True if the group has made no progress for so long that this rank asks the ranks that it waits
 * for what they wait for. */
bool ncoll__is_stalled(const struct ncoll_group *g);
/* Answers a rank that waits for this one, by telling it what this rank waits for. */
void ncoll__answer(struct ncoll_context *ctx, int asker);
/* Keep the latest position that a rank has told, and return it. NULL: that rank has told none, or
 * it is no longer kept. */
void ncoll__heard(struct ncoll_context *ctx, int rank, const struct position *position);
const struct heard *ncoll__last_heard(const struct ncoll_context *ctx, int rank);
/* Writes a sentence on what the group's unfinished calls wait for. Returns a world rank that they
 * wait for; -1: they wait for no rank. */
int ncoll__stall_text(struct ncoll_group *g, char *text, size_t size);
/* Handles the time-out of a call after timeout_ns: if that is LONG_WAIT_NS or more, records what
 * the call waits for. Returns NCOLL_TIMEOUT. */
int ncoll__timed_out(struct ncoll_group *g, int64_t timeout_ns);

/* ------------------------------------------------------------------ awaits.c ----------------- */

/* A bit of position.slot: the slot belongs to the rank that is told, and the rank that tells the
 * position looks at it, as a neighbour. */
#define SLOT_LOOKS 0x80000000u
/* A bit of position.slot: the slot belongs to the rank that is told, which has not yet copied the
 * message of this slot from the memory of the rank that tells the position. */
#define SLOT_SINGLE_COPY 0x40000000u
_Static_assert(SLOTS_MAX <= SLOT_SINGLE_COPY && NO_SLOT > (SLOT_LOOKS | SLOTS_MAX),
               "a slot, and bits of their own");

/* Finds the peer (rank of the group) that a run waits for, and the slot of the message, with the
 * bits above, or NO_SLOT for a credit. Returns false if the run waits for no rank. */
bool ncoll__waits_for(struct ncoll_group *g, struct run *run, unsigned *peer, uint32_t *slot);

/* The event that an unfinished run waits for, and the rank that causes it. */
struct awaits {
    enum {
        AWAITS_MESSAGE,
        AWAITS_CREDIT, /* permission to send */
        AWAITS_SHARED, /* a message to that rank, a neighbour, in whose window this rank reads it */
        /* the acknowledgement that that rank has copied a message from this rank's memory */
        AWAITS_RETURN,
    } what;
    int rank; /* world rank */
};
/* Finds the event that a run waits for. Returns false if it waits for its own device, or can go
 * on. */
bool ncoll__run_awaits(struct ncoll_group *g, struct run *run, struct awaits *out);

/* ------------------------------------------------------------------ deadlock.c --------------- */

/* Tells the position of a run to the peer that it waits for, on behalf of the rank that asks.
 * Returns false if it waits for no peer, or if the position could not be sent now. */
bool ncoll__tell(struct ncoll_group *g, struct run *run, const struct question *question);
/* Handles a peer's position. If this rank has to wait for another rank before it can do what the
 * peer waits for, passes the peer's question on to that rank. Reports a deadlock if the question
 * has come back. */
void ncoll__ask_on(struct ncoll_context *ctx, int teller, const struct position *position);
/* Passes on the questions that could not be passed on the last time. */
void ncoll__ask_on_again(struct ncoll_context *ctx);
/* True if a question that could not be passed on is kept for that world rank. This rank tells that
 * one nothing of its own meanwhile. */
bool ncoll__is_held_for(const struct ncoll_context *ctx, int rank);

#endif
