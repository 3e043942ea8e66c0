/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The third exchange: how to reach the window of the world, for the base peers; and connecting
 * them. Over a device that takes a fourth one, without which a rank that can be written to could
 * not be told from one that failed in accepting the others, or died of it.
 */
#include <string.h>

#include "lib/failure/failure.h"
#include "lib/group/join.h"
#include "lib/internal.h"

/* What a rank publishes for one peer. */
struct introduction {
    int32_t to, reserved;
    struct offer offer;
};

/* A rank that cannot have its world says so in the place of its offers. */
static int introduce(struct ncoll_context *ctx, const unsigned *peers, unsigned n_peers)
{
    const struct transport_ops *ops = ctx->transport->ops;
    struct blob blob = {0};
    int rc = ncoll__world_create(ctx);

    for (unsigned i = 0; i < n_peers && rc == NCOLL_OK; i++) {
        struct introduction introduction = {.to = (int32_t)peers[i]};
        rc = ops->offer(ctx->transport, ctx->world->window, (int)peers[i], BASE_DEPTH,
                        &introduction.offer);
        ncoll__blob_add(&blob, &introduction, sizeof introduction);
    }
    if (rc == NCOLL_OK && blob.failed)
        rc = ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to connect %u peers", n_peers);
    if (rc == NCOLL_OK)
        rc = ncoll__exchange(ctx, blob.bytes, blob.len);
    else
        rc = ncoll__exchange_failure(ctx);
    ncoll__blob_free(&blob);
    return rc;
}

static int accept(struct ncoll_context *ctx, int rank)
{
    const struct peer *peer = &ctx->peers[rank];
    struct introduction introduction = {.to = -1};
    const void *blob;
    size_t len;

    int rc = ncoll__get(ctx, rank, &blob, &len);
    for (size_t at = 0; rc == NCOLL_OK && at + sizeof introduction <= len;
         at += sizeof introduction) {
        memcpy(&introduction, (const char *)blob + at, sizeof introduction);
        if (introduction.to == ctx->rank)
            break;
    }
    if (rc != NCOLL_OK)
        return rc;
    if (introduction.to != ctx->rank)
        return ncoll__fail(
            ctx, NCOLL_ERR_BOOTSTRAP, rank, "check that all ranks run the same ncoll",
            "rank %d published %zu bytes, and nothing for rank %d", rank, len, ctx->rank);
    return ctx->transport->ops->accept(ctx->transport, ctx->world->window, rank, peer->description,
                                       peer->description_len, &introduction.offer);
}

/* Accepts a peer after another one could not be: without waiting for what it has published, and
 * whatever comes of it. */
static void accept_late(struct ncoll_context *ctx, int rank)
{
    struct bootstrap *b = ctx->bootstrap;
    ncoll_error first = ctx->error;
    const void *blob;
    size_t len;

    if (b->ops->get(b, rank, &blob, &len) == NCOLL_OK)
        accept(ctx, rank);
    ctx->error = first;
}

/* Accepts everybody that can be, so that they hear of those that cannot. The first error counts;
 * but one that is gone may have gone because of another one. */
static int accept_all(struct ncoll_context *ctx, const int *peers, unsigned n_peers)
{
    int rc = NCOLL_OK;

    for (unsigned i = 0; i < n_peers; i++)
        if (rc == NCOLL_OK)
            rc = accept(ctx, peers[i]);
        else
            accept_late(ctx, peers[i]);
    return rc == NCOLL_ERR_PEER ? ncoll__find_culprit(ctx) : rc;
}

/*
 * The fourth exchange: how that went, of which rc is this rank's part. Those that could accept each
 * other can write to each other now, and so tell others of those that could not: only base peers
 * look at each other's word here. Whoever dies from now on is noticed by his connections.
 */
static int agree(struct ncoll_context *ctx, const int *peers, unsigned n_peers, int rc)
{
    struct transport *t = ctx->transport;
    ncoll_error first = ctx->error;
    const void *blob;
    size_t len;

    if (t->ops->met == NULL || !ctx->may_exchange)
        return rc;
    if (rc == NCOLL_OK)
        rc = ncoll__exchange(ctx, NULL, 0);
    else
        ncoll__exchange_failure(ctx);
    for (unsigned i = 0; ctx->may_exchange && i < n_peers; i++) {
        int his = ncoll__get(ctx, peers[i], &blob, &len);
        if (his == NCOLL_OK)
            t->ops->met(t, peers[i]);
        else if (rc != NCOLL_OK)
            ctx->error = first;
        else
            rc = his, first = ctx->error;
    }
    return rc;
}

static int connect_base(struct ncoll_context *ctx, const int *peers, unsigned n_peers)
{
    struct transport *t = ctx->transport;
    uint64_t deadline = ncoll__now_ns(ctx) + (uint64_t)ctx->settings.bootstrap_timeout_ns;
    unsigned times = 0;
    int rc = NCOLL_OK;

    while (rc == NCOLL_OK && (rc = ncoll__ready(ctx, peers, n_peers)) == NCOLL_TIMEOUT) {
        if (ncoll__now_ns(ctx) >= deadline)
            return ncoll__nobody_came(ctx);
        t->ops->check(t, -1);
        ncoll__ask_bootstrap(ctx);
        ncoll__backoff(&times);
        rc = ncoll__failure(ctx);
    }
    return rc;
}

int ncoll__meet(struct ncoll_context *ctx)
{
    unsigned peers[BASE_PEERS];
    int ranks[BASE_PEERS];
    unsigned n = ncoll__base_peers((unsigned)ctx->rank, (unsigned)ctx->ranks, peers);

    for (unsigned i = 0; i < n; i++)
        ranks[i] = (int)peers[i];
    int rc = introduce(ctx, peers, n);
    if (rc == NCOLL_OK)
        rc = accept_all(ctx, ranks, n);
    rc = agree(ctx, ranks, n, rc);
    ctx->may_exchange = false;
    if (rc == NCOLL_OK)
        rc = connect_base(ctx, ranks, n);
    if (rc == NCOLL_OK)
        ncoll__base_wired(ctx->world);
    return rc;
}
