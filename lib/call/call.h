/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands between the public collectives and the runs of their schedules. */
#ifndef NCOLL_LIB_CALL_H
#define NCOLL_LIB_CALL_H

#include "lib/internal.h"

/* Plans a call whose arguments have been checked, and queues it. NCOLL_OK or an error. */
int ncoll__call_start(struct ncoll_group *g, struct call *c, const struct call_args *args);

/* The call as it is before it is planned. */
void ncoll__call_clear(struct call *c, const struct call_args *args);

/* strict.c: the same as ncoll__call_start(), for arguments with .sync. */
int ncoll__strict_start(struct ncoll_group *g, struct call *c, const struct call_args *args);

/* Queues a call whose plan is known, one that has ended or is all 0, and does what can be done
 * without waiting. NCOLL_OK or an error. */
int ncoll__call_restart(struct ncoll_group *g, struct call *c, const struct call_args *args,
                        struct plan *plan);

/* Waits for it a little, if there is nothing else to look after. */
void ncoll__call_spin(struct ncoll_group *g, struct call *c);

/* The group's blocking call is one that it has made before; the group has no calls, and no other
 * group has. Waits a little, if so allowed. NCOLL_OK: it has ended; NCOLL_TIMEOUT: it is queued,
 * and to be driven like any other; or the error that it ended with. */
int ncoll__call_again(struct ncoll_group *g, struct repeat *repeat, bool may_spin);
/* A blocking call has ended well, which had these arguments, loose and without a copy, and this
 * plan: remembers it if it may be made so the next time. */
void ncoll__call_remember(struct ncoll_group *g, const struct call_args *args, struct plan *plan);

/* staging.c: before a call is queued, NCOLL_OK or an error; when it begins, if it has a copy; when
 * it has ended. */
int ncoll__stage(struct ncoll_group *g, struct call *c);
void ncoll__stage_in(struct ncoll_group *g, struct call *c);
void ncoll__unstage(struct ncoll_group *g, struct call *c, int status);

/* queue.c: ends a call, or all that are unfinished on a group. */
void ncoll__call_end(struct ncoll_group *g, struct call *c, int status);
void ncoll__calls_end(struct ncoll_group *g, int status);

/* neighbours.c: a run begins in which ranks look at their neighbours' slots. */
void ncoll__neighbours_begin(struct ncoll_group *g, struct run *run);
/* Whether neighbours have finished what they look at here: one that has not; the own rank if all
 * have. */
unsigned ncoll__neighbours_ask(struct ncoll_group *g);

/* A run has to wait for something of a rank that is no message: room, or a credit. Returns
 * NCOLL_TIMEOUT. */
static inline int ncoll__run_waits_for(struct ncoll_group *g, struct run *run, unsigned rank)
{
    run->waits_for = NO_SLOT;
    run->looks_at = NULL;
    run->waits_for_rank = ncoll__world_rank(g, rank);
    return NCOLL_TIMEOUT;
}

/* No rank is to blame, not even one that has left meanwhile. */
static inline int ncoll__run_waits_for_device(struct ncoll_group *g, struct run *run)
{
    return ncoll__run_waits_for(g, run, (unsigned)g->rank);
}

/* credits.c: asks the device whether it has read all that finished runs have put. */
bool ncoll__drain(struct ncoll_group *g);
/* Whether it has. */
static inline bool ncoll__all_drained(struct ncoll_group *g)
{
    return !g->undrained || ncoll__drain(g);
}
/* The one that is due to rank q before the run, if one is; not before it can say what q needs. */
int ncoll__credit_at_start(struct ncoll_group *g, struct run *run, unsigned q);
/* Those that are due after it. For want of room some may stay out: they are due again at the start
 * of a later run. */
int ncoll__credits_at_end(struct ncoll_group *g, struct run *run);

/* Takes back what a request keeps. */
void ncoll__request_drop(struct ncoll_request *r);

/* advance.c: gets on with the group's calls, without waiting, until none is left or nothing more
 * can be done. NCOLL_OK, or the error that has ended them all. */
int ncoll__advance(struct ncoll_group *g);
/* The same for all other groups. */
void ncoll__advance_others(struct ncoll_group *g);
/* No other group has calls. */
static inline bool ncoll__is_alone(const struct ncoll_group *g)
{
    for (const struct ncoll_group *other = g->ctx->busy; other != NULL; other = other->next_busy)
        if (other != g && other->first != NULL)
            return false;
    return true;
}
/* The calls cannot go on for the reason rc, so that the job has failed, if it had not before: ends
 * them all. Returns the failure. */
int ncoll__calls_broke(struct ncoll_group *g, int rc);

/* wait.c: drives the group's calls until this one has ended, for at most timeout_ns: its status, or
 * NCOLL_TIMEOUT. */
int ncoll__call_drive(struct ncoll_group *g, struct call *c, int64_t timeout_ns);

/* Does what can be done without waiting, for one group or all. NCOLL_OK, or the error that ended
 * something. */
int ncoll__group_progress(struct ncoll_group *g);
int ncoll__progress(struct ncoll_context *ctx);

/* group.c: the group is in the middle of another call. NCOLL_ERR_BUSY, recorded. */
int ncoll__group_busy(struct ncoll_group *g);
/* It is being freed: no further call may start. */
bool ncoll__group_ending(const struct ncoll_group *g);

#endif
