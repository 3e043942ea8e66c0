/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Advances the calls of a group. Calls start their runs in the order in which they were made;
 * several runs are active at once, and calls may end in any order. A call that must connect its
 * peers first blocks the calls after it.
 */
#include "lib/run/call.h"
#include "lib/run/hooked.h"
#include "lib/run/probes.h"
#include "lib/run/waiting.h"
#include "lib/base/signature.h"
#include "lib/base/failure.h"
#include "lib/choose/planned.h"
#include "lib/plan/plan.h"
#include "lib/plan/compile.h"
#include "lib/stale/stale.h"

/* ------------------------------------------------------------------ starting ------------------ */

/* Replaces the plan of a call by one of the present era, or ends the call if no algorithm can run
 * it. refused: some rank has just had no room for the connections of the old plan. Returns
 * NCOLL_TIMEOUT in both cases, or an error that is a failure of the job. */
static int plan_anew(struct ncoll_group *g, struct call *c, bool refused)
{
    const struct plan *old = c->plan;
    struct call_args args = old->key;
    struct plan *plan;

    int rc = ncoll__plan(g, &args, old->longest, &plan);
    if (rc == NCOLL_OK && refused && plan->algorithm == old->algorithm &&
        plan->radix == old->radix) {
        int full = ncoll__world_rank(g, (unsigned)g->wiring.agreed);
        ncoll__plan_leave(g, plan);
        rc = ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, QUEUES_FULL), full,
                         "leave the choice of the algorithm to ncoll, or use smaller groups",
                         "the device of rank %d has no room in its queues for the connections that "
                         "algorithm %s takes",
                         full, old->algorithm->name);
    }
    if (rc == NCOLL_ERR_UNSUPPORTED)
        ncoll__call_end(g, c, rc);
    if (rc != NCOLL_OK)
        return rc == NCOLL_ERR_UNSUPPORTED ? NCOLL_TIMEOUT : rc;
    ncoll__plan_leave(g, c->plan);
    c->plan = plan;
    if (c->called == 0)
        ncoll__hooked_planned(c);
    c->state = CALL_QUEUED;
    return NCOLL_TIMEOUT;
}

/* Handles the case that some rank has no room for the connections of the call's algorithm. All
 * ranks know this, and do not use the algorithm with this radix from this call on. */
static int do_without(struct ncoll_group *g, struct call *c)
{
    const struct plan *plan = c->plan;
    char radix[RADIX_TEXT];

    ncoll__log(
        g->ctx, NCOLL_LOG_INFO,
        "rank %d has no room for the connections of algorithm %s (n = %s), which is not used "
        "any more",
        ncoll__world_rank(g, (unsigned)g->wiring.agreed), plan->algorithm->name,
        ncoll__radix_text(plan->radix, radix));
    g->refused[ncoll__algorithm_number(plan->algorithm)] = plan->radix;
    ncoll__known_calls_forget(g);
    return plan_anew(g, c, true);
}

/* Connects the peers of a call. Returns NCOLL_OK: they are connected; NCOLL_TIMEOUT: they are not
 * yet, or the call has ended or has got another plan; or an error. */
static int wire(struct ncoll_group *g, struct call *c)
{
    struct plan *plan = c->plan;
    int rc;

    if (c->state == CALL_QUEUED) {
        if (plan->era != g->known.era)
            return plan_anew(g, c, false);
        if (ncoll__peers_wired(g, plan))
            return ncoll__plan_wire(g, plan);
        rc = g->ctx->wiring->start(g, g->window, c, plan->peers, ncoll__peers_by_distance(plan),
                                   plan->n_peers, plan->depth,
                                   ncoll__signature_with(plan->signature, PURPOSE_WIRE));
        c->state = CALL_WIRING;
        return rc == NCOLL_OK ? NCOLL_TIMEOUT : rc;
    }
    rc = g->ctx->wiring->test(g);
    if (rc == NCOLL_ERR_UNSUPPORTED && ncoll__wiring_is_refused(g))
        return do_without(g, c);
    if (rc == NCOLL_OK)
        rc = ncoll__plan_wire(g, plan);
    if (rc != NCOLL_OK)
        return rc;
    PROBE_WIRED(g, c, plan->n_peers);
    return ncoll__peers_now_wired(g, plan);
}

