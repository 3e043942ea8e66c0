/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wiring: connects the peers that a schedule uses, at its first use. All ranks take part, since all
 * call the same collective: each publishes what its peers need (O(n log P) bytes) in one exchange
 * of the bootstrap, then accepts what they published. Split-phase, so a first call keeps its
 * time-out.
 */
#include <stdio.h>
#include <string.h>

#include "lib/internal.h"

/* How long a peer that is gone is not blamed for it: see find_who_failed(). */
#define LOST_NS 1000000000u

/* How long a rank waits for the others before it tells them what with, and how often it does. */
#define TELL_NS       20000000u
#define TELL_AGAIN_NS 100000000u

/* What precedes the transport's offer in the blob. */
struct wiring_header {
    struct card card; /* the call that needs the wiring */
};

/* The others wait for what this rank cannot do: they are told. */
static int break_job(struct ncoll_context *ctx)
{
    struct failure failure = ncoll__failure_of_error(ctx);

    ncoll__broken(ctx, &failure);
    return ncoll__failure(ctx);
}

int ncoll__wiring_start(struct ncoll_group *g, const int *peers, unsigned n_peers, unsigned depth,
                        struct card card)
{
    struct ncoll_context *ctx = g->ctx;
    struct transport *t = ctx->transport;
    struct wiring_header header = {.card = card};
    struct blob blob = {0};
    int rc = NCOLL_OK;

    ncoll__release(ctx, ctx->wiring.peers);
    ctx->wiring = (struct wiring){.n_peers = n_peers, .card = card, .lost = -1};
    ctx->wiring.peers = ncoll__allocate(ctx, n_peers * sizeof *peers);
    ncoll__blob_add(&blob, &header, sizeof header);
    if (ctx->wiring.peers != NULL)
        rc = t->ops->offer(t, g->window, peers, n_peers, depth, &blob);
    if (rc == NCOLL_OK && (ctx->wiring.peers == NULL || blob.failed))
        rc = ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to connect %u peers", n_peers);
    if (rc != NCOLL_OK)
        goto free_blob;
    if ((rc = ctx->bootstrap->ops->exchange_start(ctx->bootstrap, blob.bytes, blob.len)) !=
        NCOLL_OK)
        goto free_blob;
    ctx->exchanged_bytes += blob.len;
    ctx->wiring.state = WIRING_EXCHANGE;
    ctx->wiring.tell_ns = ncoll__now_ns(ctx) + TELL_NS;
    if (n_peers > 0)
        memcpy(ctx->wiring.peers, peers, n_peers * sizeof *peers);

free_blob:
    ncoll__blob_free(&blob);
    return rc == NCOLL_OK ? NCOLL_OK : break_job(ctx);
}

/*
 * Accepts what one peer offered. A peer that called something else is reported, but still accepted
 * if it offered a connection: the report has to reach it.
 */
static int accept_peer(struct ncoll_group *g, int peer)
{
    struct ncoll_context *ctx = g->ctx;
    struct transport *t = ctx->transport;
    struct wiring_header header;
    const void *blob;
    size_t len;

    int rc = ctx->bootstrap->ops->get(ctx->bootstrap, peer, &blob, &len);
    if (rc != NCOLL_OK)
        return rc;
    if (len < sizeof header)
        return ncoll__fail(ctx, NCOLL_ERR_BOOTSTRAP, peer,
                           "check that all ranks run the same ncoll",
                           "rank %d published %zu bytes where more were expected", peer, len);
    memcpy(&header, blob, sizeof header);
    bool differs = !card_equal(header.card, ctx->wiring.card);
    if (differs)
        ncoll__mismatch(g, ctx->wiring.card, peer, header.card);
    rc = t->ops->accept(t, g->window, peer, ctx->peers[peer].description,
                        ctx->peers[peer].description_len, (const char *)blob + sizeof header,
                        len - sizeof header);
    return differs ? NCOLL_OK : rc;
}

/* A peer is gone before it was connected. The first one counts. */
static void lose(struct ncoll_context *ctx, int peer)
{
    struct wiring *w = &ctx->wiring;

    if (w->lost >= 0)
        return;
    w->lost = peer;
    w->lost_ns = ncoll__now_ns(ctx);
    snprintf(w->why, sizeof w->why, "%.95s",
             ctx->error.peer == peer ? ctx->error.cause : "its connection broke");
}

