/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for a call: spins, then yields, then sleeps, and looks after the peers meanwhile. */
#include "lib/run/call.h"
#include "lib/run/probes.h"
#include "lib/base/failure.h"
#include "lib/plan/compile.h"
#include "lib/run/waiting.h"
#include "lib/stale/stale.h"
#include "transport/relax.h"

/* The number of instructions of a run that are searched for further messages that it will wait
 * for. */
#define LOOK_AHEAD 64u
#define SLOTS_ALSO 64u /* the number of slots that have a bit in awaited.also */
/* A sleeping rank wakes up after this time to look after its peers. */
#define NAP_NS 50000000
/* The longest sleep while a call has not started, since some events that it waits for wake nobody.
 * It is multiplied by the ranks per core: else the looks of all ranks of a core together would
 * leave no time for a rank that has work to do. */
#define PREPARING_NAP_NS 200000

/* The largest number of awaited slots that are listed if several groups have unfinished calls. */
#define AWAITED_MOST (16 * LANES)

/* The time spent on one wait, since the calls last advanced. */
struct patience {
    uint64_t mark; /* a number that changes when calls advance */
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

/* Returns a number that changes with each progress in any group. */
static uint64_t progress_of_all(const struct ncoll_context *ctx)
{
    uint64_t mark = 0;

    for (struct ncoll_group *g = ctx->busy; g != NULL; g = g->next_busy)
        mark += ncoll__progress_of(g);
    return mark;
}

/* True if the first call to start waits for events that raise no slot, mostly for connections. */
static bool is_preparing(const struct ncoll_group *g)
{
    const struct call *c = g->starting;

    return c != NULL && (c->prepare != NULL || c->state == CALL_WIRING) &&
           (!c->alone || c == g->first);
}

static bool any_is_preparing(const struct ncoll_context *ctx)
{
    for (const struct ncoll_group *g = ctx->busy; g != NULL; g = g->next_busy)
        if (is_preparing(g))
            return true;
    return false;
}

static bool waits_without_slot(struct ncoll_group *g)
{
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++)
        if (run_of(g, e)->call != NULL && run_of(g, e)->waits_for == NO_SLOT)
            return true;
    return false;
}

bool ncoll__waits_for_anything(const struct ncoll_context *ctx, bool *soon)
{
    bool any = ctx->withheld > 0;

    *soon = ctx->suspect.pending || any;
    for (struct ncoll_group *g = ctx->busy; g != NULL; g = g->next_busy) {
        if (g->first == NULL)
            continue;
        any = true;
        *soon = *soon || is_preparing(g) || waits_without_slot(g);
    }
    return any;
}

static bool is_long(const struct instruction *i)
{
    size_t times = i->kind == STEP_REPEATED ? (size_t)i->more + 1 : 1;

    return times * i->len_bytes > SLOT_PAYLOAD;
}

/*
 * Returns, as bits, further slots of short messages that a run waits for before its next put. The
 * rank may sleep until all these messages have come, since no other rank needs what it does in
 * between. That does not hold behind a shared wait, after which this rank wakes its neighbours.
 * Returns 0 if there are none, or if the slot that the run waits for now has no bit.
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

/* Lists the slots that the runs of a group wait for, with their window. Returns their number; 0 if
 * the group waits for something else. */
static unsigned list_of_group(struct ncoll_group *g, struct awaited awaited[LANES])
{
    unsigned n = 0;

    if (is_preparing(g))
        return 0;
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++) {
        const struct run *run = run_of(g, e);
        if (run->call == NULL)
            continue;
        if (run->waits_for == NO_SLOT && run->looks_at == NULL)
            return 0;
        awaited[n++] = (struct awaited){.epoch = e,
                                        .slot = run->waits_for,
                                        .word = run->waits_for == NO_SLOT ? run->looks_at : NULL,
                                        .window = g->window};
    }
    return n;
}

/* Lists the slots that the runs of all groups wait for. If there is only one, *w becomes its
 * window. Returns their number; 0 if a call waits for something else, or if there are too many. */
static unsigned list_awaited(struct ncoll_context *ctx, struct awaited awaited[AWAITED_MOST],
                             struct window **w)
{
    struct ncoll_group *last = NULL;
    unsigned n = 0;

    if (ctx->withheld > 0)
        return 0;
    for (struct ncoll_group *g = ctx->busy; g != NULL; g = g->next_busy) {
        if (g->first == NULL)
            continue;
        unsigned more = n + LANES <= AWAITED_MOST ? list_of_group(g, awaited + n) : 0;
        if (more == 0)
            return 0;
        n += more;
        last = g;
    }
    if (n != 1)
        return n;
    *w = last->window;
    awaited->window = NULL;
    if (awaited->word == NULL)
        awaited->also = also_awaited(last, run_of(last, awaited->epoch));
    return n;
}

