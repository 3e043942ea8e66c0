/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public collectives: each puts its arguments together, twice, for the call with a time-out and
 * for the request. What follows is the same for all: check, start, drive.
 */
#include <string.h>

#include "lib/call.h"

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

/* A blocking collective: starts it, or goes on with the one that timed out. */
static int call(struct ncoll_group *g, const struct call_args *args, int64_t timeout_ns)
{
    int rc;

    if ((rc = check_group(g)) != NCOLL_OK || (rc = check_timeout(g, timeout_ns)) != NCOLL_OK ||
        (rc = check(g, args)) != NCOLL_OK)
        return rc;
    if (__builtin_expect(g->unfinished, 0)) {
        if (!ncoll__same_args(&g->blocking_args, args))
            return ncoll__fail(g->ctx, NCOLL_ERR_BUSY, -1,
                               "finish it first: call it again with the same arguments",
                               "another collective is unfinished on this group");
    } else if ((rc = ncoll__call_start(g, &g->blocking, args)) != NCOLL_OK) {
        return rc;
    }
    rc = ncoll__call_drive(g, &g->blocking, timeout_ns);
    g->unfinished = rc == NCOLL_TIMEOUT;
    if (g->unfinished)
        g->blocking_args = *args;
    return rc;
}

/* ------------------------------------------------------------------ requests ------------------ */

static struct ncoll_request *request_take(struct ncoll_group *g)
{
    struct ncoll_request *r = g->requests;

    while (r != NULL && r->magic == REQUEST_MAGIC)
        r = r->next;
    if (r == NULL && (r = ncoll__allocate(g->ctx, sizeof *r)) != NULL) {
        r->next = g->requests;
        g->requests = r;
    }
    if (r != NULL)
        r->group = g;
    return r;
}

