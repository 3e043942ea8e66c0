/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data that the library works on in place of the user's: a copy of IN where a schedule cannot write
 * where it reads from, and the accumulators of a reproducible sum.
 */
#include <string.h>

#include "lib/call.h"
#include "lib/compile.h"
#include "lib/reproducible.h"

size_t ncoll__element_bytes(const struct ncoll_context *ctx, const struct call_args *args)
{
    if (args->collective == COLL_BARRIER)
        return 1;
    if (reduces(args->collective) && args->op == NCOLL_SUM_REPRODUCIBLE)
        return sizeof(struct reproducible);
    return ncoll_context_type_size(ctx, args->type);
}

/* Memory for so many bytes, the call's until it ends. */
static void *take(struct ncoll_group *g, struct call *c, size_t bytes)
{
    c->copy = ncoll__allocate(g->ctx, bytes > 0 ? bytes : 1);
    if (c->copy == NULL)
        ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %zu bytes to work in",
                    bytes);
    return c->copy;
}

/* Elements of this rank's OUT, which is a vector in all reductions. */
static size_t out_count(const struct ncoll_group *g, const struct call_args *args)
{
    struct shape shape = ncoll__shape(g, args, 1, false);

    return has_out(&shape) ? block_count(&shape, shape.rank) : 0;
}

static int stage_sums(struct ncoll_group *g, struct call *c)
{
    const struct call_args *args = &c->args;
    size_t in = ncoll__in_bytes(g, args) / ncoll_context_type_size(g->ctx, args->type);
    size_t out = out_count(g, args);
    struct reproducible *sums = take(g, c, (in + out) * sizeof *sums);

    if (sums == NULL)
        return NCOLL_ERR_MEMORY;
    ncoll__reproducible_open(sums, args->in, in, args->type);
    c->user_out = args->out;
    c->user_count = out;
    c->args.in = sums;
    c->args.out = sums + in;
    return NCOLL_OK;
}

int ncoll__stage(struct ncoll_group *g, struct call *c)
{
    enum collective coll = c->args.collective;
    bool cannot = coll == COLL_REDUCE_SCATTER || coll == COLL_ALLTOALL;

    if (reduces(coll) && c->args.op == NCOLL_SUM_REPRODUCIBLE)
        return stage_sums(g, c);
    if (!cannot || c->args.in != c->args.out || g->size == 1)
        return NCOLL_OK;
    size_t bytes = ncoll__in_bytes(g, &c->args);
    if (take(g, c, bytes) == NULL)
        return NCOLL_ERR_MEMORY;
    c->args.in = memcpy(c->copy, c->args.in, bytes);
    return NCOLL_OK;
}

void ncoll__unstage(struct ncoll_group *g, struct call *c)
{
    if (c->user_out != NULL && c->status == NCOLL_OK)
        ncoll__reproducible_close(c->user_out, c->args.out, c->user_count, c->args.type);
    ncoll__release(g->ctx, c->copy);
    c->copy = NULL;
    c->user_out = NULL;
}
