/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes wrong elsewhere: ranks that are gone, that call something else, that wait for each
 * other. */
#ifndef NCOLL_LIB_FAILURE_H
#define NCOLL_LIB_FAILURE_H

#include "lib/internal.h"

/* ------------------------------------------------------------------ failure.c ---------------- */

/* Callbacks for the transport. */
void ncoll__on_peer_gone(void *ctx, int rank, enum control_kind how, const char *why);
void ncoll__on_control(void *ctx, int from_rank, const struct control *message);
/* The job is broken for this rank; the first failure stays. */
void ncoll__broken(struct ncoll_context *ctx, const struct failure *failure);
/* What ncoll__fail() recorded last, as a failure of the job. */
struct failure ncoll__failure_of_error(const struct ncoll_context *ctx);
/* This rank cannot go on, and has recorded why: the others, which wait for it, are told. */
int ncoll__break_job(struct ncoll_context *ctx);
/* This rank is about to leave: tells what the others would not hear otherwise. */
void ncoll__quit(struct ncoll_context *ctx);
/* A rank that is needed has left. */
int ncoll__peer_left(struct ncoll_context *ctx, int rank);
/* Records a failure that the bootstrap knows of. */
void ncoll__ask_bootstrap(struct ncoll_context *ctx);
/* A put to a rank was refused. */
int ncoll__peer_unreachable(struct ncoll_context *ctx, int rank);
/* Whether there is a failure that breaks the group's first run that is not over: a mismatch in a
 * later one does not. */
bool ncoll__is_broken(const struct ncoll_group *g);
/* The failure, if there is one, as a status with the error recorded, and told to all peers once. */
int ncoll__failure(struct ncoll_context *ctx);
/* Looks after peers, bootstrap and slots: every now and then, from a rank that waits. */
void ncoll__check(struct ncoll_group *g, uint64_t now_ns);

/* ------------------------------------------------------------------ blame.c ------------------ */

/* Tells the bootstrap because of whom this rank cannot go on. */
void ncoll__publish_blame(struct ncoll_context *ctx);
/* Who is to blame for a peer's being gone, as far as the bootstrap knows: another one, which it has
 * named, or that peer itself; -1: it does not know, or not yet. */
int ncoll__culprit(struct ncoll_context *ctx, int rank);
/* A peer is gone: records who is to blame for that as the failure. */
void ncoll__accuse(struct ncoll_context *ctx, int rank, const char *why);
/* The same, but leaves time to hear of that while ranks connect each other. */
void ncoll__suspect(struct ncoll_context *ctx, int rank, const char *why);
/* Whether that is over. From a rank that waits, every now and then. */
void ncoll__judge_suspect(struct ncoll_context *ctx);
/* While a context is created: there is an error, NCOLL_ERR_PEER, about a peer that is gone. Looks
 * for who is to blame, for half a second at most. Returns the status of an error that says it. */
int ncoll__find_culprit(struct ncoll_context *ctx);
/* As the transport's ready(): NCOLL_ERR_PEER comes with an error that says who is to blame. */
int ncoll__ready(struct ncoll_context *ctx, const int *peers, unsigned n_peers);

/* ------------------------------------------------------------------ mismatch.c --------------- */

/* This rank called `mine`, another one (of the world) `theirs`. Returns NCOLL_ERR_MISMATCH. */
int ncoll__mismatch(struct ncoll_group *g, struct card mine, int rank, struct card theirs);
/* Whoever put the message with this card in this slot, of this rank of the group, called something
 * else. Returns NCOLL_ERR_MISMATCH. */
int ncoll__mismatch_in_slot(struct ncoll_group *g, struct card mine, unsigned rank, unsigned slot,
                            struct card theirs);
/* Callback for the transport. */
void ncoll__on_position(void *ctx, int from_rank, const struct position *position);
/* What a rank that waits can do to see them, or to let others see them. */
void ncoll__look_for_mismatches(struct ncoll_context *ctx, uint64_t now_ns);

/* ------------------------------------------------------------------ deadlock.c --------------- */

/* Tells the peer that a run waits for where it waits, on behalf of who asks. False: it waits for
 * none, or that could not be told now. */
bool ncoll__tell(struct ncoll_group *g, struct run *run, const struct question *question);
/* A peer has told its position: asks those that this rank waits for itself. */
void ncoll__ask_on(struct ncoll_context *ctx, int teller, const struct position *position);

#endif
