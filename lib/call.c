/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls: started, queued, driven. The calls of a group start their runs in the order in which they
 * were made, a few runs at once, and may end in any order. A call that has to connect its peers
 * first holds up those behind it. What the user calls is in collectives.c.
 */
#include "lib/call.h"

#include <string.h>

#include "lib/card.h"
#include "lib/compile.h"
#include "lib/inspect.h"
#include "lib/internal.h"
#include "transport/relax.h"

/* Passes between two looks at the clock: a look costs about as much as a message between cores. */
#define PASSES 64u
/* Looks at the flag that a repeated call waits for, before all else is looked after. */
#define LOOKS 1000u
/* A sleeping rank wakes up this often to look after its peers. */
#define NAP_NS 50000000
/* What a call waits for before it starts may come without waking anybody. */
#define PREPARING_NAP_NS 200000

/* For a barrier, so that no null pointer meets pointer arithmetic. */
static unsigned char nothing;

/* ------------------------------------------------------------------ the queue ----------------- */

static void now_busy(struct ncoll_group *g)
{
    g->busy = true;
    g->next_busy = g->ctx->busy;
    g->ctx->busy = g;
}

void ncoll__call_queue(struct ncoll_group *g, struct call *c)
{
    c->state = CALL_QUEUED;
    c->next = NULL;
    if (g->last != NULL)
        g->last->next = c;
    else
        g->first = c;
    g->last = c;
    if (g->starting == NULL)
        g->starting = c;
    if (__builtin_expect(!g->busy, 0))
        now_busy(g);
}

void ncoll__call_queue_before(struct ncoll_group *g, struct call *c, struct call *before)
{
    struct call **link = &g->first;

    while (*link != before)
        link = &(*link)->next;
    c->state = CALL_QUEUED;
    c->next = before;
    *link = c;
    if (g->starting == before)
        g->starting = c;
}

static void unlink_call(struct ncoll_group *g, struct call *c)
{
    struct call *before = NULL, **link = &g->first;

    while (*link != c) {
        before = *link;
        link = &before->next;
    }
    *link = c->next;
    if (g->last == c)
        g->last = before;
    if (g->starting == c)
        g->starting = c->next;
}

static void end_call(struct ncoll_group *g, struct call *c, int status)
{
    unlink_call(g, c);
    c->state = CALL_ENDED;
    c->status = status;
    if (c->plan != NULL)
        ncoll__plan_leave(g, c->plan);
    if (__builtin_expect(c->copy != NULL, 0))
        ncoll__unstage(g, c);
    c->plan = NULL;
    if (c->ended != NULL)
        c->ended(g, c);
}

/* What is unfinished on a group that has failed will never end. */
static void end_all(struct ncoll_group *g, int status)
{
    memset(g->runs, 0, sizeof g->runs);
    while (g->first != NULL)
        end_call(g, g->first, status);
}

void ncoll__request_drop(struct ncoll_request *r)
{
    if (r->plan != NULL)
        ncoll__plan_leave(r->group, r->plan);
    ncoll__release(r->group->ctx, r->arrays);
    r->plan = NULL;
    r->arrays = NULL;
    r->magic = 0;
}

void ncoll__calls_free(struct ncoll_group *g)
{
    end_all(g, NCOLL_ERR_PEER);
    for (struct ncoll_request *r = g->ctx->requests; r != NULL; r = r->next)
        if (r->group == g && r->magic == REQUEST_MAGIC)
            ncoll__request_drop(r);
}

/* ------------------------------------------------------------------ starting ------------------ */

static int wire(struct ncoll_group *g, struct call *c)
{
    struct plan *plan = c->plan;
    int rc;

    if (c->state == CALL_QUEUED) {
        if (ncoll__peers_wired(g, plan))
            return ncoll__plan_wire(g, plan);
        rc = ncoll__wiring_start(g, c, plan->peers, plan->n_peers, plan->depth,
                                 ncoll__card_with(plan->card, ERRAND_WIRE));
        c->state = CALL_WIRING;
        return rc == NCOLL_OK ? NCOLL_TIMEOUT : rc;
    }
    rc = ncoll__wiring_test(g);
    if (rc == NCOLL_OK)
        rc = ncoll__plan_wire(g, plan);
    if (rc == NCOLL_OK)
        rc = ncoll__peers_now_wired(g, plan);
    return rc;
}

