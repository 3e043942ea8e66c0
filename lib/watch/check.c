/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks after the peers, from time to time, while this rank waits and while ranks connect. */
#include "lib/base/group.h"
#include "lib/plan/plan.h"
#include "lib/watch/failure.h"

/* The interval between two checks of a waiting rank: CHECK_NS, or CHECK_NS_PER_RANK for each rank
 * that shares a core, if that is longer, but at most CHECK_MOST_NS. Many ranks on a core take turns,
 * and would otherwise make a check in every turn. */
#define CHECK_NS          1000000u
#define CHECK_NS_PER_RANK 200000.0
#define CHECK_MOST_NS     100000000u

static uint64_t interval_ns(const struct ncoll_context *ctx)
{
    double many_ns = CHECK_NS_PER_RANK * ctx->places.ranks_per_core;

    if (many_ns > CHECK_MOST_NS)
        return CHECK_MOST_NS;
    return many_ns > CHECK_NS ? (uint64_t)many_ns : CHECK_NS;
}

void ncoll__check(struct ncoll_group *g, uint64_t now_ns)
{
    struct ncoll_context *ctx = g->ctx;
    int suspect = -1;

    if (now_ns < ctx->next_check_ns)
        return;
    ctx->next_check_ns = now_ns + interval_ns(ctx);
    for (uint64_t e = g->next_epoch; e-- > g->credits.finished + 1;)
        if (run_of(g, e)->call != NULL)
            suspect = run_of(g, e)->waits_for_rank;
    ctx->transport->ops->check(ctx->transport, suspect);
    ncoll__ask_bootstrap(ctx);
    ncoll__look_for_mismatches(ctx, now_ns);
    ncoll__watch_stalls(ctx, now_ns);
}

static void left(struct ncoll_context *ctx, int rank)
{
    ncoll__ask_bootstrap(ctx); /* the peer may have left because another rank failed */
    ncoll__peer_left(ctx, rank);
}

const struct watch_callbacks ncoll__watch = {
    .failed = ncoll__report_failure,
    .unreachable = ncoll__peer_unreachable,
    .left = left,
    .check = ncoll__check,
};

/* ------------------------------------------------------------------ while ranks connect ------ */

int ncoll__find_culprit(struct ncoll_context *ctx)
{
    struct transport *t = ctx->transport;
    ncoll_error first = ctx->error;
    unsigned times = 0;

    t->ops->check(t, -1); /* the peer may have sent a reason before it ended */
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
    /* The transport itself reports the end of a connected peer. For other peers it has only
     * recorded an error. */
    if (ctx->failure.kind == CONTROL_NONE && !ctx->suspect.pending &&
        ctx->error.status == NCOLL_ERR_PEER && ctx->error.peer >= 0)
        ncoll__on_peer_gone(ctx, ctx->error.peer, CONTROL_PEER_FAILED, ctx->error.cause);
    if (ctx->failure.kind != CONTROL_NONE)
        return ncoll__failure(ctx);
    return ctx->suspect.pending ? NCOLL_TIMEOUT : rc;
}
