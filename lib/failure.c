/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures: the first thing that breaks the job for this rank is kept, told to every connected peer
 * once, and given by every later call. Peers pass it on, so that all ranks end with the same words
 * even where they are not connected to the rank that failed.
 */
#include <stdio.h>
#include <string.h>

#include "lib/card.h"
#include "lib/internal.h"

#define CHECK_NS 1000000u /* how often a waiting rank looks after its peers */

/* The first failure stays; but a mismatch in a later call must not keep a rank from learning that
 * a peer is gone which the running one needs. */
void ncoll__broken(struct ncoll_context *ctx, const struct failure *failure)
{
    bool later = ctx->failure.kind == CONTROL_MISMATCH && ctx->world != NULL &&
                 !ncoll__is_broken(ctx->world);

    if (ctx->failure.kind == CONTROL_NONE || (later && failure->kind != CONTROL_MISMATCH))
        ctx->failure = *failure;
}

void ncoll__on_peer_gone(void *arg, int rank, enum control_kind how, const char *why)
{
    struct ncoll_context *ctx = arg;
    struct failure failure = {.kind = CONTROL_PEER_FAILED, .rank = {rank, -1}};

    /* One that said goodbye is missed only by a call that needs it: see ncoll__peer_left(). */
    if (how == CONTROL_PEER_LEFT || ctx->peers[rank].left) {
        ctx->peers[rank].left = true;
        return;
    }
    snprintf(failure.why, sizeof failure.why, "%s", why);
    ncoll__broken(ctx, &failure);
}

static int32_t vouch(uint64_t card, uint64_t epoch)
{
    uint64_t mixed = (card ^ (epoch << 32 | epoch >> 32)) * UINT64_C(0x9e3779b97f4a7c15);

    return (int32_t)(mixed >> 32);
}

/* Kept, since this rank may not have come to that call yet: look_for_other_calls() compares. */
static void on_called(struct ncoll_context *ctx, int from_rank, const struct control *message)
{
    struct peer *peer = &ctx->peers[from_rank];

    if (message->rank[0] != from_rank ||
        message->rank[1] != vouch(message->card[0], message->card[1]))
        return; /* torn; it comes again, or the one that tore it does */
    peer->called = message->card[0];
    peer->called_epoch = message->card[1];
    if (ctx->called_epoch < peer->called_epoch)
        ctx->called_epoch = peer->called_epoch;
}

void ncoll__on_control(void *arg, int from_rank, const struct control *message)
{
    struct ncoll_context *ctx = arg;
    struct failure failure = {.kind = message->kind, .epoch = message->epoch};

    if (message->kind == CONTROL_CALLED) {
        on_called(ctx, from_rank, message);
        return;
    }
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
 * descriptor, no memory, a limit) is this rank's own failure. */
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

/* The epoch that the group's call has, or will have once its peers are connected. */
static uint64_t running_epoch(const struct ncoll_group *g)
{
    return g->window->epoch + (g->call.state == CALL_RUNNING ? 0 : 1);
}

int ncoll__mismatch(struct ncoll_group *g, int rank, uint64_t card)
{
    struct failure failure = {.kind = CONTROL_MISMATCH,
                              .rank = {g->ctx->rank, rank},
                              .card = {g->call.plan->card, card},
                              .epoch = (uint32_t)running_epoch(g)};

    ncoll__broken(g->ctx, &failure);
    return NCOLL_ERR_MISMATCH;
}

/*
 * Who finds a mismatch has ended all calls before, so every rank has entered them and sent what
 * they need: ranks that are still in one of them end it as if nothing had happened.
 */
bool ncoll__is_broken(const struct ncoll_group *g)
{
    const struct failure *f = &g->ctx->failure;

    if (f->kind == CONTROL_MISMATCH)
        return (int32_t)(f->epoch - (uint32_t)running_epoch(g)) <= 0;
    return f->kind != CONTROL_NONE;
}

int ncoll__peer_left(struct ncoll_context *ctx, int rank)
{
    struct failure failure = {.kind = CONTROL_PEER_LEFT, .rank = {rank, -1}};

    ncoll__broken(ctx, &failure);
    return NCOLL_ERR_PEER;
}

void ncoll__ask_bootstrap(struct ncoll_context *ctx)
{
    const struct bootstrap_ops *ops = ctx->bootstrap->ops;
    int rank = ops->failed != NULL ? ops->failed(ctx->bootstrap) : -1;

    if (rank >= 0 && rank != ctx->rank)
        ncoll__on_peer_gone(ctx, rank, CONTROL_PEER_FAILED, "reported by the bootstrap");
}

int ncoll__peer_unreachable(struct ncoll_context *ctx, int rank)
{
    if (ctx->peers[rank].left)
        return ncoll__peer_left(ctx, rank);
    ncoll__on_peer_gone(ctx, rank, CONTROL_PEER_FAILED, "its connection broke");
    return NCOLL_ERR_PEER;
}

/* Tells every connected peer but the one that it is about. */
static void spread(struct ncoll_context *ctx)
{
    struct transport *t = ctx->transport;
    struct control message = {.kind = ctx->failure.kind, .epoch = ctx->failure.epoch};

    memcpy(message.rank, ctx->failure.rank, sizeof message.rank);
    memcpy(message.card, ctx->failure.card, sizeof message.card);
    for (int r = 0; r < ctx->ranks; r++) {
        struct endpoint *to = r == ctx->rank ? NULL : t->ops->endpoint(t, r);
        bool gone = message.kind != CONTROL_MISMATCH && r == message.rank[0];
        if (to != NULL && !gone)
            t->ops->control(t, to, &message);
    }
    ctx->failure_spread = true;
}

