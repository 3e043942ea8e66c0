/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls: the public collectives, blocking and as requests. A call is checked, launched (planned,
 * wired at first use, run) and then driven until it ends or its time is up; the next call with the
 * same arguments goes on where it stopped.
 */
#include <string.h>

#include "lib/inspect.h"
#include "lib/internal.h"
#include "transport/relax.h"

/* Passes between two looks at the clock: a look costs about as much as a message between cores. */
#define PASSES 64u
/* A sleeping rank wakes up this often to look after its peers. */
#define NAP_NS 50000000

/* For a barrier, so that no null pointer meets pointer arithmetic. */
static unsigned char nothing;

/* ------------------------------------------------------------------ advancing ----------------- */

static unsigned *near(const struct ncoll_group *g, int peer)
{
    return &g->near[(peer - g->rank + g->size) % g->size];
}

/*
 * Whether the plan's peers are connected already, on every rank: then no exchange is needed. All
 * ranks must come to the same answer, so only connections count that all of them have alike.
 */
static bool all_near(const struct ncoll_group *g, const struct plan *plan)
{
    if (!(plan->algorithm->properties & SAME_DISTANCES))
        return g->wired[ncoll__algorithm_number(plan->algorithm)][plan->radix];
    for (unsigned i = 0; i < plan->n_peers; i++)
        if (*near(g, plan->peers[i]) < plan->depth)
            return false;
    return true;
}

static void now_near(struct ncoll_group *g, const struct plan *plan)
{
    g->wired[ncoll__algorithm_number(plan->algorithm)][plan->radix] = true;
    if (!(plan->algorithm->properties & SAME_DISTANCES))
        return;
    for (unsigned i = 0; i < plan->n_peers; i++)
        if (*near(g, plan->peers[i]) < plan->depth)
            *near(g, plan->peers[i]) = plan->depth;
}

static void run(struct ncoll_group *g)
{
    g->call.done = 0;
    ncoll__execute_begin(g);
}

int ncoll__call_launch(struct ncoll_group *g, const struct call_args *args)
{
    struct call *c = &g->call;
    struct plan *plan;

    int rc = ncoll__plan(g, args, &plan);
    if (rc != NCOLL_OK)
        return rc;
    c->args = *args;
    c->plan = plan;
    c->done = 0;
    if (plan->wired) {
        ncoll__execute_begin(g);
        return NCOLL_OK;
    }
    if (all_near(g, plan)) {
        if ((rc = ncoll__plan_wire(g, plan)) == NCOLL_OK)
            run(g);
        return rc;
    }
    rc = ncoll__wiring_start(g, plan->peers, plan->n_peers, plan->depth, plan->card);
    if (rc == NCOLL_OK)
        c->state = CALL_WIRING;
    return rc;
}

static int advance_wiring(struct ncoll_group *g)
{
    int rc = ncoll__wiring_test(g);
    if (rc == NCOLL_OK && ncoll__is_broken(g)) /* a peer may have come for something else */
        rc = ncoll__failure(g->ctx);
    if (rc == NCOLL_OK)
        rc = ncoll__plan_wire(g, g->latest);
    if (rc == NCOLL_OK) {
        now_near(g, g->latest);
        run(g);
    }
    return rc;
}

/* Runs until a notification is missing that is still missing after the transport was asked. */
static int advance_running(struct ncoll_group *g)
{
    struct transport *t = g->ctx->transport;
    const struct call *c = &g->call;

    for (;;) {
        int rc = ncoll__execute(g);
        if (rc != NCOLL_TIMEOUT)
            return rc;
        if (t->ops->progress != NULL)
            t->ops->progress(t);
        if (c->waits_for == SLOTS_MAX || !window_raised(g->window, g->window->epoch, c->waits_for))
            return NCOLL_TIMEOUT;
    }
}

/* A peer that said goodbye will not send what has not come by now. */
static void look_for_leavers(struct ncoll_group *g)
{
    const struct call *c = &g->call;
    int rank = c->waits_for_rank;

    if (c->state == CALL_RUNNING && c->waits_for != SLOTS_MAX && g->ctx->peers[rank].left &&
        !window_raised(g->window, g->window->epoch, c->waits_for)) {
        ncoll__ask_bootstrap(g->ctx); /* it may have left because of another one */
        ncoll__peer_left(g->ctx, rank);
    }
}

