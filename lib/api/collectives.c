/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public collectives. Each has three functions: a blocking call, a request and a persistent
 * request. Each function collects the arguments. The rest is the same for all: find the call among
 * the known calls or check its arguments, begin it, drive it.
 */
#include <string.h>

#include "lib/run/call.h"
#include "lib/run/compressed.h"
#include "lib/base/entry.h"
#include "lib/base/signature.h"
#include "lib/api/calls.h"
#include "lib/api/check.h"
#include "lib/plan/plan.h"
#include "lib/choose/planned.h"
#include "lib/watch/failure.h"

/* ------------------------------------------------------------------ calls --------------------- */

/* Finds the known call with these arguments. If there is none, *k is NULL, and the arguments are
 * checked. A call with a threshold is found by its threshold_key; the known call then takes the
 * threshold of the present call. */
static int find_or_check(struct ncoll_group *g, const struct call_args *args, struct known_call **k)
{
    *k = ncoll__known_find(g, args);
    if (*k != NULL && args->made != NULL)
        (*k)->args = *args;
    return *k != NULL ? NCOLL_OK : ncoll__check_args(g, args);
}

/* Sets the blocking call of the group that has timed out; NULL: it has ended. Counts it in
 * ctx->pending. */
static void set_unfinished(struct ncoll_group *g, struct known_call *k)
{
    g->ctx->pending += (unsigned)(k != NULL) - (unsigned)(g->known.unfinished != NULL);
    g->known.unfinished = k;
}

int ncoll__call_go_on(struct ncoll_group *g, struct known_call *k, int64_t timeout_ns)
{
    int rc = ncoll__call_drive(g, &g->blocking, timeout_ns);

    set_unfinished(g, rc == NCOLL_TIMEOUT ? k : NULL);
    return rc == NCOLL_TIMEOUT ? ncoll__timed_out(g, timeout_ns) : rc;
}

/* Begins a blocking call and drives it. */
static int begin_and_drive(struct ncoll_group *g, struct known_call *k, int64_t timeout_ns)
{
    bool may_spin = timeout_ns == NCOLL_BLOCK && ncoll__is_alone(g);
    int rc = ncoll__begin(g, &g->blocking, k, may_spin);

    if (rc != NCOLL_OK)
        return rc;
    g->known.begun++;
    return g->blocking.state == CALL_ENDED ? g->blocking.status
                                           : ncoll__call_go_on(g, k, timeout_ns);
}

int ncoll__call_blocking_known(struct ncoll_group *g, struct known_call *known,
                               const struct call_args *args, int64_t timeout_ns)
{
    struct known_call *unfinished = g->known.unfinished;
    int rc = ncoll__check_timeout(g, timeout_ns);

    if (rc != NCOLL_OK)
        return rc;
    if (g->creating != NULL ||
        (unfinished != NULL && (unfinished != known || !ncoll__same_args(&known->args, args))))
        return ncoll__group_busy(g);
    if (unfinished != NULL) {
        g->blocking.args.result = args->result;
        return ncoll__call_go_on(g, known, timeout_ns);
    }
    known->args = *args;
    return begin_and_drive(g, known, timeout_ns);
}

int ncoll__call(struct ncoll_group *g, const struct call_args *args, int64_t timeout_ns)
{
    struct known_call *k;
    int rc;

    if ((rc = ncoll__check_timeout(g, timeout_ns)) != NCOLL_OK ||
        (rc = find_or_check(g, args, &k)) != NCOLL_OK)
        return rc;
    if (k != NULL && k->plain && g->ctx->pending == 0) {
        ncoll__known_follows(g, k);
        return ncoll__call_plain(g, k, timeout_ns);
    }
    if (g->creating != NULL)
        return ncoll__group_busy(g);
    if (g->known.unfinished != NULL) {
        k = g->known.unfinished;
        if (!ncoll__same_args(&k->args, args) || k->args.made != args->made)
            return ncoll__group_busy(g);
        rc = ncoll__call_go_on(g, k, timeout_ns);
    } else {
        if (k == NULL && (rc = ncoll__known_add(g, args, &k)) != NCOLL_OK)
            return rc;
        rc = begin_and_drive(g, k, timeout_ns);
    }
    if (rc == NCOLL_OK)
        ncoll__known_ended(g, k);
    return rc;
}

