/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures: the first thing that breaks the job for this rank is kept, told to every connected peer
 * once, and given by every later call. Peers pass it on, so that all ranks end with the same words
 * even where they are not connected to the rank that failed.
 */
#include <stdio.h>
#include <string.h>

#include "lib/failure/card.h"
#include "lib/failure/failure.h"
#include "lib/internal.h"
#include "lib/memory/memory.h"

#define CHECK_NS 1000000u /* how often a waiting rank looks after its peers */

/* Whether a mismatch in a group is in a run that this rank has not come to yet. */
static bool is_later(const struct failure *f, const struct ncoll_group *g)
{
    return (int32_t)(f->epoch - (uint32_t)(g->credits.finished + 1)) > 0;
}

/* Whether it is a mismatch that this rank has yet to come to. */
static bool is_ahead(const struct ncoll_context *ctx, const struct failure *f)
{
    const struct ncoll_group *g = ctx->groups;

    while (g != NULL && g->name != f->group)
        g = g->next;
    return f->kind == CONTROL_MISMATCH && g != NULL && is_later(f, g);
}

/* The first failure stays; but a mismatch in a later call must not keep a rank from learning what
 * is wrong with the running one: that a peer is gone, or an earlier mismatch. */
void ncoll__broken(struct ncoll_context *ctx, const struct failure *failure)
{
    struct failure *first = &ctx->failure;
    bool earlier = failure->kind == CONTROL_MISMATCH && failure->group == first->group &&
                   (int32_t)(first->epoch - failure->epoch) > 0;

    if (first->kind != CONTROL_NONE &&
        !(is_ahead(ctx, first) && (earlier || !is_ahead(ctx, failure))))
        return;
    *first = *failure;
    ctx->failure_spread = false;
}

void ncoll__on_peer_gone(void *arg, int rank, enum control_kind how, const char *why)
{
    struct ncoll_context *ctx = arg;

    /* One that said goodbye is missed only by a call that needs it: see ncoll__peer_left(). */
    if (how == CONTROL_PEER_LEFT || ctx->peers[rank].left)
        ctx->peers[rank].left = true;
    else
        ncoll__suspect(ctx, rank, why);
}

void ncoll__on_control(void *arg, int from_rank, const struct control *message)
{
    struct ncoll_context *ctx = arg;
    struct failure failure = {
        .kind = message->kind, .epoch = message->epoch, .group = message->group};

    if (message->kind == CONTROL_PEER_LEFT && message->rank[0] == from_rank) {
        ctx->peers[from_rank].left = true;
        return;
    }
    memcpy(failure.rank, message->rank, sizeof failure.rank);
    memcpy(failure.card, message->card, sizeof failure.card);
    if (message->rank[0] == from_rank)
        snprintf(failure.why, sizeof failure.why, "see what it reports");
    else
        snprintf(failure.why, sizeof failure.why, "rank %d reports it", from_rank);
    ncoll__broken(ctx, &failure);
}

/* A peer is to blame only for being gone: whatever else stands in the way of reaching it (no file
 * descriptor, no memory, a limit, its coming later than this rank can wait) is this rank's own
 * failure. */
struct failure ncoll__failure_of_error(const struct ncoll_context *ctx)
{
    const ncoll_error *e = &ctx->error;
    bool own = e->status != NCOLL_ERR_PEER || e->peer < 0;
    struct failure failure = {.kind = CONTROL_PEER_FAILED, .rank = {own ? ctx->rank : e->peer, -1}};

    if (own)
        failure.own = *e;
    snprintf(failure.why, sizeof failure.why, "%.95s", e->cause);
    return failure;
}

int ncoll__break_job(struct ncoll_context *ctx)
{
    struct failure failure = ncoll__failure_of_error(ctx);

    ncoll__broken(ctx, &failure);
    return ncoll__failure(ctx);
}

/*
 * Who finds a mismatch gives up all runs from the first that is not over, which it tells the
 * others. In earlier ones it has done its part: ranks that are still in one of them end it as if
 * nothing had happened.
 */
bool ncoll__is_broken(const struct ncoll_group *g)
{
    const struct failure *f = &g->ctx->failure;

    if (f->kind == CONTROL_MISMATCH && f->group == g->name)
        return !is_later(f, g);
    return f->kind != CONTROL_NONE;
}

/*
 * Peers of an unfinished wiring cannot be told that this rank leaves, as they are not connected to
 * it, and would wait for it; and whoever is may not need it. Nor would those notice who read memory
 * that this rank has shown or lent. So this is a failure, which those that are connected pass on.
 */
void ncoll__quit(struct ncoll_context *ctx)
{
    struct failure failure = {.kind = CONTROL_PEER_QUIT, .rank = {ctx->rank, -1}};
    bool wiring = false;

    for (const struct ncoll_group *g = ctx->groups; g != NULL; g = g->next)
        wiring |= g->wiring.state != WIRING_IDLE;
    if (wiring || ncoll__has_lent(ctx))
        ncoll__broken(ctx, &failure);
    if (!ctx->failure_spread) /* what peers may not know yet, if there is a failure */
        ncoll__failure(ctx);
}