/* One pass over the group's call, without waiting. Ends the call on success and on errors. */
static int advance(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;
    int rc = NCOLL_OK;

    while (rc == NCOLL_OK && g->call.state != CALL_NONE) {
        if (g->call.state == CALL_WIRING) {
            if (ctx->transport->ops->progress != NULL)
                ctx->transport->ops->progress(ctx->transport);
            rc = advance_wiring(g);
            continue;
        }
        rc = advance_running(g);
        if (rc == NCOLL_OK) {
            g->call.state = CALL_NONE;
            if (g->trial != NULL)
                rc = ncoll__trial_next(g);
        }
    }
    if (rc == NCOLL_TIMEOUT) {
        look_for_leavers(g);
        if (!ncoll__is_broken(g))
            return rc;
    }
    if (rc != NCOLL_OK) {
        g->call.state = CALL_NONE;
        ncoll__trial_free(g);
        int failed = ncoll__failure(ctx);
        return failed != NCOLL_OK ? failed : rc;
    }
    return rc;
}

/* ------------------------------------------------------------------ waiting ------------------- */

/* Time spent on one wait, from the moment that the call last got on. */
struct patience {
    const struct program *program;
    unsigned next;
    uint64_t since_ns;
    unsigned rounds;
};

static void lose_patience(struct ncoll_group *g, struct patience *p, uint64_t now,
                          uint64_t deadline)
{
    struct ncoll_context *ctx = g->ctx;
    const struct call *c = &g->call;
    bool running = c->state == CALL_RUNNING;
    int64_t nap = deadline - now < NAP_NS ? (int64_t)(deadline - now) : NAP_NS;

    if (p->next != c->next || p->program != c->program) {
        *p = (struct patience){.program = c->program, .next = c->next, .since_ns = now};
    }
    if (now - p->since_ns < (uint64_t)ctx->settings.spin_ns)
        return;
    if (!running) /* the bootstrap has nothing to sleep on */
        nap = nap < 200000 ? nap : 200000;
    ctx->transport->ops->wait(ctx->transport, g->window, running ? g->window->epoch : 0,
                              running ? c->waits_for : SLOTS_MAX, p->rounds++, nap);
}

/* Drives the group's call for at most timeout_ns. */
static int drive(struct ncoll_group *g, int64_t timeout_ns)
{
    struct ncoll_context *ctx = g->ctx;
    unsigned passes = ctx->settings.spin_ns > 0 ? PASSES : 1;
    struct patience patience = {0};

    int rc = advance(g);
    if (rc != NCOLL_TIMEOUT)
        return rc;
    if (timeout_ns == NCOLL_TEST) { /* however seldom it is asked, it must hear of failures */
        ncoll__check(g, ncoll__now_ns(ctx));
        return rc;
    }
    uint64_t start = ncoll__now_ns(ctx);
    uint64_t deadline = timeout_ns == NCOLL_BLOCK ? UINT64_MAX : start + (uint64_t)timeout_ns;
    patience.since_ns = start;
    for (unsigned pass = 1;; pass++) {
        if ((rc = advance(g)) != NCOLL_TIMEOUT)
            return rc;
        if (pass % passes != 0) {
            ncoll__relax();
            continue;
        }
        uint64_t now = ncoll__now_ns(ctx);
        if (now >= deadline)
            return NCOLL_TIMEOUT;
        ncoll__check(g, now);
        lose_patience(g, &patience, now, deadline);
    }
}

/* ------------------------------------------------------------------ checks -------------------- */

static int check_group(const struct ncoll_group *g)
{
    return g != NULL && g->magic == GROUP_MAGIC ? NCOLL_OK : NCOLL_ERR_HANDLE;
}

