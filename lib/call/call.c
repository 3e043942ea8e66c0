/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls are planned and queued here; and those that are repeated, without a detour. What the user
 * calls is in collectives.c. */
#include "lib/call/call.h"

#include "lib/failure/failure.h"
#include "lib/inspect.h"

/* At the flags that a repeated call waits for, before all else is looked after: of a rank that
 * spins, and of one that gives up the core after each. */
#define LOOKS        1000u
#define LOOKS_YIELDS 16u

/* For a barrier, so that no null pointer meets pointer arithmetic. */
static unsigned char nothing;

static void set_nothing(struct call *c)
{
    if (c->args.in == NULL)
        c->args.in = &nothing;
    if (c->args.out == NULL)
        c->args.out = &nothing;
}

void ncoll__call_clear(struct call *c, const struct call_args *args)
{
    c->args = *args;
    set_nothing(c);
    c->plan = NULL;
    c->started = c->finished = 0;
    c->prepare = NULL;
    c->ended = NULL;
    c->arg = NULL;
    c->alone = c->last = false;
}

int ncoll__call_start(struct ncoll_group *g, struct call *c, const struct call_args *args)
{
    int rc = ncoll__failure(g->ctx);

    if (rc != NCOLL_OK)
        return rc;
    if (__builtin_expect(args->sync != NCOLL_LOOSE, 0) && g->size > 1)
        return ncoll__strict_start(g, c, args);
    ncoll__call_clear(c, args);
    if ((rc = ncoll__stage(g, c)) != NCOLL_OK)
        return rc;
    if (ncoll__trial_wanted(g, args))
        rc = ncoll__trial_first(g, c);
    else if (args->sends != NULL && g->size > 1)
        rc = ncoll__agree_first(g, c);
    else
        rc = ncoll__plan(g, &c->args, 0, &c->plan);
    if (rc == NCOLL_OK)
        ncoll__call_queue(g, c);
    else
        ncoll__unstage(g, c, rc);
    return rc;
}

/* ------------------------------------------------------------------ a call that is repeated --- */

static unsigned looks(const struct ncoll_context *ctx)
{
    if (ctx->transport->must_progress)
        return 0;
    return ctx->settings.spin_ns > 0 ? LOOKS : LOOKS_YIELDS;
}

/* The one run of the one call of the group has got so far. */
static int got_on(struct ncoll_group *g, struct call *c, struct run *run, int rc)
{
    if (rc == NCOLL_TIMEOUT)
        return NCOLL_OK;
    if (rc != NCOLL_OK)
        return ncoll__calls_broke(g, rc);
    run->call = NULL;
    c->finished = 1;
    ncoll__call_end(g, c, NCOLL_OK);
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
        return ncoll__advance(g);
    c->state = CALL_RUNNING;
    g->starting = NULL;
    rc = ncoll__run_at_once(g, c, 0);
    return got_on(g, c, run_of(g, g->next_epoch - 1), rc);
}

void ncoll__call_spin(struct ncoll_group *g, struct call *c)
{
    struct run *run = run_of(g, g->next_epoch - 1);

    if (run->call == c && g->first == g->last && c->plan->segments == 1 && ncoll__is_alone(g))
        got_on(g, c, run, ncoll__run_advance(g, run, looks(g->ctx)));
}

/*
 * Where ranks have cores of their own an exchange takes about 50 ns, so that the call is not even
 * queued before it has to wait for longer than that: nobody could see it there meanwhile.
 */
int ncoll__call_again(struct ncoll_group *g, struct repeat *repeat, bool may_spin)
{
    struct call *c = &g->blocking;

    if (repeat != g->again) {
        ncoll__call_clear(c, &repeat->args);
        g->again = repeat;
    }
    c->plan = repeat->plan;
    c->started = c->finished = 0;
    int rc = ncoll__run_at_once(g, c, may_spin ? looks(g->ctx) : 0);
    if (__builtin_expect(rc == NCOLL_OK, 1)) {
        run_of(g, g->next_epoch - 1)->call = NULL;
        return NCOLL_OK;
    }
    c->plan->users++;
    ncoll__call_queue(g, c);
    c->state = CALL_RUNNING;
    g->starting = NULL;
    return rc == NCOLL_TIMEOUT ? rc : ncoll__calls_broke(g, rc);
}

void ncoll__call_remember(struct ncoll_group *g, const struct call_args *args, struct plan *plan)
{
    /* without what other ranks may have changed, or another call been changed for it */
    bool plain = args->sends == NULL && g->blocking.ended == NULL;

    if (!plain || !plan->kept || !plan->wired || plan->segments > 1)
        return;
    struct repeat *place = NULL;
    for (struct repeat *r = g->repeats; r < g->repeats + REPEATS; r++) {
        bool same = r->plan != NULL && ncoll__same_args(&r->args, args);
        if (same && r->plan == plan)
            return; /* it was queued behind others this time */
        if (same || (r->plan == NULL && place == NULL))
            place = r;
        if (same) /* but what the arrays held */
            break;
    }
    if (place == NULL && g->forgotten++ % REPEATS_KEPT == 0)
        place = &g->repeats[g->forgotten / REPEATS_KEPT % REPEATS];
    if (place != NULL)
        *place = (struct repeat){*args, plan};
}

int ncoll__first_barrier(struct ncoll_group *g, int64_t timeout_ns)
{
    struct call_args args = {.collective = COLL_BARRIER, .radix = 1, .internal = true};

    int rc = ncoll__call_start(g, &g->blocking, &args);
    return rc == NCOLL_OK ? ncoll__call_drive(g, &g->blocking, timeout_ns) : rc;
}
