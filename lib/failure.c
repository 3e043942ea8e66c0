/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures: the first thing that breaks the job for this rank is kept, told to every connected peer
 * once, and given by every later call. Peers pass it on, so that all ranks end with the same words
 * even where they are not connected to the rank that failed.
 */
#include <stdio.h>
#include <string.h>

#include "lib/card.h"
#include "lib/compile.h"
#include "lib/internal.h"

#define CHECK_NS 1000000u /* how often a waiting rank looks after its peers */

/* Whether a mismatch in a group is in a run that this rank has not come to yet. */
static bool is_later(const struct failure *f, const struct ncoll_group *g)
{
    return (int32_t)(f->epoch - (uint32_t)(g->credits.finished + 1)) > 0;
}

/* The first failure stays; but a mismatch in a later call must not keep a rank from learning that
 * a peer is gone which the running one needs. */
void ncoll__broken(struct ncoll_context *ctx, const struct failure *failure)
{
    bool later = false;

    if (ctx->failure.kind == CONTROL_MISMATCH && failure->kind != CONTROL_MISMATCH)
        for (const struct ncoll_group *g = ctx->groups; g != NULL; g = g->next)
            later |= g->name == ctx->failure.group && is_later(&ctx->failure, g);
    if (ctx->failure.kind == CONTROL_NONE || later)
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

int ncoll__mismatch(struct ncoll_group *g, struct card mine, int rank, struct card theirs)
{
    struct failure failure = {.kind = CONTROL_MISMATCH,
                              .rank = {g->ctx->rank, rank},
                              .card = {mine, theirs},
                              .epoch = (uint32_t)g->credits.finished + 1,
                              .group = g->name};

    ncoll__broken(g->ctx, &failure);
    return NCOLL_ERR_MISMATCH;
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
    struct control message = {
        .kind = ctx->failure.kind, .epoch = ctx->failure.epoch, .group = ctx->failure.group};

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
    char mine[192], theirs[192];

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

/* The schedule that a message belongs to: its algorithm, NULL if there is no such, and its shape.
 */
static const struct algorithm *schedule_of(struct ncoll_group *g, const struct card_fields *f,
                                           struct shape *shape)
{
    static const enum collective errands[] = {[ERRAND_GATHER] = COLL_ALLGATHER,
                                              [ERRAND_WIRE] = COLL_ALLTOALL,
                                              [ERRAND_AGREE] = COLL_ALLREDUCE,
                                              [ERRAND_LEAVE] = COLL_BARRIER};
    struct call_args args = {.collective = f->collective,
                             .count = f->collective == COLL_BARRIER ? 0
                                      : f->irregular                ? 1
                                                                    : f->amount,
                             .root = (int)f->root};

    if (f->errand != ERRAND_NONE && f->errand < sizeof errands / sizeof errands[0]) {
        args = ncoll__base_call(errands[f->errand], NULL, NULL, 1, (struct card){0});
        *shape = ncoll__shape(g, &args, args.radix, false);
        return args.algorithm;
    }
    *shape = ncoll__shape(g, &args, f->radix, false);
    bool known = f->errand == ERRAND_NONE && f->collective < COLLECTIVES && f->algorithm != NULL &&
                 ncoll__radix_is_valid(f->radix) && f->root < shape->size;
    return known && algorithm_exists(f->algorithm, shape) ? f->algorithm : NULL;
}

/*
 * Who put what lies in a slot of this rank: the rank that the other call's own schedule makes write
 * there, or -1.
 */
static int sender_of(struct ncoll_group *g, struct card card, unsigned slot)
{
    struct card_fields f = ncoll__card_fields(card);
    struct shape shape;
    const struct algorithm *algorithm = schedule_of(g, &f, &shape);
    unsigned n_steps;
    int sender = -1;

    if (algorithm == NULL)
        return -1;
    struct step *steps = ncoll__steps(g, algorithm, &shape, &n_steps);
    for (unsigned i = 0; steps != NULL && i < n_steps; i++)
        if (steps[i].kind == STEP_WAIT && steps[i].slot == slot)
            sender = ncoll__world_rank(g, steps[i].peer);
    ncoll__release(g->ctx, steps);
    return sender;
}

int ncoll__mismatch_in_slot(struct ncoll_group *g, uint64_t epoch, struct card mine, unsigned slot)
{
    struct card theirs = window_slot(g->window, epoch, slot)->card;
    return ncoll__mismatch(g, mine, sender_of(g, theirs, slot), theirs);
}

/* A message in a slot that the run does not use: somebody called something else. */
static void look_for_strangers(struct ncoll_group *g, const struct call *c, uint64_t epoch)
{
    const struct window *w = g->window;
    bool amounts_differ = c->plan->key.sends != NULL;

    for (unsigned s = 0; s < w->shape.n_slots; s++) {
        if (!window_raised(w, epoch, s)) /* first: before, the card is still an old one */
            continue;
        struct card card = window_slot(w, epoch, s)->card;
        if (amounts_differ ? card.what != c->plan->card.what : !card_equal(card, c->plan->card))
            ncoll__mismatch_in_slot(g, epoch, c->plan->card, s);
    }
}

static void check_group(struct ncoll_group *g)
{
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++)
        if (run_of(g, e)->call != NULL)
            look_for_strangers(g, run_of(g, e)->call, e);
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
    for (struct ncoll_group *busy = ctx->busy; busy != NULL; busy = busy->next_busy)
        check_group(busy);
}