/* Starts what runs can start. NCOLL_OK, NCOLL_TIMEOUT while peers are being connected, or an
 * error. */
static int start_runs(struct ncoll_group *g)
{
    struct call *c;
    int rc;

    while ((c = g->starting) != NULL) {
        if (c->alone && c->started == 0 && c != g->first)
            return NCOLL_OK;
        if (__builtin_expect(c->prepare != NULL, 0)) {
            if ((rc = c->prepare(g, c)) == NCOLL_TIMEOUT && g->starting != c)
                continue; /* something comes first */
            if (rc != NCOLL_OK)
                return rc;
            c->prepare = NULL;
        }
        if (__builtin_expect(!c->plan->wired, 0) && (rc = wire(g, c)) != NCOLL_OK) {
            if (rc == NCOLL_TIMEOUT && g->starting != c)
                continue; /* the exchange comes first */
            return rc;
        }
        while (c->started < c->plan->segments) {
            if (!ncoll__credit_may_start(&g->credits, g->next_epoch))
                return NCOLL_OK;
            ncoll__run_start(g, c);
        }
        c->state = CALL_RUNNING;
        g->starting = c->next;
    }
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ advancing ----------------- */

/* Ends all calls; returns the failure of the job, if it has failed, else rc. */
static int broke(struct ncoll_group *g, int rc)
{
    int failed = ncoll__failure(g->ctx);

    rc = failed != NCOLL_OK ? failed : rc;
    end_all(g, rc);
    return rc;
}

/* Every run as far as it can. *moved: one of them got on. */
static int advance_runs(struct ncoll_group *g, bool *moved)
{
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++) {
        struct run *run = run_of(g, e);
        struct call *c = run->call;
        if (c == NULL)
            continue;
        unsigned before = run->next;
        int rc = ncoll__run_advance(g, run);
        *moved |= run->next != before || rc == NCOLL_OK;
        if (rc == NCOLL_TIMEOUT)
            continue;
        if (rc != NCOLL_OK)
            return rc;
        run->call = NULL;
        if (++c->finished == c->plan->segments)
            end_call(g, c, NCOLL_OK);
    }
    return NCOLL_OK;
}

/* Whether something that a run waits for has come. */
static bool something_came(struct ncoll_group *g)
{
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++) {
        const struct run *run = run_of(g, e);
        if (run->call != NULL && run->waits_for != NO_SLOT &&
            window_raised(g->window, e, run->waits_for))
            return true;
    }
    return false;
}

/* A peer that said goodbye will not send what has not come by now. */
static void look_for_leavers(struct ncoll_group *g)
{
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++) {
        const struct run *run = run_of(g, e);
        if (run->call == NULL || !g->ctx->peers[run->waits_for_rank].left ||
            (run->waits_for != NO_SLOT && window_raised(g->window, e, run->waits_for)))
            continue;
        ncoll__ask_bootstrap(g->ctx); /* it may have left because of another one */
        ncoll__peer_left(g->ctx, run->waits_for_rank);
    }
}

/*
 * Gets on with the group's calls, without waiting, until none is left or nothing more can be done.
 * NCOLL_OK, or the error that has ended them all.
 */
