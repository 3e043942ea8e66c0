/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for a call: spin, then yield, then sleep; and look after the peers meanwhile. */
#include "lib/call/call.h"
#include "lib/failure/failure.h"
#include "transport/relax.h"

/* Passes between two looks at the clock: a look costs about as much as a message between cores. */
#define PASSES 64u
/* A sleeping rank wakes up this often to look after its peers. */
#define NAP_NS 50000000
/* What a call waits for before it starts may come without waking anybody. */
#define PREPARING_NAP_NS 200000

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

    if (!ncoll__is_alone(g) || is_preparing(g))
        return 0;
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++) {
        const struct run *run = run_of(g, e);
        if (run->call == NULL)
            continue;
        if (run->waits_for == NO_SLOT && run->looks_at == NULL)
            return 0;
        awaited[n++] =
            (struct awaited){e, run->waits_for, run->waits_for == NO_SLOT ? run->looks_at : NULL};
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

    ncoll__advance(g);
    if (c->state == CALL_ENDED)
        return c->status;
    ncoll__advance_others(g);
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
            check_blocked(g, timeout_ns == NCOLL_BLOCK ? c : NULL, now); /* once at least */
            if (now >= deadline)
                return NCOLL_TIMEOUT;
            lose_patience(g, &patience, now, deadline);
        } else {
            ncoll__relax();
        }
        ncoll__advance(g);
        if (c->state == CALL_ENDED)
            return c->status;
        if (!ncoll__is_alone(g))
            ncoll__advance_others(g);
    }
}