/* Calls c->prepare(), which start_runs() repeats until it is done. NCOLL_ERR_UNSUPPORTED, which all
 * ranks get alike, ends only this call. */
static int prepare(struct ncoll_group *g, struct call *c)
{
    int rc = c->prepare(g, c);

    if (rc == NCOLL_ERR_UNSUPPORTED)
        ncoll__call_end(g, c, rc);
    else if (rc == NCOLL_OK)
        c->prepare = NULL;
    return rc;
}

/* True if the next run of a call may start. If the algorithm's PARTS_FOLLOW, a part starts only
 * when the part before it has ended on the same segment. That is the run plan->segments epochs
 * earlier, and all runs before that one must have ended, too. */
static bool may_start(const struct ncoll_group *g, const struct call *c)
{
    const struct plan *plan = c->plan;
    bool follows = plan->parts > 1 && c->started >= plan->segments &&
                   (plan->algorithm->properties & PARTS_FOLLOW) != 0;

    return ncoll__credit_may_start(&g->credits, g->next_epoch) &&
           (!follows || g->next_epoch <= g->credits.finished + plan->segments);
}

/* Starts all runs that can start. Returns NCOLL_OK, NCOLL_TIMEOUT while peers are being connected,
 * or an error. */
static int start_runs(struct ncoll_group *g)
{
    struct call *c;
    int rc;

    while ((c = g->starting) != NULL) {
        if (c->alone && c->started == 0 && c != g->first)
            return NCOLL_OK;
        if (__builtin_expect(c->prepare != NULL, 0) && (rc = prepare(g, c)) != NCOLL_OK) {
            if (rc == NCOLL_ERR_UNSUPPORTED || (rc == NCOLL_TIMEOUT && g->starting != c))
                continue; /* the call has ended, or has queued other calls in front of itself */
            return rc;
        }
        const struct plan *plan = c->plan;
        if (__builtin_expect(!ncoll__plan_is_ready(g, plan), 0) && (rc = wire(g, c)) != NCOLL_OK) {
            if (rc == NCOLL_TIMEOUT && (g->starting != c || c->plan != plan))
                continue; /* an exchange comes first, or the call has ended or has a new plan */
            return rc;
        }
        while (c->started < c->plan->runs) {
            if (c->started - c->finished >= c->plan->lanes || !may_start(g, c))
                return NCOLL_OK;
            ncoll__run_start(g, c);
        }
        c->state = CALL_RUNNING;
        g->starting = c->next;
    }
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ advancing ----------------- */

int ncoll__calls_broke(struct ncoll_group *g, int rc)
{
    struct ncoll_context *ctx = g->ctx;
    int failed = ncoll__failure(ctx);

    if (failed == NCOLL_OK && ctx->error.status != (ncoll_status)rc)
        ncoll__fail(ctx, BECAUSE(rc, BUG), -1, "please report this", "a collective cannot go on");
    if (failed == NCOLL_OK)
        failed = ncoll__break_job(ctx);
    ncoll__calls_end(g, failed);
    return failed;
}

/* True if a run still waits for a message that has not arrived since the run was last advanced.
 * Before the first step waits_for is not valid: an earlier run has set it. After it, each
 * NCOLL_TIMEOUT has set it for this run. */
static inline bool still_waits(const struct ncoll_group *g, const struct run *run)
{
    return run->next > 0 && run->waits_for != NO_SLOT && !g->unusual &&
           !window_raised(g->window, run->epoch, run->waits_for);
}

/* Advances every run as far as possible. Counts in *moved the runs that have advanced. */
static int advance_runs(struct ncoll_group *g, unsigned *moved)
{
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++) {
        struct run *run = run_of(g, e);
        struct call *c = run->call;
        if (c == NULL || still_waits(g, run))
            continue;
        unsigned before = run->next;
        int rc = ncoll__run_advance(g, run, 0);
        *moved += run->next != before || rc == NCOLL_OK;
        if (rc == NCOLL_TIMEOUT)
            continue;
        if (rc != NCOLL_OK)
            return rc;
        run->call = NULL;
        if (++c->finished == c->plan->runs)
            ncoll__call_end(g, c, NCOLL_OK);
    }
    return NCOLL_OK;
}

