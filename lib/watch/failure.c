/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures. A rank keeps the first event that breaks the job, tells it once to every connected
 * peer, and returns it from every later call. Peers pass it on. So all ranks end with the same
 * error, even those that are not connected to the rank that failed.
 */
#include <stdio.h>
#include <string.h>

#include "lib/base/compressor.h"
#include "lib/base/signature.h"
#include "lib/compute/codec.h"
#include "lib/watch/failure.h"
#include "lib/base/group.h"
#include "lib/deliver/memory.h"

void ncoll__on_peer_gone(void *arg, int rank, enum control_kind how, const char *why)
{
    struct ncoll_context *ctx = arg;

    /* If the peer left in order, only a call that needs it is affected: see ncoll__peer_left(). */
    if (how == CONTROL_PEER_LEFT || ctx->peers[rank].left)
        ctx->peers[rank].left = true;
    else
        ncoll__suspect(ctx, rank, how, why);
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
    memcpy(failure.signature, message->signature, sizeof failure.signature);
    if (message->rank[0] == from_rank)
        snprintf(failure.why, sizeof failure.why, "see what it reports");
    else
        snprintf(failure.why, sizeof failure.why, "rank %d reports it", from_rank);
    ncoll__broken(ctx, &failure);
}

/*
 * Makes the end of this context a failure in two cases. If peers are being connected, some of them
 * wait for this rank but are not connected to it, so that it cannot tell them. If other ranks may
 * read this rank's memory, they would not notice that it ends. The connected peers pass the failure
 * on.
 */
void ncoll__quit(struct ncoll_context *ctx)
{
    struct failure failure = {.kind = CONTROL_PEER_QUIT, .rank = {ctx->rank, -1}};
    bool wiring = false;

    for (const struct ncoll_group *g = ctx->groups; g != NULL; g = g->next)
        wiring |= g->wiring.state != WIRING_IDLE;
    if (wiring || ncoll__lets_others_read(ctx))
        ncoll__broken(ctx, &failure);
    if (!ctx->failure_spread) /* There may be a failure that peers do not know of yet. */
        ncoll__failure(ctx);
}

int ncoll__peer_left(struct ncoll_context *ctx, int rank)
{
    struct failure failure = {.kind = CONTROL_PEER_LEFT, .rank = {rank, -1}};
    int culprit = ncoll__culprit(ctx, rank);

    if (culprit >= 0 && culprit != rank)
        ncoll__accuse(ctx, rank, CONTROL_PEER_FAILED, "");
    else if (ncoll__gave_up(ctx, rank))
        ncoll__accuse(ctx, rank, CONTROL_PEER_FAILED,
                      "it has given up on this rank: see its error");
    else
        ncoll__broken(ctx, &failure);
    return NCOLL_ERR_PEER;
}

void ncoll__ask_bootstrap(struct ncoll_context *ctx)
{
    const struct bootstrap_ops *ops = ctx->bootstrap->ops;
    int rank = ops->failed != NULL ? ops->failed(ctx->bootstrap) : -1;

    /* The bootstrap returns failed ranks in the order in which it learned of them. */
    if (rank >= 0 && rank != ctx->rank && !ctx->peers[rank].left)
        ncoll__accuse(ctx, rank, CONTROL_PEER_FAILED, "reported by the bootstrap");
    ncoll__judge_suspect(ctx);
}

int ncoll__peer_unreachable(struct ncoll_context *ctx, int rank)
{
    if (ctx->peers[rank].left)
        return ncoll__peer_left(ctx, rank);
    ncoll__accuse(ctx, rank, CONTROL_PEER_FAILED, "its connection broke");
    return NCOLL_ERR_PEER;
}

/* Tells the failure to the bootstrap, and to every connected peer except the rank that failed. */
static void spread(struct ncoll_context *ctx)
{
    struct transport *t = ctx->transport;
    struct control message = {
        .kind = ctx->failure.kind, .epoch = ctx->failure.epoch, .group = ctx->failure.group};

    ctx->failure_spread = true;
    ncoll__publish_root_cause(ctx);
    memcpy(message.rank, ctx->failure.rank, sizeof message.rank);
    memcpy(message.signature, ctx->failure.signature, sizeof message.signature);
    for (int r = 0; t != NULL && r < ctx->ranks; r++) {
        struct endpoint *to = r == ctx->rank ? NULL : t->ops->endpoint(t, r);
        bool is_of_one = message.rank[1] < 0, gone = is_of_one && r == message.rank[0];
        if (to != NULL && !gone)
            to->by->ops->control(to->by, to, &message);
    }
}

/* Appends the codec of this rank to the error of a mismatch, if one of the two calls is this
 * rank's. */
static void explain_codecs(const struct ncoll_context *ctx, const struct failure *f, char *text,
                           size_t size)
{
    const struct ncoll_compressor *z = ctx->compressors;
    bool second = f->rank[1] == ctx->rank;
    struct signature_fields own = ncoll__signature_fields(f->signature[second ? 1 : 0]);
    double fraction;

    while (z != NULL && z->definition != own.definition)
        z = z->next;
    if (z == NULL || f->rank[second ? 1 : 0] != ctx->rank)
        return;
    if (ncoll__codec_is_topk(&z->codec, &fraction))
        snprintf(text, size, "; on this rank the codec is \"topk\" of %g", fraction);
    else
        snprintf(text, size,
                 "; on this rank the codec is \"%s\" with flags 0x%x, parameters 0x%llx",
                 z->name.text, z->codec.flags, (unsigned long long)z->codec.parameters);
}