static int advance(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;
    struct transport *t = ctx->transport;
    bool asked = false;
    int rc = NCOLL_OK;

    while (g->first != NULL) {
        bool moved = false;
        rc = start_runs(g);
        if (rc >= 0)
            rc = advance_runs(g, &moved);
        if (rc < 0)
            break;
        if (moved) {
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
    return rc >= 0 ? NCOLL_OK : broke(g, rc);
}

/* The other groups' calls go on as well: a peer may wait for one of them before it comes to this
 * one's. Those that have none left are taken out of the list. */
static void advance_others(struct ncoll_group *g)
{
    struct ncoll_group **link = &g->ctx->busy;

    while (*link != NULL) {
        struct ncoll_group *other = *link;
        if (other == g || other->first != NULL) {
            link = &other->next_busy;
            if (other != g)
                advance(other);
        } else {
            *link = other->next_busy;
            other->busy = false;
        }
    }
}

static bool alone(const struct ncoll_group *g)
{
    return g->ctx->busy == g && g->next_busy == NULL;
}

/* ------------------------------------------------------------------ waiting ------------------- */

/* Time spent on one wait, from the moment that the calls last got on. */
struct patience {
    uint64_t mark; /* what changes when they do */
    uint64_t since_ns;
    unsigned rounds;
};

static uint64_t mark_of(struct ncoll_group *g)
{
    uint64_t mark = g->credits.finished * 4096;

    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++)
        mark += run_of(g, e)->next;
    return mark;
}

/* The first call to start waits for what raises no slot: connections, mostly. */
static bool is_preparing(const struct ncoll_group *g)
{
    const struct call *c = g->starting;

    return c != NULL && (c->prepare != NULL || c->state == CALL_WIRING) &&
           (!c->alone || c == g->first);
}

/* The slots that runs wait for; 0 if something else is waited for as well. */
static unsigned list_awaited(struct ncoll_group *g, struct awaited awaited[LANES])
{
    unsigned n = 0;

    if (!alone(g) || is_preparing(g))
        return 0;
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++) {
        const struct run *run = run_of(g, e);
        if (run->call == NULL)
            continue;
        if (run->waits_for == NO_SLOT)
            return 0;
        awaited[n++] = (struct awaited){e, run->waits_for};
    }
    return n;
}

static void lose_patience(struct ncoll_group *g, struct patience *p, uint64_t now,
                          uint64_t deadline)
{
    struct ncoll_context *ctx = g->ctx;
    int64_t nap = deadline - now < NAP_NS ? (int64_t)(deadline - now) : NAP_NS;
    uint64_t mark = mark_of(g);

    if (p->mark != mark)
        *p = (struct patience){.mark = mark, .since_ns = now};
    if (now - p->since_ns < (uint64_t)ctx->settings.spin_ns)
        return;
    struct awaited awaited[LANES];
    unsigned n = list_awaited(g, awaited);
    if (is_preparing(g))
        nap = nap < PREPARING_NAP_NS ? nap : PREPARING_NAP_NS;
    ctx->transport->ops->wait(ctx->transport, g->window, awaited, n, p->rounds++, nap);
}

/* The user makes no other call before this one has ended. */
static void check_blocked(struct ncoll_group *g, struct call *c, uint64_t now)
{
    struct ncoll_context *ctx = g->ctx;

    ctx->blocked_in = c != NULL ? g : NULL;
    ctx->blocked_call = c;
    ncoll__check(g, now);
    ctx->blocked_in = NULL;
    ctx->blocked_call = NULL;
}

int ncoll__call_drive(struct ncoll_group *g, struct call *c, int64_t timeout_ns)
{
    struct ncoll_context *ctx = g->ctx;
    unsigned passes = ctx->settings.spin_ns > 0 ? PASSES : 1;
    struct patience patience = {0};

    advance(g);
    if (c->state == CALL_ENDED)
        return c->status;
    advance_others(g);
    if (timeout_ns == NCOLL_TEST) {
        ncoll__check(g, ncoll__now_ns(ctx)); /* by time: polls may be far apart */
        return NCOLL_TIMEOUT;
    }
    uint64_t now = ncoll__now_ns(ctx);
    uint64_t deadline = timeout_ns == NCOLL_BLOCK ? UINT64_MAX : now + (uint64_t)timeout_ns;
    patience.since_ns = now;
    for (unsigned pass = 1;; pass++) {
        if (pass % passes == 0) { /* a rank that does not spin gives up the core at once */
            now = pass > 1 ? ncoll__now_ns(ctx) : now;
            if (now >= deadline)
                return NCOLL_TIMEOUT;
            check_blocked(g, timeout_ns == NCOLL_BLOCK ? c : NULL, now);
            lose_patience(g, &patience, now, deadline);
        } else {
            ncoll__relax();
        }
        advance(g);
        if (c->state == CALL_ENDED)
            return c->status;
        if (!alone(g))
            advance_others(g);
    }
}

int ncoll__group_progress(struct ncoll_group *g)
{
    if (g->first == NULL)
        return ncoll__failure(g->ctx);
    int rc = advance(g);
    if (rc == NCOLL_OK && g->first != NULL)
        ncoll__check(g, ncoll__now_ns(g->ctx));
    return rc;
}