static int start_request(struct ncoll_group *g, const struct call_args *args,
                         ncoll_request **request)
{
    int rc;

    if ((rc = check_group(g)) != NCOLL_OK)
        return rc;
    if (request == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1, NULL, "request is NULL");
    if ((rc = check(g, args)) != NCOLL_OK)
        return rc;
    struct ncoll_request *r = request_take(g);
    if (r == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a request");
    if ((rc = ncoll__call_start(g, &r->call, args)) != NCOLL_OK ||
        (rc = ncoll__group_progress(g)) != NCOLL_OK)
        return rc;
    r->magic = REQUEST_MAGIC;
    *request = r;
    return NCOLL_OK;
}

int ncoll_wait(ncoll_request **request, int64_t timeout_ns)
{
    if (request == NULL || *request == NULL || (*request)->magic != REQUEST_MAGIC)
        return NCOLL_ERR_HANDLE;
    struct ncoll_request *r = *request;
    int rc = check_timeout(r->group, timeout_ns);
    if (rc != NCOLL_OK)
        return rc;
    if (r->call.state == CALL_ENDED)
        rc = r->call.status != NCOLL_OK ? ncoll__failure(r->group->ctx) : NCOLL_OK;
    else
        rc = ncoll__call_drive(r->group, &r->call, timeout_ns);
    if (rc == NCOLL_TIMEOUT)
        return rc;
    if (r->call.status != NCOLL_OK)
        rc = r->call.status;
    r->magic = 0;
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
    return ncoll__group_progress(ctx->world);
}

/* ------------------------------------------------------------------ collectives --------------- */

/* Each is named here once: its parameters, and what they are in struct call_args. */
#define BOTH(name, parameters, ...)                                                                \
    int ncoll_##name(ncoll_group *group UNPACK parameters, int64_t timeout_ns)                     \
    {                                                                                              \
        const struct call_args args = {__VA_ARGS__};                                               \
        return call(group, &args, timeout_ns);                                                     \
    }                                                                                              \
    int ncoll_##name##_start(ncoll_group *group UNPACK parameters, ncoll_request **request)        \
    {                                                                                              \
        const struct call_args args = {__VA_ARGS__};                                               \
        return start_request(group, &args, request);                                               \
    }
#define UNPACK(...) , ##__VA_ARGS__

int ncoll_barrier(ncoll_group *group, int64_t timeout_ns)
{
    const struct call_args args = {.collective = COLL_BARRIER};
    return call(group, &args, timeout_ns);
}

int ncoll_barrier_start(ncoll_group *group, ncoll_request **request)
{
    const struct call_args args = {.collective = COLL_BARRIER};
    return start_request(group, &args, request);
}

BOTH(allreduce, (const void *in, void *out, size_t count, ncoll_type type, ncoll_op op),
     .collective = COLL_ALLREDUCE, .in = in, .out = out, .count = count, .type = type, .op = op)

BOTH(reduce, (const void *in, void *out, size_t count, ncoll_type type, ncoll_op op, int root),
     .collective = COLL_REDUCE, .in = in, .out = out, .count = count, .type = type, .op = op,
     .root = root)

BOTH(bcast, (void *buffer, size_t count, ncoll_type type, int root), .collective = COLL_BCAST,
     .in = buffer, .out = buffer, .count = count, .type = type, .root = root)

BOTH(gather, (const void *in, void *out, size_t count, ncoll_type type, int root),
     .collective = COLL_GATHER, .in = in, .out = out, .count = count, .type = type, .root = root)

BOTH(gatherv,
     (const void *in, void *out, const size_t *counts, const size_t *displs, ncoll_type type,
      int root),
     .collective = COLL_GATHER, .needs_counts = true, .in = in, .out = out, .counts = counts,
     .displs = displs, .type = type, .root = root)

BOTH(scatter, (const void *in, void *out, size_t count, ncoll_type type, int root),
     .collective = COLL_SCATTER, .in = in, .out = out, .count = count, .type = type, .root = root)

BOTH(scatterv,
     (const void *in, const size_t *counts, const size_t *displs, void *out, ncoll_type type,
      int root),
     .collective = COLL_SCATTER, .needs_counts = true, .in = in, .out = out, .counts = counts,
     .displs = displs, .type = type, .root = root)

BOTH(allgather, (const void *in, void *out, size_t count, ncoll_type type),
     .collective = COLL_ALLGATHER, .in = in, .out = out, .count = count, .type = type)

BOTH(allgatherv,
     (const void *in, void *out, const size_t *counts, const size_t *displs, ncoll_type type),
     .collective = COLL_ALLGATHER, .needs_counts = true, .in = in, .out = out, .counts = counts,
     .displs = displs, .type = type)

BOTH(alltoall, (const void *in, void *out, size_t count, ncoll_type type),
     .collective = COLL_ALLTOALL, .in = in, .out = out, .count = count, .type = type)

BOTH(alltoallv,
     (const void *in, const size_t *in_counts, const size_t *in_displs, void *out,
      const size_t *out_counts, const size_t *out_displs, ncoll_type type),
     .collective = COLL_ALLTOALL, .needs_counts = true, .in = in, .out = out, .counts = out_counts,
     .displs = out_displs, .sends = in_counts, .send_displs = in_displs, .type = type)

BOTH(reduce_scatter,
     (const void *in, void *out, const size_t *counts, ncoll_type type, ncoll_op op),
     .collective = COLL_REDUCE_SCATTER, .needs_counts = true, .in = in, .out = out,
     .counts = counts, .type = type, .op = op)

BOTH(reduce_scatter_block, (const void *in, void *out, size_t count, ncoll_type type, ncoll_op op),
     .collective = COLL_REDUCE_SCATTER, .in = in, .out = out, .count = count, .type = type,
     .op = op)

BOTH(scan, (const void *in, void *out, size_t count, ncoll_type type, ncoll_op op),
     .collective = COLL_SCAN, .in = in, .out = out, .count = count, .type = type, .op = op)

BOTH(exscan, (const void *in, void *out, size_t count, ncoll_type type, ncoll_op op),
     .collective = COLL_EXSCAN, .in = in, .out = out, .count = count, .type = type, .op = op)