/* Writes details of a mismatch to `text`. *remedy changes only if there is a better one. */
static void explain_mismatch(const struct ncoll_context *ctx, const struct failure *f, char *text,
                             size_t size, const char **remedy)
{
    char own[160];
    struct signature_fields call = ncoll__signature_fields(f->signature[0]);
    bool differs = ncoll__signature_differs_in_definition(f->signature[0], f->signature[1]);

    text[0] = '\0';
    if (ncoll__signature_same_call(f->signature[0], f->signature[1])) {
        snprintf(text, size, ", but they called different collectives before");
    } else if (ncoll__signature_is_compressed(f->signature[0]) &&
               ncoll__signature_is_compressed(f->signature[1])) {
        explain_codecs(ctx, f, text, size);
        *remedy =
            "make the compressors with the same codec, with the same name, flags and parameters, "
            "on all ranks";
    } else if (differs && call.of != 0) {
        snprintf(text, size,
                 "; their exact fractions, weights or earlier deliveries (or types) differ");
        *remedy = "pass the same fraction and weights on all ranks, and the status of the same "
                  "calls as `after`";
    } else if (differs) {
        snprintf(
            text, size, "; they have created its type or operation differently: on this rank %s",
            ncoll__definition_text(&ctx->types, &ctx->ops, call.type, call.op, own, sizeof own));
        *remedy = "create the same types and operations, with the same sizes, flags and names, in "
                  "the same order on all ranks";
    }
}

void ncoll__failure_in_words(const struct ncoll_context *ctx, ncoll_error *out)
{
    const struct failure *f = &ctx->failure;
    bool mine_first = f->rank[0] == ctx->rank;
    char mine[192], theirs[192], more[256];
    const char *remedy;

    *out = (ncoll_error){.status = NCOLL_ERR_MISMATCH, .peer = f->rank[mine_first ? 1 : 0]};
    switch (f->own.status != NCOLL_OK ? CONTROL_NONE : f->kind) {
    case CONTROL_NONE:
        *out = f->own;
        return;
    case CONTROL_MISMATCH:
        remedy = "all ranks of a group must call the same collectives with the same arguments and "
                 "settings in the same order";
        explain_mismatch(ctx, f, more, sizeof more, &remedy);
        out->reason = ncoll__signature_reason(f->signature[0], f->signature[1]);
        snprintf(out->cause, sizeof out->cause, "rank %d called %s, rank %d called %s%s",
                 f->rank[0], ncoll__signature_text(f->signature[0], mine, sizeof mine), f->rank[1],
                 ncoll__signature_text(f->signature[1], theirs, sizeof theirs), more);
        break;
    case CONTROL_DEADLOCK:
        out->reason = NCOLL_REASON_DEADLOCK;
        remedy = "block in calls on different groups in the same order on all ranks, or start them "
                 "as requests";
        snprintf(out->cause, sizeof out->cause,
                 "rank %d waits in %s, rank %d in %s of another group: they wait for each other",
                 f->rank[0], ncoll__signature_text(f->signature[0], mine, sizeof mine), f->rank[1],
                 ncoll__signature_text(f->signature[1], theirs, sizeof theirs));
        break;
    case CONTROL_PEER_LEFT:
    case CONTROL_PEER_QUIT:
        *out = (ncoll_error){
            .status = NCOLL_ERR_PEER, .peer = f->rank[0], .reason = NCOLL_REASON_PEER_LEFT};
        remedy = "let every rank make the same calls before it destroys its context";
        snprintf(out->cause, sizeof out->cause, "rank %d has left while a collective needs it",
                 f->rank[0]);
        break;
    case CONTROL_PEER_UNREACHED:
        *out = (ncoll_error){
            .status = NCOLL_ERR_PEER, .peer = f->rank[0], .reason = NCOLL_REASON_UNREACHABLE};
        remedy =
            "see whether that rank still runs; if so, `ping` its address from here, and choose "
            "ports of one network: NCOLL_DEVICE, NCOLL_PORT, NCOLL_GID; see ncoll-info";
        snprintf(out->cause, sizeof out->cause, "rank %d failed, or cannot be reached (%s)",
                 f->rank[0], f->why);
        break;
    default:
        *out = (ncoll_error){
            .status = NCOLL_ERR_PEER, .peer = f->rank[0], .reason = NCOLL_REASON_PEER_DIED};
        remedy = "the group cannot go on: destroy the context on the surviving ranks";
        snprintf(out->cause, sizeof out->cause, "rank %d failed (%s)", f->rank[0], f->why);
    }
    snprintf(out->remedy, sizeof out->remedy, "%s", remedy);
}

int ncoll__report_failure(struct ncoll_context *ctx)
{
    ncoll_error words;

    if (!ctx->failure_spread)
        spread(ctx);
    ncoll__failure_in_words(ctx, &words);
    return ncoll__fail(ctx, BECAUSE_OF(words.status, words.reason), words.peer, words.remedy, "%s",
                       words.cause);
}
