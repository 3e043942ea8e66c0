/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is to blame for a peer that is gone: that peer, or another one, because of which it has given
 * up. Whoever gives up says so before it can be seen to be gone: to the peers that it has
 * connected, and to the bootstrap, which knows all ranks. While ranks connect each other the two
 * sides of a pair need not have come equally far, so that one which is gone may have been unable to
 * tell this rank; then what the bootstrap knows counts, or what other peers tell. That may take a
 * moment, for which a peer is no more than suspected. At all other times the word of a peer comes
 * before its end.
 */
#include <stdio.h>
#include <string.h>

#include "lib/failure/failure.h"
#include "lib/group/join.h"
#include "lib/internal.h"

/* How long a peer may be suspected. */
#define SUSPECT_NS 500000000u

void ncoll__publish_blame(struct ncoll_context *ctx)
{
    const struct failure *f = &ctx->failure;
    struct bootstrap *b = ctx->bootstrap;
    bool of_one = f->kind != CONTROL_MISMATCH && f->kind != CONTROL_DEADLOCK;

    if (b == NULL || b->ops->blame == NULL)
        return;
    b->ops->blame(b, f->own.status != NCOLL_OK ? ctx->rank : of_one ? f->rank[0] : -1);
}

int ncoll__culprit(struct ncoll_context *ctx, int rank)
{
    struct bootstrap *b = ctx->bootstrap;
    int who = b != NULL && b->ops->culprit != NULL ? b->ops->culprit(b, rank) : -1;

    return who == ctx->rank ? rank : who; /* it cannot reach this rank; but this rank lives */
}

void ncoll__accuse(struct ncoll_context *ctx, int rank, const char *why)
{
    int culprit = rank == ctx->rank ? rank : ncoll__culprit(ctx, rank);
    struct failure failure = {.kind = CONTROL_PEER_FAILED, .rank = {rank, -1}};

    snprintf(failure.why, sizeof failure.why, "%s", why);
    if (culprit >= 0 && culprit != rank) {
        failure.rank[0] = culprit;
        if (ctx->peers[culprit].left)
            failure.kind = CONTROL_PEER_LEFT;
        snprintf(failure.why, sizeof failure.why, "rank %d reports it", rank);
    }
    ncoll__broken(ctx, &failure);
}

/* Ranks connect each other. */
static bool is_connecting(const struct ncoll_context *ctx)
{
    bool any = ctx->magic != CONTEXT_MAGIC;

    for (const struct ncoll_group *g = ctx->groups; g != NULL; g = g->next)
        any |= g->wiring.state != WIRING_IDLE || g->creating != NULL;
    return any;
}

void ncoll__suspect(struct ncoll_context *ctx, int rank, const char *why)
{
    struct suspect *s = &ctx->suspect;

    if (rank == ctx->rank || !is_connecting(ctx) || ncoll__culprit(ctx, rank) >= 0) {
        ncoll__accuse(ctx, rank, why);
    } else if (!s->pending) {
        *s = (struct suspect){.pending = true, .rank = rank, .since_ns = ncoll__now_ns(ctx)};
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
    ncoll__accuse(ctx, s->rank, s->why);
}

int ncoll__find_culprit(struct ncoll_context *ctx)
{
    struct transport *t = ctx->transport;
    ncoll_error first = ctx->error;
    unsigned times = 0;

    t->ops->check(t, -1); /* the peer may have said before it went */
    if (ctx->failure.kind == CONTROL_NONE)
        ncoll__on_peer_gone(ctx, first.peer, CONTROL_PEER_FAILED, first.cause);
    while (ctx->failure.kind == CONTROL_NONE && ctx->suspect.pending) {
        ncoll__backoff(&times);
        t->ops->check(t, -1);
        ncoll__ask_bootstrap(ctx);
    }
    if (ctx->failure.kind != CONTROL_NONE && ctx->failure.rank[0] != first.peer)
        return ncoll__failure(ctx);
    ctx->error = first;
    return first.status;
}

int ncoll__ready(struct ncoll_context *ctx, const int *peers, unsigned n_peers)
{
    int rc = ctx->transport->ops->ready(ctx->transport, peers, n_peers);

    if (rc != NCOLL_ERR_PEER)
        return rc;
    /* One that was connected has been reported; of others there is an error. */
    if (ctx->failure.kind == CONTROL_NONE && !ctx->suspect.pending &&
        ctx->error.status == NCOLL_ERR_PEER && ctx->error.peer >= 0)
        ncoll__on_peer_gone(ctx, ctx->error.peer, CONTROL_PEER_FAILED, ctx->error.cause);
    if (ctx->failure.kind != CONTROL_NONE)
        return ncoll__failure(ctx);
    return ctx->suspect.pending ? NCOLL_TIMEOUT : rc;
}
