/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Begins the user's calls. A call begins from a known call (lib/base/known_calls.h): that of a
 * persistent request, or one that lib/api/collectives.c has looked up.
 *
 * A call of one run starts this run at once if the group has no other unfinished calls. It is
 * queued only if the run does not end then: if each rank has a core of its own, an exchange takes
 * about 50 ns, to which queueing would add. No other code can look at the queue meanwhile.
 *
 * Strict entry and exit put a barrier in front of the call, behind it, or both. The group starts no
 * other call in between. So data moves only after all ranks have entered the call, and a rank that
 * leaves knows that the call is done on all ranks. If there is a barrier behind the call, the user
 * waits for this barrier: it takes the place of the user's call, which becomes a call of the
 * library's own.
 */
#include "lib/base/failure.h"
#include "lib/choose/planned.h"
#include "lib/plan/plan.h"
#include "lib/run/call.h"
#include "lib/run/hooked.h"
#include "lib/run/probes.h"
#include "lib/run/waiting.h"
#include "lib/run/compressed.h"
#include "lib/run/threshold.h"
#include "lib/stale/stale.h"

/* ------------------------------------------------------------------ setting up ---------------- */

static void clear(struct call *c, const struct call_args *args)
{
    c->args = *args;
    ncoll__call_set_nothing(c);
    c->plan = NULL;
    c->started = c->finished = 0;
    c->prepare = NULL;
    c->ended = NULL;
    c->arg = NULL;
    c->alone = c->last = false;
    c->called = 0;
}

/* Sets up a call from a known call. The call gets its plan; if it cannot be planned yet, the calls
 * that have to precede it are queued. Returns NCOLL_OK or an error. */
static inline __attribute__((always_inline)) int make_ready(struct ncoll_group *g, struct call *c,
                                                            const struct known_call *k)
{
    clear(c, &k->args);
    int rc = ncoll__stage(g, c);
    if (rc != NCOLL_OK)
        return rc;
    if (k->plan != NULL) {
        c->plan = k->plan;
        c->plan->users++;
        ncoll__threshold_begin(c);
        return NCOLL_OK;
    }
    if (ncoll__trial_wanted(g, &k->args))
        rc = ncoll__trial_first(g, c);
    else if (k->args.sends != NULL && g->size > 1)
        rc = ncoll__agree_first(g, c);
    else
        rc = ncoll__plan(g, &c->args, 0, &c->plan);
    if (rc != NCOLL_OK)
        ncoll__unstage(g, c, rc);
    return rc;
}

/* ------------------------------------------------------------------ strict calls -------------- */

struct strict {
    struct call entry; /* the barrier at the entry */
    struct call data;  /* the user's call, if a barrier follows it */
    unsigned users;    /* number of barriers of this strict call that have not ended */
};

static void leave(struct ncoll_group *g, struct strict *s)
{
    if (--s->users == 0)
        ncoll__release(g->ctx, s);
}

static void entry_ended(struct ncoll_group *g, struct call *c)
{
    leave(g, c->arg);
}

/* Gives the user the status of the collective if it has failed, else that of the barrier. */
static void exit_ended(struct ncoll_group *g, struct call *c)
{
    struct strict *s = c->arg;

    c->status = s->data.status != NCOLL_OK ? s->data.status : c->status;
    leave(g, s);
}

/* Plans a barrier of a strict call. purpose: NCOLL_STRICT_ENTRY or NCOLL_STRICT_EXIT. */
static int plan_barrier(struct ncoll_group *g, unsigned purpose, struct call *c)
{
    const struct call_args args = {.collective = COLL_BARRIER, .sync = purpose};

    clear(c, &args);
    return ncoll__plan(g, &c->args, 0, &c->plan);
}

static void unplan(struct ncoll_group *g, struct call *c)
{
    if (c->plan != NULL)
        ncoll__plan_leave(g, c->plan);
    c->plan = NULL;
}