/* Goes on with a wait: spins on if it may, else yields or sleeps once. all: the rank waits for
 * calls of several groups, so it begins to spin anew when any group advances. */
static void lose_patience(struct ncoll_group *g, bool all, struct patience *p, uint64_t now,
                          uint64_t deadline)
{
    struct ncoll_context *ctx = g->ctx;
    int64_t nap = deadline - now < NAP_NS ? (int64_t)(deadline - now) : NAP_NS;
    int64_t preparing = (int64_t)(PREPARING_NAP_NS * ctx->places.here);
    uint64_t mark = all ? progress_of_all(ctx) : ncoll__progress_of(g);

    if (p->mark != mark)
        *p = (struct patience){.mark = mark, .since_ns = now};
    else if (ctx->waiting.spins && ncoll__is_alone(g) && !is_preparing(g)) /* nothing else to do */
        ncoll__waiting_away(ctx, now, now - p->looked_ns);
    ncoll__waiting_try(ctx, now);
    p->looked_ns = now;
    if (now - p->since_ns < ctx->waiting.spin_ns)
        return;
    struct awaited awaited[AWAITED_MOST];
    struct window *window = g->window;
    unsigned n = list_awaited(ctx, awaited, &window);
    if (all ? any_is_preparing(ctx) : is_preparing(g))
        nap = nap < preparing ? nap : preparing;
    bool blocks = ctx->waiting.blocks || p->rounds >= ctx->waiting.yields;
    bool slept = ctx->transport->ops->wait(ctx->transport, window, awaited, n,
                                           blocks ? ROUND_BLOCKS : p->rounds++, nap);
    uint64_t then = now;
    now = ncoll__now_ns(ctx);
    if (!slept)
        ncoll__waiting_away(ctx, now, now - then);
    p->looked_ns = now;
}

/* Looks after the peers. Meanwhile the context names the blocking call c, of the group `in`, before
 * whose end the user cannot make another call. c NULL: there is no such call. */
