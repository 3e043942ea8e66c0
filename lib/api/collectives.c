/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public collectives: each puts its arguments together, for the call with a time-out, for the
 * request and for the persistent one. What follows is the same for all: check, start, drive.
 */
#include <string.h>

#include "lib/call/call.h"
#include "lib/failure/card.h"
#include "lib/failure/failure.h"

/* ------------------------------------------------------------------ calls --------------------- */

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

/* Calls repeat: what has been checked last is not checked again. */
static int check(struct ncoll_group *g, const struct call_args *args)
{
    int rc;

    if (args->counts == NULL && ncoll__same_args(&g->checked, args))
        return NCOLL_OK;
    if ((rc = ncoll__check_args(g, args)) == NCOLL_OK)
        g->checked = *args;
    return rc;
}

/* The same call as one that has been made before, if there is nothing else to look after. First
 * comes the latest itself, then the one after it, as loops have it. */
static inline struct repeat *repeated(struct ncoll_group *g, const struct call_args *args)
{
    if (g->first != NULL || g->creating != NULL || g->unfinished || args->sync != NCOLL_LOOSE ||
        g->ctx->failure.kind != CONTROL_NONE || !ncoll__is_alone(g))
        return NULL;
    unsigned latest = g->again != NULL ? (unsigned)(g->again - g->repeats) : 0;
    for (unsigned i = 0; i < REPEATS; i++) {
        struct repeat *r = &g->repeats[(latest + i) % REPEATS];
        if (r->plan != NULL && ncoll__same_args(&r->args, args) &&
            (args->counts == NULL || ncoll__same_arrays(g, r->plan, args)))
            return r;
    }
    return NULL;
}

static int drive(struct ncoll_group *g, const struct call_args *args, int64_t timeout_ns)
{
    int rc = ncoll__call_drive(g, &g->blocking, timeout_ns);

    g->unfinished = rc == NCOLL_TIMEOUT;
    if (g->unfinished)
        g->blocking_args = *args;
    return rc;
}

/* A blocking collective: starts it, or goes on with the one that timed out. */
static int call(struct ncoll_group *g, const struct call_args *args, int64_t timeout_ns)
{
    struct plan *plan = NULL;
    struct repeat *repeat;
    int rc;

    if ((rc = check_group(g)) != NCOLL_OK || (rc = check_timeout(g, timeout_ns)) != NCOLL_OK)
        return rc;
    if ((repeat = repeated(g, args)) != NULL) {
        rc = ncoll__call_again(g, repeat, timeout_ns == NCOLL_BLOCK);
        if (__builtin_expect(rc == NCOLL_OK, 1))
            return NCOLL_OK;
        return rc == NCOLL_TIMEOUT ? drive(g, args, timeout_ns) : rc;
    }
    if ((rc = check(g, args)) != NCOLL_OK)
        return rc;
    g->again = NULL;
    if (__builtin_expect(g->creating != NULL, 0))
        return ncoll__group_busy(g);
    if (__builtin_expect(g->unfinished, 0)) {
        if (!ncoll__same_args(&g->blocking_args, args))
            return ncoll__fail(g->ctx, NCOLL_ERR_BUSY, -1,
                               "call it again first, with the same arguments, until it is finished",
                               "%s that returned NCOLL_TIMEOUT",
                               ncoll__collective_name(g->blocking_args.collective));
    } else if ((rc = ncoll__call_start(g, &g->blocking, args)) != NCOLL_OK) {
        return rc;
    } else if (g->blocking.copy == NULL) {
        plan = g->blocking.plan;
    }
    if (plan != NULL)
        plan->users++; /* it may be forgotten meanwhile, but not freed */
    rc = drive(g, args, timeout_ns);
    if (rc == NCOLL_OK && plan != NULL && args->sync == NCOLL_LOOSE)
        ncoll__call_remember(g, args, plan);
    if (plan != NULL)
        ncoll__plan_leave(g, plan);
    return rc;
}