/* Makes a blocking call in a context that call_expected() has entered, and leaves the context. */
static int call(struct ncoll_group *g, const struct call_args *args, int64_t timeout_ns,
                struct entry *entry)
{
    int rc = ncoll__call(g, args, timeout_ns);

    ncoll__leave_call(entry);
    return rc;
}

int ncoll__call_allreduce(struct ncoll_group *g, const void *in, void *out, size_t count,
                          ncoll_type type, ncoll_op op, int64_t timeout_ns)
{
    const struct call_args args = {
        .collective = COLL_ALLREDUCE, .in = in, .out = out, .count = count, .type = type, .op = op};

    return ncoll__call(g, &args, timeout_ns);
}

/* The short path: enters the context, and makes the call if it is the expected one. Returns true if
 * the call has been made, with its status in *rc, or was refused. Otherwise the context stays
 * entered. The function is inlined where the arguments are constants or in registers, so that they
 * are compared there and not written to memory. */
static inline __attribute__((always_inline)) bool call_expected(struct ncoll_group *g,
                                                                const struct plain_args *args,
                                                                int64_t timeout_ns,
                                                                struct entry **entry, int *rc)
{
    *entry = ncoll__enter(g->ctx, rc);
    if (__builtin_expect(*entry == NULL, 0))
        return true;
    if (__builtin_expect(timeout_ns < 0 || !ncoll__call_is_expected(g, args), 0))
        return false;
    *rc = ncoll__call_plain(g, g->known.latest->then, timeout_ns);
    ncoll__leave_call(*entry);
    return true;
}

/* ------------------------------------------------------------------ requests ------------------ */

static int check_request(struct ncoll_group *g, ncoll_request **request)
{
    if (request == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1, "pass a pointer for the request",
                           "request is NULL");
    return ncoll__group_ending(g) ? ncoll__group_busy(g) : NCOLL_OK;
}

/* Takes memory for a request, and finds the known call for it, or makes one. */
static int take_request(struct ncoll_group *g, const struct call_args *args,
                        ncoll_request **request, struct known_call **k, struct ncoll_request **r)
{
    int rc;

    if ((rc = check_request(g, request)) != NCOLL_OK ||
        (rc = find_or_check(g, args, k)) != NCOLL_OK ||
        (*k == NULL && (rc = ncoll__known_add(g, args, k)) != NCOLL_OK) ||
        (rc = ncoll__failure(g->ctx)) != NCOLL_OK)
        return rc;
    *r = ncoll__request_take(g);
    return *r != NULL ? NCOLL_OK : NCOLL_ERR_MEMORY;
}

/* Starts a request that ncoll__request_take() has returned. On an error gives it back. */
static int start_taken(struct ncoll_group *g, struct ncoll_request *r, struct known_call *k,
                       ncoll_request **request)
{
    int rc;

    if ((rc = ncoll__begin(g, &r->call, k, false)) != NCOLL_OK ||
        (r->call.state == CALL_QUEUED && (rc = ncoll__advance(g)) != NCOLL_OK)) {
        ncoll__request_give(r);
        return rc;
    }
    r->magic = REQUEST_MAGIC;
    r->started = true;
    *request = r;
    return NCOLL_OK;
}

int ncoll__call_start(struct ncoll_group *g, const struct call_args *args, ncoll_request **request)
{
    struct ncoll_request *r = NULL;
    struct known_call *k;
    int rc;

    if ((rc = take_request(g, args, request, &k, &r)) != NCOLL_OK)
        return rc;
    return start_taken(g, r, k, request);
}

int ncoll__request_of(struct ncoll_group *g, const struct call_args *args, bool start,
                      ncoll_request **request)
{
    struct ncoll_request *r;
    int rc;

    if ((rc = check_request(g, request)) != NCOLL_OK || (rc = ncoll__failure(g->ctx)) != NCOLL_OK)
        return rc;
    if ((r = ncoll__request_take(g)) == NULL)
        return NCOLL_ERR_MEMORY;
    r->known.args = *args;
    if (start)
        return start_taken(g, r, &r->known, request);
    r->magic = REQUEST_MAGIC;
    r->persistent = true;
    *request = r;
    return NCOLL_OK;
}