static void check_blocked(struct ncoll_group *g, struct ncoll_group *in, struct call *c,
                          uint64_t now)
{
    struct ncoll_context *ctx = g->ctx;

    ctx->blocked_in = c != NULL ? in : NULL;
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

/* Ends a poll (NCOLL_TEST) that found its call unfinished: looks after the peers. This is limited
 * by time, not by the number of polls, which may be far apart. Returns NCOLL_TIMEOUT. */
static int polled(struct ncoll_group *g)
{
    uint64_t polled_ns = ncoll__now_ns(g->ctx);

    ncoll__waiting_try(g->ctx, polled_ns);
    g->ctx->watch->check(g, polled_ns);
    return NCOLL_TIMEOUT;
}

/* The state of a wait for one or several calls. */
struct wait {
    struct patience patience;
    uint64_t now, deadline;
    unsigned pass;
    bool all; /* see lose_patience() */
};

static struct wait begin_wait(struct ncoll_context *ctx, bool all, int64_t timeout_ns)
{
    uint64_t now = ncoll__now_ns(ctx);

    return (struct wait){
        .patience = {.since_ns = now, .looked_ns = now},
        .now = now,
        .deadline = timeout_ns == NCOLL_BLOCK ? UINT64_MAX : now + (uint64_t)timeout_ns,
        .all = all,
    };
}

/* True if it is time to do more than look at flags: every waiting.passes-th time. A rank that does
 * not spin yields its core each time. */
static inline bool is_time(const struct ncoll_context *ctx, struct wait *w)
{
    return ++w->pass % ctx->waiting.passes == 0;
}

/* Looks after the peers that g waits for, and waits. c: the blocking call of the group `in`; NULL:
 * there is none. Returns false if the deadline has passed. */
static bool wait_once(struct wait *w, struct ncoll_group *g, struct ncoll_group *in, struct call *c)
{
    w->now = w->pass > 1 ? ncoll__now_ns(g->ctx) : w->now;
    check_blocked(g, in, c, w->now); /* at least once in each wait */
    if (w->now >= w->deadline)
        return false;
    lose_patience(g, w->all, &w->patience, w->now, w->deadline);
    return true;
}

/* Waits until the call has ended. Returns its status, or NCOLL_TIMEOUT. */
static inline int wait_for_end(struct ncoll_group *g, struct call *c, int64_t timeout_ns)
{
    struct ncoll_context *ctx = g->ctx;
    struct wait w = begin_wait(ctx, false, timeout_ns);
    for (;;) {
        if (!is_time(ctx, &w))
            ncoll__relax();
        else if (!wait_once(&w, g, g, timeout_ns == NCOLL_BLOCK ? c : NULL))
            return NCOLL_TIMEOUT;
        ncoll__advance(g);
        if (c->state == CALL_ENDED)
            return c->status;
        if (!ncoll__is_alone(g))
            ncoll__advance_others(g);
    }
}

int ncoll__call_drive(struct ncoll_group *g, struct call *c, int64_t timeout_ns)
{
    ncoll__advance(g);
    if (c->state == CALL_ENDED)
        return c->status;
    ncoll__advance_others(g);
    if (timeout_ns == NCOLL_TEST)
        return polled(g);
    PROBE_WAIT_BEGIN(g, c);
    int rc = wait_for_end(g, c, timeout_ns);
    PROBE_WAIT_END(g, c, rc);
    return rc;
}

/* ------------------------------------------------------------------ several requests ---------- */

static bool is_unfinished(const struct ncoll_request *r)
{
    return r != NULL && r->started && r->call.state != CALL_ENDED;
}

/* Returns the next unfinished request from index *turn on, going on from the start at the end of
 * the list, and moves *turn behind it; NULL: there is none. */
static struct ncoll_request *next_unfinished(const struct several *s, size_t *turn)
{
    for (size_t i = 0; i < s->n; i++) {
        struct ncoll_request *r = s->requests[*turn];
        *turn = *turn + 1 < s->n ? *turn + 1 : 0;
        if (is_unfinished(r))
            return r;
    }
    return NULL;
}

/* True if the wait is over: all requests have ended, or one of them has failed; or, without `all`,
 * any has ended. The requests before s->at need not be looked at again. */
static bool has_what_it_wants(struct several *s)
{
    for (size_t i = s->at; i < s->n; i++) {
        const struct ncoll_request *r = s->requests[i];
        bool ended = r != NULL && r->started && r->call.state == CALL_ENDED;
        if (s->all && is_unfinished(r))
            return false;
        if (ended && (!s->all || r->call.status != NCOLL_OK))
            return true;
        s->at += s->all;
    }
    return s->all;
}

/* Returns the request that has to end before the user can make another call: with `all` the first
 * unfinished one; else the unfinished one, if it is the only one. NULL: there is none. */
static struct ncoll_request *blocker(const struct several *s)
{
    size_t turn = s->at;
    struct ncoll_request *first = next_unfinished(s, &turn);

    return s->all || next_unfinished(s, &turn) == first ? first : NULL;
}

/* Waits for the requests. lead: an unfinished one; turn: the index behind it in the list. Returns
 * NCOLL_OK or NCOLL_TIMEOUT. */
static int wait_for_several(struct several *s, size_t turn, struct ncoll_request *lead,
                            int64_t timeout_ns)
{
    struct ncoll_context *ctx = lead->group->ctx;
    struct ncoll_request *blocks;
    struct wait w = begin_wait(ctx, true, timeout_ns);
    do {
        if (is_time(ctx, &w)) {
            /* each request in turn: only the peers that its group waits for are looked at
             * closely */
            lead = next_unfinished(s, &turn);
            blocks = timeout_ns == NCOLL_BLOCK ? blocker(s) : NULL;
            if (!wait_once(&w, lead->group, blocks != NULL ? blocks->group : NULL,
                           blocks != NULL ? &blocks->call : NULL))
                return NCOLL_TIMEOUT;
        } else {
            ncoll__relax();
        }
        ncoll__advance(lead->group);
        ncoll__advance_others(lead->group);
    } while (!has_what_it_wants(s));
    return NCOLL_OK;
}

int ncoll__several_drive(struct several *s, int64_t timeout_ns)
{
    size_t turn = 0;
    struct ncoll_request *lead = next_unfinished(s, &turn);

    if (lead == NULL)
        return has_what_it_wants(s), NCOLL_OK;
    ncoll__advance(lead->group);
    ncoll__advance_others(lead->group);
    if (has_what_it_wants(s))
        return NCOLL_OK;
    if (timeout_ns == NCOLL_TEST)
        return polled(lead->group);
    PROBE_WAIT_BEGIN(lead->group, &lead->call);
    int rc = wait_for_several(s, turn, lead, timeout_ns);
    PROBE_WAIT_END(lead->group, &lead->call, rc);
    return rc;
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
    rc = rc == NCOLL_OK ? ncoll__call_drive(g, c, timeout_ns) : rc;
    c->users = true;
    return rc;
}