/* True if an event that a run waits for has occurred. */
static bool something_came(struct ncoll_group *g)
{
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++) {
        const struct run *run = run_of(g, e);
        if (run->call != NULL && ncoll__run_has_come(g, run))
            return true;
    }
    return false;
}

/* Reports a peer that has left in order if a run waits for it: a message that such a peer has not
 * sent by now will never come. */
static void look_for_leavers(struct ncoll_group *g)
{
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++) {
        const struct run *run = run_of(g, e);
        if (run->call == NULL || !g->ctx->peers[run->waits_for_rank].left ||
            ncoll__run_has_come(g, run) || (ncoll__is_stale(run->call) && ncoll__stale_has_come(g)))
            continue;
        g->ctx->watch->left(g->ctx, run->waits_for_rank);
    }
}

int ncoll__advance(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;
    struct transport *t = ctx->transport;
    bool asked = false;
    int rc = NCOLL_OK;

    while (g->first != NULL) {
        unsigned moved = 0;
        rc = start_runs(g);
        if (rc >= 0)
            rc = advance_runs(g, &moved);
        if (rc < 0)
            break;
        if (moved > 0) {
            ctx->moved += moved;
            asked = false;
            continue;
        }
        if (asked && !something_came(g))
            break;
        if (t->ops->progress == NULL && !something_came(g))
            break;
        if (t->ops->progress != NULL)
            t->ops->progress(t);
        asked = true;
    }
    if (rc >= 0 && g->first != NULL) {
        look_for_leavers(g);
        if (ncoll__is_broken(g))
            rc = ncoll__failure(ctx);
    }
    return rc >= 0 ? NCOLL_OK : ncoll__calls_broke(g, rc);
}

/* Advances the calls of all other groups: a peer may have to finish one of them before it reaches
 * the call that this rank waits for. Removes groups without calls from the list of busy groups. */
void ncoll__advance_others(struct ncoll_group *g)
{
    struct ncoll_group **link = &g->ctx->busy;

    if (g->ctx->withheld > 0)
        ncoll__stale_progress(g->ctx);
    while (*link != NULL) {
        struct ncoll_group *other = *link;
        if (other == g || other->first != NULL) {
            link = &other->next_busy;
            if (other != g)
                ncoll__advance(other);
        } else {
            *link = other->next_busy;
            other->busy = false;
        }
    }
}

int ncoll__group_progress(struct ncoll_group *g)
{
    if (g->first == NULL)
        return ncoll__failure(g->ctx);
    int rc = ncoll__advance(g);
    if (rc == NCOLL_OK && g->first != NULL) {
        uint64_t now_ns = ncoll__now_ns(g->ctx);
        ncoll__waiting_try(g->ctx, now_ns);
        g->ctx->watch->check(g, now_ns);
    }
    return rc;
}

int ncoll__progress(struct ncoll_context *ctx)
{
    if (ctx->withheld > 0 && ctx->transport->ops->progress != NULL)
        ctx->transport->ops->progress(ctx->transport);
    if (ctx->withheld > 0) {
        unsigned before = ctx->withheld;
        ncoll__stale_progress(ctx);
        ctx->moved += before > ctx->withheld ? before - ctx->withheld : 0;
    }
    for (struct ncoll_group *g = ctx->busy; g != NULL; g = g->next_busy) {
        int rc = ncoll__group_progress(g);
        if (rc != NCOLL_OK)
            return rc;
    }
    return ncoll__failure(ctx);
}