int ncoll__failure(struct ncoll_context *ctx)
{
    const struct failure *f = &ctx->failure;
    char mine[96], theirs[96];

    if (f->kind == CONTROL_NONE)
        return NCOLL_OK;
    if (!ctx->failure_spread)
        spread(ctx);
    if (f->own.status != NCOLL_OK)
        return ncoll__fail(ctx, f->own.status, f->own.peer, f->own.remedy, "%s", f->own.cause);
    switch (f->kind) {
    case CONTROL_MISMATCH:
        return ncoll__fail(ctx, NCOLL_ERR_MISMATCH,
                           f->rank[0] == ctx->rank ? f->rank[1] : f->rank[0],
                           "all ranks of a group must call the same collectives with the same "
                           "arguments and settings in the same order",
                           "rank %d called %s, rank %d called %s", f->rank[0],
                           ncoll__card_text(f->card[0], mine, sizeof mine), f->rank[1],
                           ncoll__card_text(f->card[1], theirs, sizeof theirs));
    case CONTROL_PEER_LEFT:
        return ncoll__fail(ctx, NCOLL_ERR_PEER, f->rank[0],
                           "let every rank make the same calls before it destroys its context",
                           "rank %d has left while a collective needs it", f->rank[0]);
    default:
        return ncoll__fail(ctx, NCOLL_ERR_PEER, f->rank[0],
                           "the group cannot go on: destroy the context on the surviving ranks",
                           "rank %d failed (%s)", f->rank[0], f->why);
    }
}

/*
 * Who put what lies in a slot of this rank: the rank that the other call's own schedule makes write
 * there, or -1.
 */
static int sender_of(const struct ncoll_group *g, uint64_t card, unsigned slot)
{
    struct card_fields f = ncoll__card_fields(card);
    struct shape shape = {
        .rank = (unsigned)g->rank, .size = (unsigned)g->size, .radix = f.radix, .count = f.count};
    struct step steps[256];
    struct round round = {.steps = steps, .capacity = 256};

    if (f.algorithm == NULL || f.radix < 1 || f.radix > RADIX_MAX ||
        !algorithm_exists(f.algorithm, &shape))
        return -1;
    for (unsigned r = 0; f.algorithm->round(&shape, r, &round); r++, round.count = 0)
        for (unsigned i = 0; i < round.count; i++)
            if (steps[i].kind == STEP_WAIT && steps[i].slot == slot)
                return (int)steps[i].peer;
    return -1;
}

int ncoll__mismatch_in_slot(struct ncoll_group *g, uint64_t epoch, unsigned slot)
{
    uint64_t card = window_slot(g->window, epoch, slot)->card;
    return ncoll__mismatch(g, sender_of(g, card, slot), card);
}

/* A message in a slot that the running call does not use: somebody called something else. */
static void look_for_strangers(struct ncoll_group *g)
{
    const struct window *w = g->window;
    uint64_t epoch = running_epoch(g);

    for (unsigned s = 0; s < SLOTS_MAX; s++)
        if (window_raised(w, epoch, s) && window_slot(w, epoch, s)->card != g->call.plan->card)
            ncoll__mismatch_in_slot(g, epoch, s);
}

/*
 * Ranks that wait for others to connect with have put nothing yet that could be found in a slot,
 * nor may the one they wait for: they tell. Since the first barrier has connected all ranks in one
 * graph, somebody who waits for one thing has a peer that waits for another one.
 */
void ncoll__tell_call(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;
    struct transport *t = ctx->transport;
    uint64_t card = g->call.plan->card, epoch = running_epoch(g);
    struct control message = {.kind = CONTROL_CALLED,
                              .rank = {ctx->rank, vouch(card, epoch)},
                              .epoch = (uint32_t)epoch,
                              .card = {card, epoch}};

    for (int r = 0; r < ctx->ranks; r++) {
        struct endpoint *to = r == ctx->rank ? NULL : t->ops->endpoint(t, r);
        if (to != NULL)
            t->ops->control(t, to, &message);
    }
}

static void look_for_other_calls(struct ncoll_group *g)
{
    const struct ncoll_context *ctx = g->ctx;
    uint64_t epoch = running_epoch(g);

    if (ctx->called_epoch != epoch)
        return;
    for (int r = 0; r < ctx->ranks; r++)
        if (ctx->peers[r].called_epoch == epoch && ctx->peers[r].called != g->call.plan->card)
            ncoll__mismatch(g, r, ctx->peers[r].called);
}

void ncoll__check(struct ncoll_group *g, uint64_t now_ns)
{
    struct ncoll_context *ctx = g->ctx;

    if (now_ns < ctx->next_check_ns)
        return;
    ctx->next_check_ns = now_ns + CHECK_NS;
    ctx->transport->ops->check(ctx->transport,
                               g->call.state == CALL_RUNNING ? g->call.waits_for_rank : -1);
    ncoll__ask_bootstrap(ctx);
    if (g->call.state == CALL_WIRING || g->call.state == CALL_RUNNING) {
        look_for_strangers(g);
        look_for_other_calls(g);
    }
}