int ncoll__progress(struct ncoll_context *ctx)
{
    for (struct ncoll_group *g = ctx->busy; g != NULL; g = g->next_busy) {
        int rc = ncoll__group_progress(g);
        if (rc != NCOLL_OK)
            return rc;
    }
    return ncoll__failure(ctx);
}

/* ------------------------------------------------------------------ a call ------------------- */

static void set_nothing(struct call *c)
{
    if (c->args.in == NULL)
        c->args.in = &nothing;
    if (c->args.out == NULL)
        c->args.out = &nothing;
}

int ncoll__call_start(struct ncoll_group *g, struct call *c, const struct call_args *args)
{
    struct ncoll_context *ctx = g->ctx;

    int rc = ncoll__failure(ctx);
    if (rc != NCOLL_OK)
        return rc;
    c->args = *args;
    set_nothing(c);
    c->plan = NULL;
    c->started = c->finished = 0;
    c->prepare = NULL;
    c->ended = NULL;
    c->arg = NULL;
    c->alone = c->last = false;
    if (ctx->settings.trial && !args->internal && g->size > 1 &&
        args->op != NCOLL_SUM_REPRODUCIBLE && ncoll__trial_wanted(g, args->collective))
        rc = ncoll__trial_first(g, c);
    else if (args->sends != NULL && g->size > 1)
        rc = ncoll__agree_first(g, c);
    else
        rc = ncoll__plan(g, &c->args, 0, &c->plan);
    if (rc == NCOLL_OK && (rc = ncoll__stage(g, c)) != NCOLL_OK && c->plan != NULL)
        ncoll__plan_leave(g, c->plan);
    if (rc == NCOLL_OK)
        ncoll__call_queue(g, c);
    return rc;
}

/* ------------------------------------------------------------------ a call that is repeated --- */

/* The one run of the one call of the group, as far as it can. */
static int advance_alone(struct ncoll_group *g, struct call *c, struct run *run)
{
    int rc = ncoll__run_advance(g, run);

    if (rc == NCOLL_TIMEOUT)
        return NCOLL_OK;
    if (rc != NCOLL_OK)
        return broke(g, rc);
    run->call = NULL;
    c->finished = 1;
    end_call(g, c, NCOLL_OK);
    return NCOLL_OK;
}

int ncoll__call_restart(struct ncoll_group *g, struct call *c, const struct call_args *args,
                        struct plan *plan)
{
    bool idle = g->first == NULL;
    int rc = ncoll__failure(g->ctx);

    if (rc != NCOLL_OK)
        return rc;
    c->args = *args; /* what else there is stays as it was when the last one had ended */
    c->plan = plan;
    c->started = c->finished = 0;
    set_nothing(c);
    if ((rc = ncoll__stage(g, c)) != NCOLL_OK)
        return rc;
    plan->users++;
    ncoll__call_queue(g, c);
    if (!idle || !plan->wired || plan->segments > 1)
        return advance(g);
    ncoll__run_start(g, c);
    c->state = CALL_RUNNING;
    g->starting = NULL;
    return advance_alone(g, c, run_of(g, g->next_epoch - 1));
}

void ncoll__call_spin(struct ncoll_group *g, struct call *c)
{
    const struct ncoll_context *ctx = g->ctx;
    struct run *run = run_of(g, g->next_epoch - 1);

    if (run->call != c || g->first != g->last || c->plan->segments > 1 ||
        ctx->transport->must_progress || ctx->settings.spin_ns == 0)
        return;
    for (unsigned look = 0; look < LOOKS && run->waits_for != NO_SLOT; look++) {
        if (!window_raised(g->window, run->epoch, run->waits_for)) {
            ncoll__relax();
            continue;
        }
        if (advance_alone(g, c, run) != NCOLL_OK || c->state == CALL_ENDED)
            return;
    }
}

int ncoll__first_barrier(struct ncoll_group *g, int64_t timeout_ns)
{
    struct call_args args = {.collective = COLL_BARRIER, .radix = 1, .internal = true};

    int rc = ncoll__call_start(g, &g->blocking, &args);
    return rc == NCOLL_OK ? ncoll__call_drive(g, &g->blocking, timeout_ns) : rc;
}
