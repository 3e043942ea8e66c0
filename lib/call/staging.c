/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data that the library works on in place of the user's: a copy of IN where a schedule cannot write
 * where it reads from, and the accumulators of a reproducible sum. There is memory for it before
 * the call is queued; it is filled in when the call begins, since with a strict entry others may
 * write to the user's data until then.
 */
#include <string.h>

#include "lib/call/call.h"
#include "lib/plan/compile.h"
#include "lib/compute/reproducible.h"

size_t ncoll__element_bytes(const struct ncoll_context *ctx, const struct call_args *args)
{
    if (args->collective == COLL_BARRIER)
        return 1;
    if (reduces(args->collective) && args->op == NCOLL_SUM_REPRODUCIBLE)
        return sizeof(struct reproducible);
    return ncoll_context_type_size(ctx, args->type);
}

/* So many elements, the call's until it ends, that take IN's place. */
static void *take(struct ncoll_group *g, struct call *c, size_t count, size_t element)
{
    size_t bytes;
    bool too_many = __builtin_mul_overflow(count, element, &bytes) || bytes > PTRDIFF_MAX;

    c->copy = too_many ? NULL : ncoll__allocate(g->ctx, bytes);
    if (c->copy == NULL) {
        ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, "check the count, or call with a part at a time",
                    "no memory for %zu elements of %zu bytes to work in", count, element);
        return NULL;
    }
    c->user_in = c->args.in;
    c->user_in_bytes = ncoll__in_bytes(g, &c->args);
    c->args.in = c->copy;
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
    struct reproducible *sums = take(g, c, in + out, sizeof *sums);

    if (sums == NULL)
        return NCOLL_ERR_MEMORY;
    c->user_out = args->out;
    c->user_out_count = out;
    c->args.out = sums + in;
    return NCOLL_OK;
}

static bool adds_reproducibly(const struct call_args *args)
{
    return reduces(args->collective) && args->op == NCOLL_SUM_REPRODUCIBLE;
}

int ncoll__stage(struct ncoll_group *g, struct call *c)
{
    enum collective coll = c->args.collective;
    bool cannot = coll == COLL_REDUCE_SCATTER || coll == COLL_ALLTOALL;

    if (adds_reproducibly(&c->args))
        return stage_sums(g, c);
    if (!cannot || c->args.in != c->args.out || g->size == 1)
        return NCOLL_OK;
    return take(g, c, ncoll__in_bytes(g, &c->args), 1) != NULL ? NCOLL_OK : NCOLL_ERR_MEMORY;
}

void ncoll__stage_in(struct ncoll_group *g, struct call *c)
{
    size_t element = ncoll_context_type_size(g->ctx, c->args.type);

    if (adds_reproducibly(&c->args))
        ncoll__reproducible_open(c->copy, c->user_in, c->user_in_bytes / element, c->args.type);
    else
        memcpy(c->copy, c->user_in, c->user_in_bytes);
}

void ncoll__unstage(struct ncoll_group *g, struct call *c, int status)
{
    if (c->user_out != NULL && status == NCOLL_OK)
        ncoll__reproducible_close(c->user_out, c->args.out, c->user_out_count, c->args.type);
    ncoll__release(g->ctx, c->copy);
    c->copy = NULL;
    c->user_in = NULL;
    c->user_out = NULL;
}