/* ------------------------------------------------------------------ requests ------------------ */

static struct ncoll_request *request_take(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;
    struct ncoll_request *r = ctx->requests;

    while (r != NULL && r->magic == REQUEST_MAGIC)
        r = r->next;
    if (r == NULL && (r = ncoll__allocate(ctx, sizeof *r)) != NULL) {
        r->next = ctx->requests;
        ctx->requests = r;
    }
    if (r == NULL)
        ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a request");
    else
        *r = (struct ncoll_request){.group = g, .next = r->next};
    return r;
}

static int check_request(struct ncoll_group *g, const struct call_args *args,
                         ncoll_request **request)
{
    int rc = check_group(g);

    if (rc != NCOLL_OK)
        return rc;
    if (request == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1, "pass where the request is to go",
                           "request is NULL");
    if (ncoll__group_ending(g))
        return ncoll__group_busy(g);
    return check(g, args);
}

static int start_request(struct ncoll_group *g, const struct call_args *args,
                         ncoll_request **request)
{
    struct ncoll_request *r;
    int rc = check_request(g, args, request);

    if (rc != NCOLL_OK)
        return rc;
    if ((r = request_take(g)) == NULL)
        return NCOLL_ERR_MEMORY;
    if ((rc = ncoll__call_start(g, &r->call, args)) != NCOLL_OK ||
        (rc = ncoll__group_progress(g)) != NCOLL_OK)
        return rc;
    r->magic = REQUEST_MAGIC;
    r->started = true;
    *request = r;
    return NCOLL_OK;
}

static bool is_request(const struct ncoll_request *r)
{
    return r != NULL && r->magic == REQUEST_MAGIC;
}

int ncoll_wait(ncoll_request **request, int64_t timeout_ns)
{
    if (request == NULL || !is_request(*request))
        return NCOLL_ERR_HANDLE;
    struct ncoll_request *r = *request;
    int rc = check_timeout(r->group, timeout_ns);
    if (rc != NCOLL_OK || !r->started)
        return rc;
    if (r->persistent && timeout_ns == NCOLL_BLOCK)
        ncoll__call_spin(r->group, &r->call);
    rc = r->call.state == CALL_ENDED ? r->call.status
                                     : ncoll__call_drive(r->group, &r->call, timeout_ns);
    if (rc == NCOLL_TIMEOUT)
        return rc;
    if (rc != NCOLL_OK) /* say again why, if the job has failed */
        ncoll__failure(r->group->ctx);
    r->started = false;
    if (!r->persistent) {
        r->magic = 0;
        *request = NULL;
    }
    return rc;
}

/* ------------------------------------------------------------------ persistent requests ------- */

/* What cannot be planned on this rank alone, or not yet: an alltoall with counts, of which no rank
 * knows all; what the trial is to choose the radix of. It is planned at each start. */
static bool is_planned_later(const struct ncoll_group *g, const struct call_args *args)
{
    return args->sends != NULL || ncoll__trial_wanted(g, args);
}

