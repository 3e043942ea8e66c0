/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the root cause of a peer's end: that peer itself, or another rank whose failure made it
 * give up. A rank that gives up announces the root cause before others can see its end: to the
 * peers that it is connected to, and to the bootstrap, which all ranks can ask. While ranks
 * connect, one side of a pair may not be connected to the other yet. A peer that ends then may have
 * been unable to tell this rank, so this rank asks the bootstrap, or waits for news from other
 * peers. During this short time it only suspects the peer. At all other times the announcement of a
 * peer arrives before its end.
 */
#include <stdio.h>
#include <string.h>

#include "lib/watch/failure.h"
#include "lib/base/group.h"

/* The longest time for which a peer is only suspected. */
#define SUSPECT_NS 500000000u

void ncoll__publish_root_cause(struct ncoll_context *ctx)
{
    const struct failure *f = &ctx->failure;
    struct bootstrap *b = ctx->bootstrap;
    bool of_one = f->kind != CONTROL_MISMATCH && f->kind != CONTROL_DEADLOCK;

    if (b == NULL || b->ops->name_root_cause == NULL)
        return;
    b->ops->name_root_cause(b, f->own.status != NCOLL_OK ? ctx->rank : of_one ? f->rank[0] : -1);
}

int ncoll__culprit(struct ncoll_context *ctx, int rank)
{
    struct bootstrap *b = ctx->bootstrap;
    int who = b != NULL && b->ops->culprit != NULL ? b->ops->culprit(b, rank) : -1;

    /* a peer names this rank if it could not reach it; but this rank is alive */
    return who == ctx->rank ? rank : who;
}

bool ncoll__gave_up(struct ncoll_context *ctx, int rank)
{
    struct bootstrap *b = ctx->bootstrap;

    return b != NULL && b->ops->culprit != NULL && b->ops->culprit(b, rank) == ctx->rank;
}

void ncoll__accuse(struct ncoll_context *ctx, int rank, enum control_kind how, const char *why)
{
    int culprit = rank == ctx->rank ? rank : ncoll__culprit(ctx, rank);
    struct failure failure = {.kind = how, .rank = {rank, -1}};

    snprintf(failure.why, sizeof failure.why, "%s", why);
    if (culprit >= 0 && culprit != rank) {
        failure.rank[0] = culprit;
        failure.kind = ctx->peers[culprit].left ? CONTROL_PEER_LEFT : CONTROL_PEER_FAILED;
        snprintf(failure.why, sizeof failure.why, "rank %d reports it", rank);
    }
    ncoll__broken(ctx, &failure);
}

/* True while ranks connect to each other. */
static bool is_connecting(const struct ncoll_context *ctx)
{
    bool any = ctx->magic != CONTEXT_MAGIC;

    for (const struct ncoll_group *g = ctx->groups; g != NULL; g = g->next)
        any |= g->wiring.state != WIRING_IDLE || g->creating != NULL;
    return any;
}

void ncoll__suspect(struct ncoll_context *ctx, int rank, enum control_kind how, const char *why)
{
    struct suspect *s = &ctx->suspect;

    if (rank == ctx->rank || !is_connecting(ctx) || ncoll__culprit(ctx, rank) >= 0) {
        ncoll__accuse(ctx, rank, how, why);
    } else if (!s->pending) {
        *s = (struct suspect){
            .pending = true, .rank = rank, .how = how, .since_ns = ncoll__now_ns(ctx)};
        snprintf(s->why, sizeof s->why, "%s", why);
    }
}

void ncoll__judge_suspect(struct ncoll_context *ctx)
{
    struct suspect *s = &ctx->suspect;

    if (!s->pending ||
        (ncoll__culprit(ctx, s->rank) < 0 && ncoll__now_ns(ctx) - s->since_ns < SUSPECT_NS))
        return;
    s->pending = false;
    ncoll__accuse(ctx, s->rank, s->how, s->why);
}
