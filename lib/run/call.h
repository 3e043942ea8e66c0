/* SPDX-License-Identifier: BSD-3-Clause */
/* The layer between the public collectives and the runs of their schedules. */
#ifndef NCOLL_LIB_CALL_H
#define NCOLL_LIB_CALL_H

#include "lib/base/group.h"
#include "lib/plan/plan.h"

/* begin.c: begins a call of the user's. The call ends at once, or is queued, and the caller has to
 * drive it. If may_spin is set, the function waits for messages for a short time. Returns NCOLL_OK
 * or an error. */
int ncoll__begin(struct ncoll_group *g, struct call *c, struct known_call *k, bool may_spin);
/* Begins the blocking call of a known call that is plain (known_call.plain), while ctx->pending is
 * 0. Returns NCOLL_OK: the call has ended; NCOLL_TIMEOUT: it is queued; or the error that ended
 * it. */
int ncoll__begin_again(struct ncoll_group *g, struct known_call *k, bool may_spin);

/* known.c: returns the recent call with these arguments; NULL if there is none. */
struct known_call *ncoll__known_find(struct ncoll_group *g, const struct call_args *args);
/* Plans a call whose arguments have been checked, and adds it to the recent calls. Returns NCOLL_OK
 * or an error. */
int ncoll__known_add(struct ncoll_group *g, const struct call_args *args, struct known_call **out);
/* Notes that this blocking call follows the latest one. The next look-up after that one tries it
 * first. */
void ncoll__known_follows(struct ncoll_group *g, struct known_call *k);
/* Notes that a blocking call has ended with NCOLL_OK. */
void ncoll__known_ended(struct ncoll_group *g, struct known_call *k);
/* Copies a known call that has a plan, for a persistent request. */
void ncoll__known_keep(struct known_call *k, const struct known_call *from);
/* Replaces the plan of a persistent request's known call by one of the present era. Returns
 * NCOLL_OK or an error. */
int ncoll__known_renew(struct ncoll_group *g, struct known_call *k);

/* True if the plan may be used as it is: it is of this era, and its peers are connected. */
static inline bool ncoll__plan_is_ready(const struct ncoll_group *g, const struct plan *plan)
{
    return plan->wired && plan->era == g->known.era;
}

/* Returns the number of times that a call looks at its flags before it does anything else. */
static inline unsigned ncoll__looks(const struct ncoll_context *ctx)
{
    return ctx->transport->must_progress ? 0 : ctx->waiting.looks;
}

/* Replaces buffers that are NULL, as in a barrier, by the address of a dummy byte. */
void ncoll__call_set_nothing(struct call *c);

/* staging.c: true if a call with these arguments works on a copy of the user's data. */
bool ncoll__needs_copy(const struct ncoll_group *g, const struct call_args *args);
/* Allocate the memory of the copies before the call is queued (returns NCOLL_OK or an error), fill
 * it when the call begins, and free it when the call has ended. */
int ncoll__stage(struct ncoll_group *g, struct call *c);
void ncoll__stage_in(struct ncoll_group *g, struct call *c);
void ncoll__unstage(struct ncoll_group *g, struct call *c, int status);

/* queue.c: ends a call that is not in the queue, with this status. */
void ncoll__call_over(struct ncoll_group *g, struct call *c, int status);
/* End a queued call, or all unfinished calls of a group, with this status. */
void ncoll__call_end(struct ncoll_group *g, struct call *c, int status);
void ncoll__calls_end(struct ncoll_group *g, int status);

/* neighbours.c: begins a run in which ranks look at their neighbours' slots. */
void ncoll__neighbours_begin(struct ncoll_group *g, struct run *run);
/* Returns a neighbour that has not finished a run in which it looks at this rank's slots; this rank
 * if all neighbours have finished such runs. */
unsigned ncoll__neighbours_ask(struct ncoll_group *g);

/* Notes that a run waits for a rank, but for none of its messages: for room to send to it, or for
 * its credit. Returns NCOLL_TIMEOUT. */
static inline int ncoll__run_waits_for(struct ncoll_group *g, struct run *run, unsigned rank)
{
    run->waits_for = NO_SLOT;
    run->looks_at = NULL;
    run->waits_for_rank = ncoll__world_rank(g, rank);
    return NCOLL_TIMEOUT;
}

/* Notes that a run waits for this rank's device. The rank that it waits for is then this one, so
 * that the wait is not put down to another rank that has left. */
static inline int ncoll__run_waits_for_device(struct ncoll_group *g, struct run *run)
{
    return ncoll__run_waits_for(g, run, (unsigned)g->rank);
}

/* credits.c: asks the device. Returns true if it has sent all data that finished runs have put. */
bool ncoll__drain(struct ncoll_group *g);
/* True if the device has sent all data that finished runs have put. */
static inline bool ncoll__all_drained(struct ncoll_group *g)
{
    return !g->undrained || ncoll__drain(g);
}
/* Gives rank q the credit that is due before the run, if one is due. Returns NCOLL_OK;
 * NCOLL_TIMEOUT: the run has to wait, for the device, or for neighbours to finish earlier runs; or
 * an error. */
int ncoll__credit_at_start(struct ncoll_group *g, struct run *run, unsigned q);
/* Gives the credits that are due before the run to ranks whose scratch this rank has read in an
 * earlier run of the same set. Those ranks write to that scratch again only with these credits. */
int ncoll__credits_to_read(struct ncoll_group *g, struct run *run);
/* Gives the credits that are due after the run. If there is no room to send some of them, they are
 * due again at the start of a later run. */
int ncoll__credits_at_end(struct ncoll_group *g, struct run *run);

/* Frees everything that a request holds. */
void ncoll__request_drop(struct ncoll_request *r);
/* request.c: returns the memory of a new request, zeroed except for its group; NULL: there is none,
 * and the error is recorded. */