static int start_request(struct ncoll_group *g, const struct call_args *args,
                         ncoll_request **request)
{
    ENTER(g->ctx);
    return ncoll__call_start(g, args, request);
}

int ncoll__request_end(ncoll_request **request)
{
    struct ncoll_request *r = *request;
    int rc = r->call.status;

    if (rc == NCOLL_ERR_CODEC) /* records the codec's error again */
        ncoll__compressed_fail(r->known.args.compressor);
    else if (rc != NCOLL_OK) /* records the failure of the job again, if there is one */
        ncoll__failure(r->group->ctx);
    r->started = false;
    if (!r->persistent) {
        ncoll__request_give(r);
        *request = NULL;
    }
    return rc;
}

int ncoll_wait(ncoll_request **request, int64_t timeout_ns)
{
    if (request == NULL || !is_request(*request))
        return NCOLL_ERR_HANDLE;
    struct ncoll_request *r = *request;
    ENTER(r->group->ctx);
    int rc = ncoll__check_timeout(r->group, timeout_ns);
    if (rc != NCOLL_OK || !r->started)
        return rc;
    if (r->persistent && timeout_ns == NCOLL_BLOCK)
        ncoll__call_spin(r->group, &r->call);
    rc = r->call.state == CALL_ENDED ? r->call.status
                                     : ncoll__call_drive(r->group, &r->call, timeout_ns);
    return rc == NCOLL_TIMEOUT ? ncoll__timed_out(r->group, timeout_ns)
                               : ncoll__request_end(request);
}

/* ------------------------------------------------------------------ persistent requests ------- */

/* Copies the arrays of a persistent request without a plan, which is planned whenever it starts.
 * Plans have copies of their own. */