/* Accepts everybody that can be, so that they hear of those that cannot. Those whose offer is still
 * on its way stay in the list. */
static int accept_peers(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;
    struct wiring *w = &ctx->wiring;
    ncoll_error own = {.status = NCOLL_OK}; /* the first one */
    unsigned waiting = 0;

    for (unsigned i = 0; i < w->n_peers; i++) {
        int rc = accept_peer(g, w->peers[i]);
        if (rc == NCOLL_TIMEOUT) {
            w->peers[waiting++] = w->peers[i];
            continue;
        }
        if (rc != NCOLL_OK && rc != NCOLL_ERR_PEER && own.status == NCOLL_OK)
            own = ctx->error;
        if (rc == NCOLL_ERR_PEER)
            lose(ctx, w->peers[i]);
    }
    w->n_peers = waiting;
    if (own.status != NCOLL_OK) {
        ctx->error = own;
        return own.status;
    }
    if (waiting > 0)
        return NCOLL_TIMEOUT;
    w->state = w->lost >= 0 ? WIRING_LOST : WIRING_CONNECT;
    return NCOLL_OK;
}

/* Who is gone may itself have given up because of another one, which nobody can tell this rank but
 * the bootstrap and the others, and that may take a moment; unless it has said goodbye, and so
 * would have told before. */
static int find_who_failed(struct ncoll_context *ctx)
{
    const struct wiring *w = &ctx->wiring;

    ncoll__ask_bootstrap(ctx);
    ctx->transport->ops->check(ctx->transport, w->lost);
    if (ctx->failure.kind == CONTROL_NONE && !ctx->peers[w->lost].left &&
        ncoll__now_ns(ctx) - w->lost_ns < LOST_NS)
        return NCOLL_TIMEOUT;
    return ncoll__fail(ctx, NCOLL_ERR_PEER, w->lost, NULL, "%s", w->why);
}

/* Others may wait elsewhere, in another call: then nobody comes, and they have to know. */
static void tell_call(struct ncoll_group *g)
{
    struct wiring *w = &g->ctx->wiring;

    if (g->starting == NULL || g->starting->state != CALL_WIRING ||
        ncoll__now_ns(g->ctx) < w->tell_ns)
        return;
    w->tell_ns = ncoll__now_ns(g->ctx) + TELL_AGAIN_NS;
    ncoll__tell_call(g);
}

static int advance(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;
    struct wiring *w = &ctx->wiring;
    int rc;

    if (w->state == WIRING_EXCHANGE) {
        rc = ctx->bootstrap->ops->exchange_test(ctx->bootstrap);
        if (rc == NCOLL_TIMEOUT)
            tell_call(g);
        if (rc == NCOLL_OK) {
            w->state = WIRING_ACCEPT;
        } else if (rc == NCOLL_ERR_PEER && ctx->error.peer >= 0) {
            lose(ctx, ctx->error.peer);
            w->state = WIRING_LOST;
        } else {
            return rc;
        }
    }
    if (w->state == WIRING_ACCEPT) {
        if ((rc = accept_peers(g)) != NCOLL_OK)
            return rc;
    }
    if (w->state == WIRING_LOST)
        return find_who_failed(ctx);
    if (w->state == WIRING_CONNECT) {
        if ((rc = ctx->transport->ops->ready(ctx->transport)) != NCOLL_OK)
            return rc;
        w->state = WIRING_IDLE;
    }
    return NCOLL_OK;
}

/*
 * An exchange or a connection that broke leaves the ranks apart for good: it is a failure of the
 * job. A peer that is gone may have gone because of another one, and have said so before; a
 * bootstrap may break because of one that is gone.
 */
int ncoll__wiring_test(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;

    int rc = advance(g);
    if (rc >= 0)
        return rc;
    struct failure failure = ncoll__failure_of_error(ctx);
    if (rc == NCOLL_ERR_PEER || rc == NCOLL_ERR_BOOTSTRAP) {
        ctx->next_check_ns = 0;
        ncoll__check(g, ncoll__now_ns(ctx));
        if (failure.rank[0] != ctx->rank)
            ctx->transport->ops->check(ctx->transport, failure.rank[0]);
        if (ctx->peers[failure.rank[0]].left)
            failure.kind = CONTROL_PEER_LEFT;
    }
    ncoll__broken(ctx, &failure);
    return rc;
}
