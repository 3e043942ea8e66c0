/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the library uses in place of the user's: a copy of IN if the schedule must not write
 * to IN, and the accumulators of a reproducible sum. It is allocated before the call is queued, and
 * filled when the call begins: with a strict entry, other ranks may write to the user's data until
 * then.
 */
#include <string.h>

#include "lib/run/call.h"
#include "lib/plan/compile.h"
#include "lib/plan/arguments.h"
#include "lib/compute/reproducible.h"

/* Allocates memory for `count` elements of `element` bytes, which takes the place of IN. The call
 * owns it until it ends. */
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

/* Returns the number of elements in this rank's OUT, which is a vector in all reductions. */
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

/* True if the call is in place, and its schedules must not write to memory that they read. */
static bool needs_copy_of_in(const struct ncoll_group *g, const struct call_args *args)
{
    bool cannot = args->collective == COLL_REDUCE_SCATTER || args->collective == COLL_ALLTOALL;

    return cannot && args->in == args->out && g->size > 1;
}

bool ncoll__needs_copy(const struct ncoll_group *g, const struct call_args *args)
{
    return adds_reproducibly(args) || needs_copy_of_in(g, args);
}

int ncoll__stage(struct ncoll_group *g, struct call *c)
{
    if (adds_reproducibly(&c->args))
        return stage_sums(g, c);
    if (!needs_copy_of_in(g, &c->args))
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