static int begin_strict(struct ncoll_group *g, struct call *c, const struct known_call *k)
{
    bool entry = (k->args.sync & NCOLL_STRICT_ENTRY) != 0,
         exit = (k->args.sync & NCOLL_STRICT_EXIT) != 0;
    struct known_call loose = *k;
    struct strict *s = ncoll__allocate(g->ctx, sizeof *s);
    struct call *before = g->last;
    int rc = NCOLL_OK;

    if (s == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a strict call");
    loose.args.sync = NCOLL_LOOSE;
    c->plan = NULL;
    if (entry) /* plan everything before anything is queued */
        rc = plan_barrier(g, NCOLL_STRICT_ENTRY, &s->entry);
    if (rc == NCOLL_OK && exit)
        rc = plan_barrier(g, NCOLL_STRICT_EXIT, c);
    struct call *data = exit ? &s->data : c;
    data->hooked = c->hooked; /* hooks are told the algorithm of this call, not a barrier's */
    if (rc == NCOLL_OK)
        rc = make_ready(g, data, &loose);
    if (rc != NCOLL_OK) {
        unplan(g, &s->entry);
        if (exit)
            unplan(g, c);
        ncoll__release(g->ctx, s);
        return rc;
    }
    ncoll__call_queue(g, data);
    s->users = (unsigned)entry + (unsigned)exit;
    s->entry.arg = s;
    s->entry.ended = entry_ended;
    if (entry) { /* the barrier moves no data, so it may run beside other calls */
        data->alone = true;
        ncoll__call_queue_before(g, &s->entry, before != NULL ? before->next : g->first);
    }
    if (exit) {
        c->arg = s;
        c->ended = exit_ended;
        c->alone = true;
        c->called = (uint16_t)k->args.collective;
        ncoll__call_queue(g, c);
    }
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ beginning ----------------- */

static void result_is_there(struct ncoll_group *g, struct call *c)
{
    if (c->status == NCOLL_OK)
        ncoll__stale_result(g->stale, c);
}

/* Runs the only call of the group. Returns NCOLL_OK: it has ended; NCOLL_TIMEOUT: it has not; or an
 * error. */
static inline int run_only(struct ncoll_group *g, struct call *c, bool may_spin)
{
    if (__builtin_expect(g->ctx->waiting.blocks, 0))
        ncoll__waiting_try(g->ctx, ncoll__now_ns(g->ctx));
    int rc = ncoll__run_at_once(g, c, may_spin ? ncoll__looks(g->ctx) : 0);

    if (__builtin_expect(rc == NCOLL_OK, 1))
        run_of(g, g->next_epoch - 1)->call = NULL;
    return rc;
}

/* Queues a call whose run has started, but has returned rc: NCOLL_TIMEOUT or an error. Returns
 * NCOLL_TIMEOUT, or the error that has ended the call. */
static int queue_running(struct ncoll_group *g, struct call *c, int rc)
{
    ncoll__call_queue(g, c);
    c->state = CALL_RUNNING;
    g->starting = NULL;
    return rc == NCOLL_TIMEOUT ? rc : ncoll__calls_broke(g, rc);
}

/* Ends a call whose only run has ended, and that has not been queued. Returns NCOLL_OK. */
static inline int end_at_once(struct ncoll_group *g, struct call *c)
{
    c->finished = 1;
    ncoll__call_over(g, c, NCOLL_OK);
    PROBE_CALL_END(g, c, c->args.collective, c->status);
    return NCOLL_OK;
}

/* Tells the probe that a call begins whose plan does not say how many bytes it moves. */
static void probe_begin(struct ncoll_group *g, struct call *c, const struct known_call *k)
{
    size_t bytes = ncoll__longer_bytes(g, &k->args);

    PROBE_CALL_BEGIN(g, c, &k->args, bytes);
    (void)c, (void)bytes;
}

/* Begins a call with slack 0 on an object of lib/stale, which is an ordinary allreduce. Notes its
 * clock. The user's ncoll_stale_result is filled in when the call ends. */
static int begin_synchronous(struct ncoll_group *g, struct call *c, const struct known_call *k)
{
    struct call_args args = k->args;
    struct known_call *plain;

    args.sync = NCOLL_LOOSE;
    args.result = NULL;
    int rc = NCOLL_OK;
    if ((plain = ncoll__known_find(g, &args)) == NULL)
        rc = ncoll__known_add(g, &args, &plain);
    if (rc == NCOLL_OK)
        rc = ncoll__begin(g, c, plain, false);
    if (rc != NCOLL_OK)
        return rc;
    c->clock = ncoll__stale_count(g->stale, 0, &c->floor);
    c->args.result = k->args.result;
    if (c->state != CALL_ENDED)
        c->ended = result_is_there;
    else
        result_is_there(g, c);
    return NCOLL_OK;
}

static int prepare_stale(struct ncoll_group *g, struct call *c)
{
    ncoll__stale_prepare(g, c);
    return NCOLL_OK;
}

/* Begins a call on an object of lib/stale. Calls on mailboxes run one after the other. Calls with
 * slack 0 that follow one of them may run beside it. */
static int begin_stale(struct ncoll_group *g, struct call *c, const struct known_call *k,
                       bool may_spin)
{
    struct ncoll_stale *s = g->stale;
    int rc = ncoll__failure(g->ctx);

    if (rc != NCOLL_OK)
        return rc;
    if (k->args.root == 0 && !s->params.partial)
        return begin_synchronous(g, c, k);
    bool idle = g->first == NULL;
    clear(c, &k->args);
    c->plan = &s->plan;
    c->plan->users++;
    c->clock = ncoll__stale_count(s, s->params.partial ? 0 : (unsigned)k->args.root, &c->floor);
    c->ended = result_is_there;
    c->alone = true;
    c->prepare = prepare_stale;
    probe_begin(g, c, k);
    if (!idle) {
        ncoll__call_queue(g, c);
        return NCOLL_OK;
    }
    c->prepare = NULL;
    ncoll__stale_prepare(g, c);
    rc = ncoll__run_stale_at_once(g, c, may_spin ? ncoll__looks(g->ctx) : 0);
    if (rc == NCOLL_OK)
        run_of(g, g->next_epoch - 1)->call = NULL;
    if (rc != NCOLL_OK) {
        rc = queue_running(g, c, rc);
        return rc == NCOLL_TIMEOUT ? NCOLL_OK : rc;
    }
    return end_at_once(g, c);
}

/* Begins a call that consists of several calls, which queue() queues together. */
static int begin_steps(struct ncoll_group *g, struct call *c, const struct known_call *k,
                       int (*queue)(struct ncoll_group *g, struct call *c,
                                    const struct known_call *k))
{
    int rc = queue(g, c, k);

    if (rc == NCOLL_OK)
        probe_begin(g, c, k);
    return rc;
}

/* Begins a call, and tells the hooks that it begins. If it ends here, without having been queued,
 * tells them that as well. */
static __attribute__((cold, noinline)) int begin_hooked(struct ncoll_group *g, struct call *c,
                                                        struct known_call *k, bool may_spin)
{
    int rc = ncoll__failure(g->ctx);

    if (rc == NCOLL_OK && k->args.compressor != NULL)
        rc = ncoll__compressor_not_busy(g, k->args.compressor);
    if (rc == NCOLL_OK)
        rc = ncoll__hooked_begins(g, c, k);
    if (rc != NCOLL_OK)
        return rc;
    rc = ncoll__begin(g, c, k, may_spin);
    if (rc != NCOLL_OK || c->state == CALL_ENDED)
        ncoll__hooked_ends(g->ctx, &c->hooked, rc != NCOLL_OK ? rc : c->status);
    return rc;
}

int ncoll__begin(struct ncoll_group *g, struct call *c, struct known_call *k, bool may_spin)
{
    if (__builtin_expect(g->ctx->hooks.any, 0) && c->hooked == NULL)
        return begin_hooked(g, c, k, may_spin);
    bool idle = g->first == NULL;
    int rc = ncoll__failure(g->ctx);

    if (rc == NCOLL_OK && k->plan != NULL && k->plan->era != g->known.era)
        rc = ncoll__known_renew(g, k);
    if (rc != NCOLL_OK)
        return rc;
    if (c == &g->blocking)
        g->known.blocking = NULL;
    if (k->plan == NULL && k->args.compressor != NULL)
        return begin_steps(g, c, k, ncoll__compressed_begin);
    if (__builtin_expect(k->args.sync != NCOLL_LOOSE, 0)) {
        if (k->args.sync & SYNC_STALE)
            return begin_stale(g, c, k, may_spin);
        if (g->size > 1)
            return begin_steps(g, c, k, begin_strict);
    }
    if ((rc = make_ready(g, c, k)) != NCOLL_OK)
        return rc;
    if (k->plan == NULL) {
        probe_begin(g, c, k);
        ncoll__call_queue(g, c);
        return NCOLL_OK;
    }
    PROBE_CALL_BEGIN(g, c, &k->args, k->plan->longer_bytes);
    if (!idle || !ncoll__plan_is_ready(g, k->plan) || k->plan->runs > 1 || c->prepare != NULL) {
        ncoll__call_queue(g, c);
        return NCOLL_OK;
    }
    rc = run_only(g, c, may_spin);
    if (rc != NCOLL_OK) {
        rc = queue_running(g, c, rc);
        return rc == NCOLL_TIMEOUT ? NCOLL_OK : rc;
    }
    return end_at_once(g, c);
}

int ncoll__begin_again(struct ncoll_group *g, struct known_call *k, bool may_spin)
{
    struct call *c = &g->blocking;

    g->known.latest = k;
    if (k != g->known.blocking) {
        clear(c, &k->args);
        g->known.blocking = k;
    }
    c->plan = k->plan;
    c->started = c->finished = 0;
    PROBE_CALL_BEGIN(g, c, &k->args, k->plan->longer_bytes);
    int rc = run_only(g, c, may_spin);
    if (__builtin_expect(rc == NCOLL_OK, 1)) {
        PROBE_CALL_END(g, c, c->args.collective, NCOLL_OK);
        return NCOLL_OK;
    }
    c->plan->users++;
    return queue_running(g, c, rc);
}