static int check_timeout(struct ncoll_group *g, int64_t timeout_ns)
{
    if (timeout_ns >= 0)
        return NCOLL_OK;
    return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1,
                       "use NCOLL_BLOCK, NCOLL_TEST or nanoseconds > 0", "the time-out is %lld ns",
                       (long long)timeout_ns);
}

static int check_allreduce(struct ncoll_group *g, const struct call_args *a)
{
    struct ncoll_context *ctx = g->ctx;
    size_t element = ncoll_type_size(a->type), bytes;
    struct op op;

    if (element == 0)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "use one of enum ncoll_type",
                           "type %d is unknown", (int)a->type);
    if (__builtin_mul_overflow(a->count, element, &bytes) || bytes > PTRDIFF_MAX)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "check the count",
                           "count %zu of %zu bytes each is more than memory can hold", a->count,
                           element);
    if (a->count > 0 && (a->in == NULL || a->out == NULL))
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "pass count elements",
                           "%s is NULL and the count %zu", a->in == NULL ? "in" : "out", a->count);
    uintptr_t in = (uintptr_t)a->in, out = (uintptr_t)a->out;
    if (in != out && in < out + bytes && out < in + bytes)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1,
                           "use buffers apart from each other, or the same one for both (in place)",
                           "in and out overlap by %zu of %zu bytes",
                           bytes - (size_t)(in < out ? out - in : in - out), bytes);
    return ncoll__op_resolve(ctx, a->op, a->type, &op);
}

static bool same_args(const struct call_args *a, const struct call_args *b)
{
    return a->collective == b->collective && a->in == b->in && a->out == b->out &&
           a->count == b->count && a->type == b->type && a->op == b->op;
}

static const struct call_args *pending(const struct ncoll_group *g)
{
    return g->trial != NULL ? ncoll__trial_args(g) : &g->call.args;
}

static bool is_busy(const struct ncoll_group *g)
{
    return g->call.state != CALL_NONE || g->unasked || g->request.magic == REQUEST_MAGIC;
}

static int busy(struct ncoll_group *g)
{
    const char *what = pending(g)->collective == COLL_BARRIER ? "a barrier" : "an allreduce";

    if (g->request.magic == REQUEST_MAGIC)
        return ncoll__fail(g->ctx, NCOLL_ERR_BUSY, -1, "ncoll_wait() or ncoll_test() it first",
                           "%s that was started as a request", what);
    return ncoll__fail(g->ctx, NCOLL_ERR_BUSY, -1,
                       "call it again first, with the same arguments, until it is finished",
                       "%s that returned NCOLL_TIMEOUT", what);
}

/* ------------------------------------------------------------------ starting ------------------ */

static int start(struct ncoll_group *g, const struct call_args *args)
{
    struct ncoll_context *ctx = g->ctx;

    int rc = ncoll__failure(ctx);
    if (rc != NCOLL_OK)
        return rc;
    if (ctx->settings.trial && g->tried[args->collective] == 0 && g->size > 1)
        return ncoll__trial_start(g, args);
    return ncoll__call_launch(g, args);
}

int ncoll__first_barrier(struct ncoll_group *g, int64_t timeout_ns)
{
    struct call_args args = {.collective = COLL_BARRIER, .in = &nothing, .out = &nothing};

    int rc = ncoll__group_force(g, COLL_BARRIER, "dissemination", 1);
    if (rc == NCOLL_OK)
        rc = ncoll__call_launch(g, &args);
    if (rc == NCOLL_OK)
        rc = drive(g, timeout_ns);
    if (rc == NCOLL_OK)
        rc = ncoll__group_force(g, COLL_BARRIER, NULL, 0);
    return rc;
}

/* A blocking collective: starts it, or goes on with the one that timed out. */
static int call(struct ncoll_group *g, const struct call_args *args, int64_t timeout_ns)
{
    int rc;

    if (__builtin_expect(is_busy(g), 0)) {
        if (g->request.magic == REQUEST_MAGIC || !same_args(pending(g), args))
            return busy(g);
        if (g->unasked) { /* ncoll_progress() has finished it */
            g->unasked = false;
            return NCOLL_OK;
        }
    } else if ((rc = start(g, args)) != NCOLL_OK) {
        return rc;
    }
    return drive(g, timeout_ns);
}