struct ncoll_request *ncoll__request_take(struct ncoll_group *g);
/* Keeps the memory of a request that has ended, or was never started, for a later request. */
void ncoll__request_give(struct ncoll_request *r);

/* advance.c: advances the group's calls, without waiting, as far as possible. Returns NCOLL_OK, or
 * the error that has ended them all. */
int ncoll__advance(struct ncoll_group *g);
/* Advances the calls of all other groups. */
void ncoll__advance_others(struct ncoll_group *g);
/* True if no other group has unfinished calls, and nothing is withheld (lib/stale/mailbox.c). */
static inline bool ncoll__is_alone(const struct ncoll_group *g)
{
    if (g->ctx->withheld > 0)
        return false;
    for (const struct ncoll_group *other = g->ctx->busy; other != NULL; other = other->next_busy)
        if (other != g && other->first != NULL)
            return false;
    return true;
}
/* Ends all calls of the group because of the error rc, which breaks the job unless it was broken
 * before. Returns the status of the failure. */
int ncoll__calls_broke(struct ncoll_group *g, int rc);

/* wait.c: waits for a call that has just begun, for a short time, if nothing else needs
 * attention. */
void ncoll__call_spin(struct ncoll_group *g, struct call *c);
/* Drives the group's calls until this one has ended, for at most timeout_ns. Returns its status, or
 * NCOLL_TIMEOUT. */
int ncoll__call_drive(struct ncoll_group *g, struct call *c, int64_t timeout_ns);

/* Requests of one context, of which a rank waits for all, or for any. Entries that are NULL or not
 * started do not count. */
struct several {
    ncoll_request *const *requests;
    size_t n;
    bool all;
    /* 0 at first. With `all`, in the end: the index of the first request that has failed; n if none
     * has. */
    size_t at;
};
/* Drives the calls of the context until any of the requests has ended; with `all`, until all have
 * ended, or one has failed and all before it have ended. If none is unfinished, it returns at once.
 * It takes at most timeout_ns. Returns NCOLL_OK or NCOLL_TIMEOUT. The requests that have ended are
 * left to the caller (lib/api/several.c). */
int ncoll__several_drive(struct several *s, int64_t timeout_ns);

/* Returns a number that changes whenever a call of the group advances. */
uint64_t ncoll__progress_of(struct ncoll_group *g);

/* Advances one group, or all groups, without waiting. Returns NCOLL_OK, or the error that ended a
 * call. */
int ncoll__group_progress(struct ncoll_group *g);
int ncoll__progress(struct ncoll_context *ctx);

/* group.c: records that another call is going on in the group. Returns NCOLL_ERR_BUSY. */
int ncoll__group_busy(struct ncoll_group *g);
/* True if the group is being freed, so that no further call may start. */
bool ncoll__group_ending(const struct ncoll_group *g);

/* executor.c */

/* Starts the next run of a call, in the next epoch. The peers of its plan have to be connected. */
void ncoll__run_start(struct ncoll_group *g, struct call *c);
/* Advances a run as far as possible, with up to `looks` further looks for messages that have not
 * arrived. Returns NCOLL_OK: the run has ended; NCOLL_TIMEOUT: it waits (run->waits_for); or an
 * error. */
int ncoll__run_advance(struct ncoll_group *g, struct run *run, unsigned looks);
/* Starts the only run of a call, on a group without other calls, and advances it as
 * ncoll__run_advance() does. The first messages of the run leave before the rest of its
 * preparation, which is done while they are in flight. */
int ncoll__run_at_once(struct ncoll_group *g, struct call *c, unsigned looks);
/* Starts the only run of a call on mailboxes (lib/stale), and advances it as ncoll__run_advance()
 * does. */
int ncoll__run_stale_at_once(struct ncoll_group *g, struct call *c, unsigned looks);

/* True if the message that a run waits for has arrived. */
static inline bool ncoll__run_has_come(const struct ncoll_group *g, const struct run *run)
{
    if (run->waits_for != NO_SLOT)
        return window_raised(g->window, run->epoch, run->waits_for);
    return run->looks_at != NULL &&
           atomic_load_explicit(run->looks_at, memory_order_acquire) >= run->epoch;
}

/* agree.c, trial.c */

/* Queue the calls that have to precede a call: the agreement on its counts, or a trial. The caller
 * then queues the call itself. Return NCOLL_OK or an error. */
int ncoll__agree_first(struct ncoll_group *g, struct call *c);
int ncoll__trial_first(struct ncoll_group *g, struct call *c);
/* True if the trial has yet to find the radix of calls like this one. */
bool ncoll__trial_wanted(const struct ncoll_group *g, const struct call_args *args);

/* wait.c, queue.c */

/*
 * The barrier that ends the creation of a context. It is a one-way dissemination even if the user
 * forces another algorithm. It connects each rank with O(log P) others. Over these connections
 * ranks notice and report failures while the peers of later schedules are being connected.
 */
int ncoll__first_barrier(struct ncoll_group *g, int64_t timeout_ns);
/* Queue a call at the end, or in front of another call that has not started. */
void ncoll__call_queue(struct ncoll_group *g, struct call *c);
void ncoll__call_queue_before(struct ncoll_group *g, struct call *c, struct call *before);
/* Plans a call of the library's own and queues it in front of `before`, a call that has not
 * started; before NULL: at the end. Returns NCOLL_OK or an error. */
int ncoll__call_queue_own(struct ncoll_group *g, struct call *c, struct call *before);
/* Called before a group is freed: ends its unfinished calls, whose status nobody gets, and releases
 * its requests. */
void ncoll__calls_free(struct ncoll_group *g);

#endif