static int keep_arrays(struct ncoll_group *g, struct ncoll_request *r)
{
    struct call_args *args = &r->known.args;
    const size_t **arrays[] = {&args->counts, &args->displs, &args->sends, &args->send_displs};
    size_t size = (size_t)g->size;

    r->arrays = ncoll__allocate(g->ctx, 4 * size * sizeof *r->arrays);
    if (r->arrays == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a request");
    for (unsigned i = 0; i < 4; i++)
        if (*arrays[i] != NULL)
            *arrays[i] = memcpy(r->arrays + i * size, *arrays[i], size * sizeof *r->arrays);
    return NCOLL_OK;
}

int ncoll__call_init(struct ncoll_group *g, const struct call_args *args, ncoll_request **request)
{
    struct ncoll_request *r = NULL;
    struct known_call *k;
    int rc;

    if ((rc = take_request(g, args, request, &k, &r)) != NCOLL_OK)
        return rc;
    r->known.args = *args;
    if (k->plan != NULL)
        ncoll__known_keep(&r->known, k);
    else if ((rc = keep_arrays(g, r)) != NCOLL_OK) {
        ncoll__request_give(r);
        return rc;
    }
    r->magic = REQUEST_MAGIC;
    r->persistent = true;
    *request = r;
    return NCOLL_OK;
}

static int init_request(struct ncoll_group *g, const struct call_args *args,
                        ncoll_request **request)
{
    ENTER(g->ctx);
    return ncoll__call_init(g, args, request);
}

int ncoll_start(ncoll_request *r)
{
    int rc;

    if (!is_request(r) || !r->persistent)
        return NCOLL_ERR_HANDLE;
    ENTER(r->group->ctx);
    if (r->started)
        return ncoll__fail(r->group->ctx, BECAUSE(NCOLL_ERR_BUSY, CALL_UNFINISHED), -1,
                           "ncoll_wait() for it first", "a persistent request of %s is started",
                           ncoll__collective_name(r->known.args.collective));
    if (ncoll__group_ending(r->group))
        return ncoll__group_busy(r->group);
    if ((rc = ncoll__begin(r->group, &r->call, &r->known, false)) != NCOLL_OK)
        return rc;
    if (r->call.state == CALL_QUEUED && (rc = ncoll__advance(r->group)) != NCOLL_OK)
        return rc;
    r->started = true;
    return NCOLL_OK;
}

int ncoll_request_free(ncoll_request **request)
{
    if (request == NULL || !is_request(*request) || !(*request)->persistent)
        return NCOLL_ERR_HANDLE;
    struct ncoll_request *r = *request;
    ENTER(r->group->ctx);
    if (r->started)
        return ncoll__fail(r->group->ctx, BECAUSE(NCOLL_ERR_BUSY, CALL_UNFINISHED), -1,
                           "ncoll_wait() for it first", "a persistent request of %s is started",
                           ncoll__collective_name(r->known.args.collective));
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
    ENTER(ctx);
    return ncoll__progress(ctx);
}

int ncoll_progress_count(ncoll_context *ctx, unsigned *events)
{
    if (ctx == NULL || ctx->magic != CONTEXT_MAGIC)
        return NCOLL_ERR_HANDLE;
    ENTER(ctx);
    if (events == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "pass a pointer for the number of events",
                           "events is NULL");
    uint64_t before = ctx->moved;
    int rc = ncoll__progress(ctx);
    if (rc == NCOLL_OK)
        *events = (unsigned)(ctx->moved - before);
    return rc;
}

/* ------------------------------------------------------------------ collectives --------------- */

/* Makes a blocking call. The arguments are written out twice: see call_expected(). */
#define CALL(group, timeout_ns, ...)                                                               \
    do {                                                                                           \
        struct entry *entry;                                                                       \
        int rc;                                                                                    \
        if (!is_group(group))                                                                      \
            return NCOLL_ERR_HANDLE;                                                               \
        if (call_expected(group, &(const struct plain_args){__VA_ARGS__}, timeout_ns, &entry,      \
                          &rc))                                                                    \
            return rc;                                                                             \
        return call(group, &(const struct call_args){__VA_ARGS__}, timeout_ns, entry);             \
    } while (0)

/* Defines the three calls of a collective (blocking, start, init) from its parameters and the
 * fields of struct call_args that they set. A barrier does not set `sync`, so it is defined without
 * EACH. */
#define EACH(name, parameters, ...)                                                                \
    int ncoll_##name(ncoll_group *group UNPACK parameters, int64_t timeout_ns)                     \
    {                                                                                              \
        CALL(group, timeout_ns, .sync = group->sync, __VA_ARGS__);                                 \
    }                                                                                              \
    int ncoll_##name##_start(ncoll_group *group UNPACK parameters, ncoll_request **request)        \
    {                                                                                              \
        if (!is_group(group))                                                                      \
            return NCOLL_ERR_HANDLE;                                                               \
        const struct call_args args = {.sync = group->sync, __VA_ARGS__};                          \
        return start_request(group, &args, request);                                               \
    }                                                                                              \
    int ncoll_##name##_init(ncoll_group *group UNPACK parameters, ncoll_request **request)         \
    {                                                                                              \
        if (!is_group(group))                                                                      \
            return NCOLL_ERR_HANDLE;                                                               \
        const struct call_args args = {.sync = group->sync, __VA_ARGS__};                          \
        return init_request(group, &args, request);                                                \
    }
#define UNPACK(...) , ##__VA_ARGS__

int ncoll_barrier(ncoll_group *group, int64_t timeout_ns)
{
    CALL(group, timeout_ns, .collective = COLL_BARRIER);
}

int ncoll_barrier_start(ncoll_group *group, ncoll_request **request)
{
    const struct call_args args = {.collective = COLL_BARRIER};
    return is_group(group) ? start_request(group, &args, request) : NCOLL_ERR_HANDLE;
}

int ncoll_barrier_init(ncoll_group *group, ncoll_request **request)
{
    const struct call_args args = {.collective = COLL_BARRIER};
    return is_group(group) ? init_request(group, &args, request) : NCOLL_ERR_HANDLE;
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
