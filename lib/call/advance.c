/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Getting on. The calls of a group start their runs in the order in which they were made, a few
 * runs at once, and may end in any order. A call that has to connect its peers first holds up those
 * behind it.
 */
#include "lib/call/call.h"
#include "lib/failure/card.h"
#include "lib/failure/failure.h"
#include "lib/plan/compile.h"

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

/* What comes before a call's first run, once. What no rank can do ends this call alone. */
static int prepare(struct ncoll_group *g, struct call *c)
{
    int rc = c->prepare(g, c);

    if (rc == NCOLL_ERR_UNSUPPORTED)
        ncoll__call_end(g, c, rc);
    else if (rc == NCOLL_OK)
        c->prepare = NULL;
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
        if (__builtin_expect(c->prepare != NULL, 0) && (rc = prepare(g, c)) != NCOLL_OK) {
            if (rc == NCOLL_ERR_UNSUPPORTED || (rc == NCOLL_TIMEOUT && g->starting != c))
                continue; /* without it, or with what it has queued in front of itself */
            return rc;
        }
        if (__builtin_expect(!c->plan->wired, 0) && (rc = wire(g, c)) != NCOLL_OK) {
            if (rc == NCOLL_TIMEOUT && g->starting != c)
                continue; /* the exchange comes first */
            return rc;
        }
        while (c->started < c->plan->segments) {
            if (c->started - c->finished >= c->plan->lanes ||
                !ncoll__credit_may_start(&g->credits, g->next_epoch))
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
        ncoll__fail(ctx, (ncoll_status)rc, -1, "please report this", "a collective cannot go on");
    if (failed == NCOLL_OK)
        failed = ncoll__break_job(ctx);
    ncoll__calls_end(g, failed);
    return failed;
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
        int rc = ncoll__run_advance(g, run, 0);
        *moved |= run->next != before || rc == NCOLL_OK;
        if (rc == NCOLL_TIMEOUT)
            continue;
        if (rc != NCOLL_OK)
            return rc;
        run->call = NULL;
        if (++c->finished == c->plan->segments)
            ncoll__call_end(g, c, NCOLL_OK);
    }
    return NCOLL_OK;
}

/* Whether something that a run waits for has come. */
static bool something_came(struct ncoll_group *g)
{
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++) {
        const struct run *run = run_of(g, e);
        if (run->call != NULL && ncoll__run_has_come(g, run))
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
            ncoll__run_has_come(g, run))
            continue;
        ncoll__ask_bootstrap(g->ctx); /* it may have left because of another one */
        ncoll__peer_left(g->ctx, run->waits_for_rank);
    }
}

int ncoll__advance(struct ncoll_group *g)
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
    return rc >= 0 ? NCOLL_OK : ncoll__calls_broke(g, rc);
}

/* A peer may wait for one of them before it comes to this one's. Those that have no calls left are
 * taken out of the list. */
void ncoll__advance_others(struct ncoll_group *g)
{
    struct ncoll_group **link = &g->ctx->busy;

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