/* The arrays of what is planned later; plans have their own. */
static int keep_arrays(struct ncoll_group *g, struct ncoll_request *r)
{
    const size_t **arrays[] = {&r->args.counts, &r->args.displs, &r->args.sends,
                               &r->args.send_displs};
    size_t size = (size_t)g->size;

    r->arrays = ncoll__allocate(g->ctx, 4 * size * sizeof *r->arrays);
    if (r->arrays == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a request");
    for (unsigned i = 0; i < 4; i++)
        if (*arrays[i] != NULL)
            *arrays[i] = memcpy(r->arrays + i * size, *arrays[i], size * sizeof *r->arrays);
    return NCOLL_OK;
}

static int init_request(struct ncoll_group *g, const struct call_args *args,
                        ncoll_request **request)
{
    struct ncoll_request *r;
    int rc = check_request(g, args, request);

    if (rc != NCOLL_OK || (rc = ncoll__failure(g->ctx)) != NCOLL_OK)
        return rc;
    if ((r = request_take(g)) == NULL)
        return NCOLL_ERR_MEMORY;
    struct call_args loose = *args;
    loose.sync = NCOLL_LOOSE;
    r->args = *args;
    if (is_planned_later(g, &loose))
        rc = keep_arrays(g, r);
    else
        rc = ncoll__plan(g, &loose, 0, &r->plan);
    if (rc != NCOLL_OK)
        return rc;
    if (r->plan != NULL) { /* the user's arrays may be reused */
        r->args.counts = r->plan->key.counts;
        r->args.displs = r->plan->key.displs;
    }
    r->magic = REQUEST_MAGIC;
    r->persistent = true;
    *request = r;
    return NCOLL_OK;
}

int ncoll_start(ncoll_request *r)
{
    int rc;

    if (!is_request(r) || !r->persistent)
        return NCOLL_ERR_HANDLE;
    if (r->started)
        return ncoll__fail(r->group->ctx, NCOLL_ERR_BUSY, -1, "ncoll_wait() for it first",
                           "%s, a persistent request that is started",
                           ncoll__collective_name(r->args.collective));
    if (ncoll__group_ending(r->group))
        return ncoll__group_busy(r->group);
    if (r->plan != NULL && r->args.sync == NCOLL_LOOSE)
        rc = ncoll__call_restart(r->group, &r->call, &r->args, r->plan);
    else if ((rc = ncoll__call_start(r->group, &r->call, &r->args)) == NCOLL_OK)
        rc = ncoll__group_progress(r->group);
    if (rc != NCOLL_OK)
        return rc;
    r->started = true;
    return NCOLL_OK;
}

int ncoll_request_free(ncoll_request **request)
{
    if (request == NULL || !is_request(*request) || !(*request)->persistent)
        return NCOLL_ERR_HANDLE;
    struct ncoll_request *r = *request;
    if (r->started)
        return ncoll__fail(r->group->ctx, NCOLL_ERR_BUSY, -1, "ncoll_wait() for it first",
                           "%s, a persistent request that is started",
                           ncoll__collective_name(r->args.collective));
    ncoll__request_drop(r);
    *request = NULL;
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ progress ------------------ */

int ncoll_test(ncoll_request **request)
{
    return ncoll_wait(request, NCOLL_TEST);
}

int ncoll_progress(ncoll_context *ctx)
{
    if (ctx == NULL || ctx->magic != CONTEXT_MAGIC)
        return NCOLL_ERR_HANDLE;
    return ncoll__progress(ctx);
}

/* ------------------------------------------------------------------ collectives --------------- */

/* How the calls on a group are synchronised; a barrier is by itself. */
static inline unsigned sync_of(const struct ncoll_group *g)
{
    return check_group(g) == NCOLL_OK ? g->sync : NCOLL_LOOSE;
}

/* Each is named here once: its parameters, and what they are in struct call_args. */
#define EACH(name, parameters, ...)                                                                \
    int ncoll_##name(ncoll_group *group UNPACK parameters, int64_t timeout_ns)                     \
    {                                                                                              \
        const struct call_args args = {.sync = sync_of(group), __VA_ARGS__};                       \
        return call(group, &args, timeout_ns);                                                     \
    }                                                                                              \
    int ncoll_##name##_start(ncoll_group *group UNPACK parameters, ncoll_request **request)        \
    {                                                                                              \
        const struct call_args args = {.sync = sync_of(group), __VA_ARGS__};                       \
        return start_request(group, &args, request);                                               \
    }                                                                                              \
    int ncoll_##name##_init(ncoll_group *group UNPACK parameters, ncoll_request **request)         \
    {                                                                                              \
        const struct call_args args = {.sync = sync_of(group), __VA_ARGS__};                       \
        return init_request(group, &args, request);                                                \
    }
#define UNPACK(...) , ##__VA_ARGS__

int ncoll_barrier(ncoll_group *group, int64_t timeout_ns)
{
    static const struct call_args args = {.collective = COLL_BARRIER};
    return call(group, &args, timeout_ns);
}

int ncoll_barrier_start(ncoll_group *group, ncoll_request **request)
{
    const struct call_args args = {.collective = COLL_BARRIER};
    return start_request(group, &args, request);
}

int ncoll_barrier_init(ncoll_group *group, ncoll_request **request)
{
    const struct call_args args = {.collective = COLL_BARRIER};
    return init_request(group, &args, request);
}

EACH(allreduce, (const void *in, void *out, size_t count, ncoll_type type, ncoll_op op),
     .collective = COLL_ALLREDUCE, .in = in, .out = out, .count = count, .type = type, .op = op)

EACH(reduce, (const void *in, void *out, size_t count, ncoll_type type, ncoll_op op, int root),
     .collective = COLL_REDUCE, .in = in, .out = out, .count = count, .type = type, .op = op,
     .root = root)

EACH(bcast, (void *buffer, size_t count, ncoll_type type, int root), .collective = COLL_BCAST,
     .in = buffer, .out = buffer, .count = count, .type = type, .root = root)

EACH(gather, (const void *in, void *out, size_t count, ncoll_type type, int root),
     .collective = COLL_GATHER, .in = in, .out = out, .count = count, .type = type, .root = root)

EACH(gatherv,
     (const void *in, void *out, const size_t *counts, const size_t *displs, ncoll_type type,
      int root),
     .collective = COLL_GATHER, .needs_counts = true, .in = in, .out = out, .counts = counts,
     .displs = displs, .type = type, .root = root)

EACH(scatter, (const void *in, void *out, size_t count, ncoll_type type, int root),
     .collective = COLL_SCATTER, .in = in, .out = out, .count = count, .type = type, .root = root)

EACH(scatterv,
     (const void *in, const size_t *counts, const size_t *displs, void *out, ncoll_type type,
      int root),
     .collective = COLL_SCATTER, .needs_counts = true, .in = in, .out = out, .counts = counts,
     .displs = displs, .type = type, .root = root)

EACH(allgather, (const void *in, void *out, size_t count, ncoll_type type),
     .collective = COLL_ALLGATHER, .in = in, .out = out, .count = count, .type = type)

EACH(allgatherv,
     (const void *in, void *out, const size_t *counts, const size_t *displs, ncoll_type type),
     .collective = COLL_ALLGATHER, .needs_counts = true, .in = in, .out = out, .counts = counts,
     .displs = displs, .type = type)

EACH(alltoall, (const void *in, void *out, size_t count, ncoll_type type),
     .collective = COLL_ALLTOALL, .in = in, .out = out, .count = count, .type = type)

EACH(alltoallv,
     (const void *in, const size_t *in_counts, const size_t *in_displs, void *out,
      const size_t *out_counts, const size_t *out_displs, ncoll_type type),
     .collective = COLL_ALLTOALL, .needs_counts = true, .in = in, .out = out, .counts = out_counts,
     .displs = out_displs, .sends = in_counts, .send_displs = in_displs, .type = type)

EACH(reduce_scatter,
     (const void *in, void *out, const size_t *counts, ncoll_type type, ncoll_op op),
     .collective = COLL_REDUCE_SCATTER, .needs_counts = true, .in = in, .out = out,
     .counts = counts, .type = type, .op = op)

EACH(reduce_scatter_block, (const void *in, void *out, size_t count, ncoll_type type, ncoll_op op),
     .collective = COLL_REDUCE_SCATTER, .in = in, .out = out, .count = count, .type = type,
     .op = op)

EACH(scan, (const void *in, void *out, size_t count, ncoll_type type, ncoll_op op),
     .collective = COLL_SCAN, .in = in, .out = out, .count = count, .type = type, .op = op)

EACH(exscan, (const void *in, void *out, size_t count, ncoll_type type, ncoll_op op),
     .collective = COLL_EXSCAN, .in = in, .out = out, .count = count, .type = type, .op = op)