static int start_request(struct ncoll_group *g, const struct call_args *args,
                         ncoll_request **request)
{
    if (request == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1, NULL, "request is NULL");
    if (is_busy(g))
        return busy(g);
    int rc = start(g, args);
    if (rc != NCOLL_OK)
        return rc;
    rc = advance(g);
    if (rc != NCOLL_OK && rc != NCOLL_TIMEOUT)
        return rc;
    g->request = (struct ncoll_request){.magic = REQUEST_MAGIC, .group = g};
    *request = &g->request;
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ public -------------------- */

static struct call_args barrier_args(void)
{
    return (struct call_args){.collective = COLL_BARRIER, .in = &nothing, .out = &nothing};
}

static struct call_args allreduce_args(const void *in, void *out, size_t count, ncoll_type type,
                                       ncoll_op op)
{
    return (struct call_args){.collective = COLL_ALLREDUCE,
                              .in = count > 0 ? in : &nothing,
                              .out = count > 0 ? out : &nothing,
                              .count = count,
                              .type = type,
                              .op = op};
}

int ncoll_barrier(ncoll_group *group, int64_t timeout_ns)
{
    const struct call_args args = barrier_args();
    int rc;

    if ((rc = check_group(group)) != NCOLL_OK ||
        (rc = check_timeout(group, timeout_ns)) != NCOLL_OK)
        return rc;
    return call(group, &args, timeout_ns);
}

int ncoll_allreduce(ncoll_group *group, const void *in, void *out, size_t count, ncoll_type type,
                    ncoll_op op, int64_t timeout_ns)
{
    const struct call_args args = allreduce_args(in, out, count, type, op);
    int rc;

    if ((rc = check_group(group)) != NCOLL_OK ||
        (rc = check_timeout(group, timeout_ns)) != NCOLL_OK ||
        (rc = check_allreduce(group, &args)) != NCOLL_OK)
        return rc;
    return call(group, &args, timeout_ns);
}

int ncoll_barrier_start(ncoll_group *group, ncoll_request **request)
{
    const struct call_args args = barrier_args();
    int rc = check_group(group);

    return rc != NCOLL_OK ? rc : start_request(group, &args, request);
}

int ncoll_allreduce_start(ncoll_group *group, const void *in, void *out, size_t count,
                          ncoll_type type, ncoll_op op, ncoll_request **request)
{
    const struct call_args args = allreduce_args(in, out, count, type, op);
    int rc;

    if ((rc = check_group(group)) != NCOLL_OK || (rc = check_allreduce(group, &args)) != NCOLL_OK)
        return rc;
    return start_request(group, &args, request);
}

int ncoll_wait(ncoll_request **request, int64_t timeout_ns)
{
    if (request == NULL || *request == NULL || (*request)->magic != REQUEST_MAGIC)
        return NCOLL_ERR_HANDLE;
    struct ncoll_group *g = (*request)->group;
    int rc = check_timeout(g, timeout_ns);
    if (rc != NCOLL_OK)
        return rc;
    rc = g->call.state != CALL_NONE ? drive(g, timeout_ns) : ncoll__failure(g->ctx);
    if (rc == NCOLL_TIMEOUT)
        return rc;
    g->request.magic = 0;
    *request = NULL;
    return rc;
}

int ncoll_test(ncoll_request **request)
{
    return ncoll_wait(request, NCOLL_TEST);
}

int ncoll_progress(ncoll_context *ctx)
{
    if (ctx == NULL || ctx->magic != CONTEXT_MAGIC)
        return NCOLL_ERR_HANDLE;
    if (ctx->world->call.state == CALL_NONE)
        return ncoll__failure(ctx);
    int rc = drive(ctx->world, NCOLL_TEST);
    /* A blocking call gets its result when it comes back; a request is there to be asked. */
    ctx->world->unasked = rc == NCOLL_OK && ctx->world->request.magic != REQUEST_MAGIC;
    return rc == NCOLL_TIMEOUT ? NCOLL_OK : rc;
}