int ncoll__peer_left(struct ncoll_context *ctx, int rank)
{
    struct failure failure = {.kind = CONTROL_PEER_LEFT, .rank = {rank, -1}};
    int culprit = ncoll__culprit(ctx, rank);

    if (culprit >= 0 && culprit != rank)
        ncoll__accuse(ctx, rank, "");
    else
        ncoll__broken(ctx, &failure);
    return NCOLL_ERR_PEER;
}

void ncoll__ask_bootstrap(struct ncoll_context *ctx)
{
    const struct bootstrap_ops *ops = ctx->bootstrap->ops;
    int rank = ops->failed != NULL ? ops->failed(ctx->bootstrap) : -1;

    /* those that it knows of come in the order in which it heard of them */
    if (rank >= 0 && rank != ctx->rank && !ctx->peers[rank].left)
        ncoll__accuse(ctx, rank, "reported by the bootstrap");
    ncoll__judge_suspect(ctx);
}

int ncoll__peer_unreachable(struct ncoll_context *ctx, int rank)
{
    if (ctx->peers[rank].left)
        return ncoll__peer_left(ctx, rank);
    ncoll__accuse(ctx, rank, "its connection broke");
    return NCOLL_ERR_PEER;
}

/* Tells the bootstrap, and every connected peer but the one that it is about. */
static void spread(struct ncoll_context *ctx)
{
    struct transport *t = ctx->transport;
    struct control message = {
        .kind = ctx->failure.kind, .epoch = ctx->failure.epoch, .group = ctx->failure.group};

    ctx->failure_spread = true;
    ncoll__publish_blame(ctx);
    memcpy(message.rank, ctx->failure.rank, sizeof message.rank);
    memcpy(message.card, ctx->failure.card, sizeof message.card);
    for (int r = 0; t != NULL && r < ctx->ranks; r++) {
        struct endpoint *to = r == ctx->rank ? NULL : t->ops->endpoint(t, r);
        bool is_of_one = message.rank[1] < 0, gone = is_of_one && r == message.rank[0];
        if (to != NULL && !gone)
            t->ops->control(t, to, &message);
    }
}

int ncoll__failure(struct ncoll_context *ctx)
{
    const struct failure *f = &ctx->failure;
    char mine[192], theirs[192];

    if (f->kind == CONTROL_NONE)
        return NCOLL_OK;
    if (!ctx->failure_spread)
        spread(ctx);
    if (f->own.status != NCOLL_OK)
        return ncoll__fail(ctx, f->own.status, f->own.peer, f->own.remedy, "%s", f->own.cause);
    switch (f->kind) {
    case CONTROL_MISMATCH:
        return ncoll__fail(
            ctx, NCOLL_ERR_MISMATCH, f->rank[0] == ctx->rank ? f->rank[1] : f->rank[0],
            "all ranks of a group must call the same collectives with the same "
            "arguments and settings in the same order",
            "rank %d called %s, rank %d called %s%s", f->rank[0],
            ncoll__card_text(f->card[0], mine, sizeof mine), f->rank[1],
            ncoll__card_text(f->card[1], theirs, sizeof theirs),
            ncoll__card_same_call(f->card[0], f->card[1]) ? ", but something else before" : "");
    case CONTROL_DEADLOCK:
        return ncoll__fail(ctx, NCOLL_ERR_MISMATCH,
                           f->rank[0] == ctx->rank ? f->rank[1] : f->rank[0],
                           "block in calls on different groups in the same order on all ranks, or "
                           "start them as requests",
                           "rank %d waits in %s, rank %d in %s of another group: neither comes to "
                           "the other's",
                           f->rank[0], ncoll__card_text(f->card[0], mine, sizeof mine), f->rank[1],
                           ncoll__card_text(f->card[1], theirs, sizeof theirs));
    case CONTROL_PEER_LEFT:
    case CONTROL_PEER_QUIT:
        return ncoll__fail(ctx, NCOLL_ERR_PEER, f->rank[0],
                           "let every rank make the same calls before it destroys its context",
                           "rank %d has left while a collective needs it", f->rank[0]);
    default:
        return ncoll__fail(ctx, NCOLL_ERR_PEER, f->rank[0],
                           "the group cannot go on: destroy the context on the surviving ranks",
                           "rank %d failed (%s)", f->rank[0], f->why);
    }
}

void ncoll__check(struct ncoll_group *g, uint64_t now_ns)
{
    struct ncoll_context *ctx = g->ctx;
    int suspect = -1;

    if (now_ns < ctx->next_check_ns)
        return;
    ctx->next_check_ns = now_ns + CHECK_NS;
    for (uint64_t e = g->next_epoch; e-- > g->credits.finished + 1;)
        if (run_of(g, e)->call != NULL)
            suspect = run_of(g, e)->waits_for_rank;
    ctx->transport->ops->check(ctx->transport, suspect);
    ncoll__ask_bootstrap(ctx);
    ncoll__look_for_mismatches(ctx, now_ns);
}
