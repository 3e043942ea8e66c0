/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for a call: spins, then yields, then sleeps, and looks after the peers meanwhile. */
#include "lib/run/call.h"
#include "lib/base/failure.h"
#include "lib/plan/compile.h"
#include "lib/run/waiting.h"
#include "lib/stale/stale.h"
#include "transport/relax.h"

/* Instructions of a run that are searched for what it will wait for. */
#define LOOK_AHEAD 64u
#define SLOTS_ALSO 64u /* struct awaited */
/* A sleeping rank wakes up after this time to look after its peers. */
#define NAP_NS 50000000
/* The shorter sleep while a call has not started, since some events that it waits for wake
 * nobody. */
#define PREPARING_NAP_NS 200000

/* The time spent on one wait, since the calls last advanced. */
struct patience {
    uint64_t mark; /* changes with each progress */
    uint64_t since_ns;
    uint64_t looked_ns; /* when the clock was last read, with no progress since */
    unsigned rounds;
};

uint64_t ncoll__progress_of(struct ncoll_group *g)
{
    uint64_t mark = g->credits.finished * 4096;

    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++)
        mark += run_of(g, e)->next;
    return mark;
}

/* True if the first call to start waits for events that raise no slot, mostly for connections. */
static bool is_preparing(const struct ncoll_group *g)
{
    const struct call *c = g->starting;

    return c != NULL && (c->prepare != NULL || c->state == CALL_WIRING) &&
           (!c->alone || c == g->first);
}

static bool is_long(const struct instruction *i)
{
    size_t times = i->kind == STEP_REPEATED ? (size_t)i->more + 1 : 1;

    return times * i->len_bytes > SLOT_PAYLOAD;
}

/*
 * Returns further slots of short messages, as bits, that a run waits for before its next put: nobody
 * needs what it does in between. It is different with a shared wait, at whose message neighbours
 * look: this rank wakes them. 0 if the run's own slot has no bit.
 */
static uint64_t also_awaited(const struct ncoll_group *g, const struct run *run)
{
    const struct program *p = run->program;
    unsigned last = run->next + LOOK_AHEAD < p->count ? run->next + LOOK_AHEAD : p->count;
    uint64_t also = 0;

    if (run->waits_for >= SLOTS_ALSO || ncoll__is_stale(run->call) || run->next >= p->count ||
        p->instructions[run->next].shared_wait || is_long(&p->instructions[run->next]))
        return 0;
    for (unsigned i = run->next + 1; i < last; i++) {
        const struct instruction *next = &p->instructions[i];
        if (next->kind == STEP_PUT || next->kind == STEP_LOOK || is_long(next))
            break;
        if (next->kind != STEP_WAIT)
            continue;
        if (next->slot < SLOTS_ALSO && !window_raised(g->window, run->epoch, next->slot))
            also |= UINT64_C(1) << next->slot;
        if (next->shared_wait)
            break;
    }
    return also;
}

/* Lists the slots that runs wait for. Returns their number; 0 if a run waits for something else. */
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
        awaited[n++] = (struct awaited){e, run->waits_for,
                                        run->waits_for == NO_SLOT ? run->looks_at : NULL, 0};
    }
    if (n == 1 && awaited->word == NULL)
        awaited->also = also_awaited(g, run_of(g, awaited->epoch));
    return n;
}

static void lose_patience(struct ncoll_group *g, struct patience *p, uint64_t now,
                          uint64_t deadline)
{
    struct ncoll_context *ctx = g->ctx;
    int64_t nap = deadline - now < NAP_NS ? (int64_t)(deadline - now) : NAP_NS;
    uint64_t mark = ncoll__progress_of(g);

    if (p->mark != mark)
        *p = (struct patience){.mark = mark, .since_ns = now};
    else if (ctx->waiting.spins && ncoll__is_alone(g) && !is_preparing(g)) /* no other work */
        ncoll__waiting_away(ctx, now, now - p->looked_ns);
    ncoll__waiting_try(ctx, now);
    p->looked_ns = now;
    if (now - p->since_ns < ctx->waiting.spin_ns)
        return;
    struct awaited awaited[LANES];
    unsigned n = list_awaited(g, awaited);
    if (is_preparing(g))
        nap = nap < PREPARING_NAP_NS ? nap : PREPARING_NAP_NS;
    bool slept = ctx->transport->ops->wait(ctx->transport, g->window, awaited, n,
                                           ctx->waiting.blocks ? ROUND_BLOCKS : p->rounds++, nap);
    uint64_t then = now;
    now = ncoll__now_ns(ctx);
    if (!slept)
        ncoll__waiting_away(ctx, now, now - then);
    p->looked_ns = now;
}

/* Looks after the peers. Meanwhile the context says in which blocking call the rank is: until that
 * call ends the user cannot make another one. NULL: in none. */
static void check_blocked(struct ncoll_group *g, struct call *c, uint64_t now)
{
    struct ncoll_context *ctx = g->ctx;

    ctx->blocked_in = c != NULL ? g : NULL;
    ctx->blocked_call = c;
    g->ctx->watch->check(g, now);
    ctx->blocked_in = NULL;
    ctx->blocked_call = NULL;
}

void ncoll__call_spin(struct ncoll_group *g, struct call *c)
{
    struct run *run = run_of(g, g->next_epoch - 1);

    if (run->call != c || g->first != g->last || c->plan->runs > 1 || !ncoll__is_alone(g))
        return;
    int rc = ncoll__run_advance(g, run, ncoll__looks(g->ctx));
    if (rc == NCOLL_OK) {
        run->call = NULL;
        c->finished = 1;
        ncoll__call_end(g, c, NCOLL_OK);
    } else if (rc != NCOLL_TIMEOUT) {
        ncoll__calls_broke(g, rc);
    }
}

int ncoll__call_drive(struct ncoll_group *g, struct call *c, int64_t timeout_ns)
{
    struct ncoll_context *ctx = g->ctx;
    struct patience patience = {0};

    ncoll__advance(g);
    if (c->state == CALL_ENDED)
        return c->status;
    ncoll__advance_others(g);
    if (timeout_ns == NCOLL_TEST) {
        /* rate-limited by time, since polls may be far apart */
        uint64_t polled_ns = ncoll__now_ns(ctx);
        ncoll__waiting_try(ctx, polled_ns);
        ctx->watch->check(g, polled_ns);
        return NCOLL_TIMEOUT;
    }
    uint64_t now = ncoll__now_ns(ctx);
    uint64_t deadline = timeout_ns == NCOLL_BLOCK ? UINT64_MAX : now + (uint64_t)timeout_ns;
    patience.since_ns = patience.looked_ns = now;
    for (unsigned pass = 1;; pass++) {
        if (pass % ctx->waiting.passes ==
            0) { /* a rank that does not spin yields its core at once */
            now = pass > 1 ? ncoll__now_ns(ctx) : now;
            check_blocked(g, timeout_ns == NCOLL_BLOCK ? c : NULL, now); /* at least once */
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

int ncoll__first_barrier(struct ncoll_group *g, int64_t timeout_ns)
{
    struct call *c = &g->blocking;
    int rc = ncoll__failure(g->ctx);

    *c = (struct call){.args = {.collective = COLL_BARRIER,
                                .radix = 1,
                                .internal = true,
                                .algorithm = &ncoll__dissemination}};
    if (rc == NCOLL_OK)
        rc = ncoll__call_queue_own(g, c, NULL);
    return rc == NCOLL_OK ? ncoll__call_drive(g, c, timeout_ns) : rc;
}
