/* SPDX-License-Identifier: BSD-3-Clause */
/* Records the failure of the job, as far as this rank knows it, and tells which groups are broken
 * by it. */
#include "lib/base/failure.h"

#include <stdio.h>

/* Returns true if the mismatch is in a run that this rank has not reached yet. */
static bool is_later(const struct failure *f, const struct ncoll_group *g)
{
    return (int32_t)(f->epoch - (uint32_t)(g->credits.finished + 1)) > 0;
}

/* Returns true if the failure is a mismatch in a run, of any group, that this rank has not reached
 * yet. */
static bool is_ahead(const struct ncoll_context *ctx, const struct failure *f)
{
    const struct ncoll_group *g = ctx->groups;

    while (g != NULL && g->name != f->group)
        g = g->next;
    return f->kind == CONTROL_MISMATCH && g != NULL && is_later(f, g);
}

/* The first failure stays, with one exception. If it is a mismatch in a later call, this rank must
 * still learn what is wrong with its current call: a peer is gone, or there is an earlier mismatch.
 */
void ncoll__broken(struct ncoll_context *ctx, const struct failure *failure)
{
    struct failure *first = &ctx->failure;
    bool earlier = failure->kind == CONTROL_MISMATCH && failure->group == first->group &&
                   (int32_t)(first->epoch - failure->epoch) > 0;

    if (first->kind != CONTROL_NONE &&
        !(is_ahead(ctx, first) && (earlier || !is_ahead(ctx, failure))))
        return;
    ctx->pending += first->kind == CONTROL_NONE;
    *first = *failure;
    ctx->failure_spread = false;
}

/* A peer is the root cause only if it is gone. If this rank cannot reach a peer for another reason
 * (it lacks file descriptors or memory, has met a limit, or could not wait long enough), that is
 * this rank's own failure. */
struct failure ncoll__failure_of_error(const struct ncoll_context *ctx)
{
    const ncoll_error *e = &ctx->error;
    bool own = e->status != NCOLL_ERR_PEER || e->peer < 0;
    struct failure failure = {.kind = CONTROL_PEER_FAILED, .rank = {own ? ctx->rank : e->peer, -1}};

    if (own)
        failure.own = *e;
    snprintf(failure.why, sizeof failure.why, "%.255s", e->cause);
    return failure;
}

int ncoll__break_job(struct ncoll_context *ctx)
{
    struct failure failure = ncoll__failure_of_error(ctx);

    ncoll__broken(ctx, &failure);
    return ncoll__failure(ctx);
}

/* A rank that finds a mismatch gives up all runs from the first unfinished one on, and tells the
 * others the epoch of that run. It has done its part of the earlier runs, so ranks that are still
 * in an earlier run end it as usual. */
bool ncoll__is_broken(const struct ncoll_group *g)
{
    const struct failure *f = &g->ctx->failure;

    if (f->kind == CONTROL_MISMATCH && f->group == g->name)
        return !is_later(f, g);
    return f->kind != CONTROL_NONE;
}

void ncoll__mismatch_at(struct ncoll_group *g, uint64_t epoch, struct signature mine, int rank,
                        struct signature theirs)
{
    struct failure failure = {.kind = CONTROL_MISMATCH,
                              .rank = {g->ctx->rank, rank},
                              .signature = {mine, theirs},
                              .epoch = (uint32_t)epoch,
                              .group = g->name};

    ncoll__broken(g->ctx, &failure);
}

int ncoll__mismatch(struct ncoll_group *g, struct signature mine, int rank, struct signature theirs)
{
    ncoll__mismatch_at(g, g->credits.finished + 1, mine, rank, theirs);
    return NCOLL_ERR_MISMATCH;
}
