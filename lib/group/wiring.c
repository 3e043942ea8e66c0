/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wiring: connects the peers that a schedule uses, at its first use. All ranks of the group take
 * part, since they all call the same collective. Each rank offers its peers a connection in one
 * exchange, then accepts what they have offered. Wiring is split-phase, so the time-out of a call
 * that needs it still holds.
 *
 * The exchange is done by the group itself over its base peers (relay.c). These are the ranks at
 * the distances 2^k, k = 0, 1, .., to the right and to the left; every group has them connected
 * from its creation on. A barrier over the base peers follows if the transport cannot tell a peer
 * that has not accepted a connection yet from one that never answers (transport_ops.met). After
 * this barrier all ranks have accepted, and a peer that does not answer is gone or cannot be
 * reached.
 *
 * So wiring takes O(log P) messages, whichever connections exist, and no rank outside the group
 * takes part. The messages carry the signature of the call that needs the peers.
 */
#include <stdio.h>
#include <string.h>

#include "lib/base/signature.h"
#include "lib/watch/failure.h"
#include "lib/plan/arguments.h"
#include "lib/plan/plan.h"
#include "lib/run/call.h"
#include "lib/group/relay.h"
#include "lib/group/wiring.h"
#include "lib/choose/planned.h"
#include "lib/base/group.h"

/* The time in ns before a lost peer is named as the root cause: see find_who_failed(). */
#define LOST_NS 1000000000u

/* ------------------------------------------------------------------ base peers ---------------- */

/* Returns true if the ranks at a distance, to either side, are also at a smaller power of two to
 * the other side. */
static bool is_distance_known(unsigned distance, unsigned size)
{
    for (unsigned known = 1; known < distance; known *= 2)
        if (known == size - distance)
            return true;
    return false;
}

unsigned ncoll__base_peers(unsigned rank, unsigned size, unsigned peers[BASE_PEERS])
{
    unsigned n = 0;

    for (unsigned d = 1; d < size; d *= 2) {
        if (is_distance_known(d, size))
            continue;
        peers[n++] = (rank + d) % size;
        if (d != size - d)
            peers[n++] = (rank + size - d) % size;
    }
    return n;
}

/* ------------------------------------------------------------------ start --------------------- */

void ncoll__wiring_free(struct ncoll_group *g)
{
    struct wiring *w = &g->wiring;
    struct relay *relay = w->relay;
    unsigned *peers = w->peers;
    int *ranks = w->ranks;

    /* cleared before they are freed, since a debugger may call ncoll_describe() in between */
    w->state = WIRING_IDLE;
    w->peers = NULL;
    w->ranks = NULL;
    w->relay = NULL;
    ncoll__relay_free(g->ctx, relay);
    ncoll__release(g->ctx, peers);
    ncoll__release(g->ctx, ranks);
}

static int list_peers(struct ncoll_group *g, const unsigned *peers)
{
    struct ncoll_context *ctx = g->ctx;
    struct wiring *w = &g->wiring;

    w->peers = ncoll__allocate(ctx, w->n_peers * sizeof *w->peers);
    w->ranks = ncoll__allocate(ctx, w->n_peers * sizeof *w->ranks);
    if (w->peers == NULL || w->ranks == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to connect %u peers",
                           w->n_peers);
    for (unsigned i = 0; i < w->n_peers; i++) {
        w->peers[i] = peers[i];
        w->ranks[i] = ncoll__world_rank(g, peers[i]);
    }
    return NCOLL_OK;
}

static int make_offers(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;
    struct transport *t = ctx->transport;
    struct wiring *w = &g->wiring;
    int rc = NCOLL_OK;

    w->relay = ncoll__relay_new(g, w->n_peers, w->most);
    if (w->relay == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to connect %u peers",
                           w->n_peers);
    for (unsigned i = 0; i < w->n_peers && rc == NCOLL_OK; i++)
        rc = t->ops->offer(t, w->window, w->ranks[i], w->depth,
                           ncoll__relay_add(w->relay, w->peers[i]));
    return rc;
}

static int queue(struct ncoll_group *g, struct call *c, const struct call_args *args)
{
    *c = (struct call){.args = *args};
    return ncoll__call_queue_own(g, c, g->wiring.before);
}

/* Queues the next pass of the relay. */
static int pass_on(struct ncoll_group *g)
{
    struct wiring *w = &g->wiring;
    unsigned room = w->most_is_known ? w->most : ncoll__relay_next_room(w->relay);
    struct call_args args;
    int rc = ncoll__relay_call(w->relay, room, w->purpose, &args);

    if (rc != NCOLL_OK)
        return rc;
    ncoll__relay_begin(w->relay);
    return queue(g, &w->exchange, &args);
}

static int exchange_offers(struct ncoll_group *g)
{
    int rc = make_offers(g);

    g->wiring.state = WIRING_EXCHANGE;
    return rc == NCOLL_OK ? pass_on(g) : rc;
}

/* Queues the allreduce that comes before the offers. In it a rank whose device has no room for its
 * connections tells all ranks of the group, not only its peers. */
static int agree_on_room(struct ncoll_group *g)
{
    struct transport *t = g->ctx->transport;
    struct wiring *w = &g->wiring;

    w->full = t->ops->has_room(t, w->ranks, w->n_peers) ? NOBODY_FULL : g->rank;
    struct call_args args = ncoll__base_call(COLL_ALLREDUCE, &w->full, &w->agreed, 1,
                                             ncoll__signature_with(w->purpose, PURPOSE_AGREE));
    w->state = WIRING_AGREE;
    return queue(g, &w->agree, &args);
}

int ncoll__wiring_start(struct ncoll_group *g, struct window *window, struct call *before,
                        const unsigned *peers, const unsigned *distances, unsigned n_peers,
                        unsigned depth, struct signature purpose)
{
    struct wiring *w = &g->wiring;
    bool may_be_full = g->ctx->transport->ops->has_room != NULL && before != NULL;

    *w = (struct wiring){.window = window,
                         .n_peers = n_peers,
                         .most = ncoll__relay_most((unsigned)g->size, distances, n_peers),
                         .most_is_known = distances != NULL,
                         .depth = depth,
                         .purpose = purpose,
                         .before = before,
                         .agreed = NOBODY_FULL,
                         .lost = -1};
    int rc = list_peers(g, peers);
    if (rc == NCOLL_OK)
        rc = may_be_full ? agree_on_room(g) : exchange_offers(g);
    if (rc != NCOLL_OK) {
        ncoll__wiring_free(g);
        return ncoll__break_job(g->ctx);
    }
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ test ---------------------- */

/* Notes a peer that was gone before it was connected. Only the first such peer is kept. */
static void lose(struct ncoll_context *ctx, struct wiring *w, int peer)
{
    if (w->lost >= 0)
        return;
    w->lost = peer;
    w->lost_ns = ncoll__now_ns(ctx);
    snprintf(w->why, sizeof w->why, "%.255s",
             ctx->error.peer == peer ? ctx->error.cause : "its connection broke");
}

/* Records the error that the offer of a rank has not come, and returns its status. */
static int no_offer(struct ncoll_context *ctx, const struct wiring *w, int rank)
{
    if (w->relay->failed)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to connect %u peers",
                           w->n_peers);
    return ncoll__fail(ctx, NCOLL_ERR_INTERNAL, rank, "please report this",
                       "rank %d has offered no connection", rank);
}

/* Accepts the offers of all peers that can be accepted, even if others are lost, so that these
 * peers are told of the failure. */
static int accept_peers(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;
    struct transport *t = ctx->transport;
    struct wiring *w = &g->wiring;
    ncoll_error own = {.status = NCOLL_OK}; /* the first error of this rank */

    for (unsigned i = 0; i < w->n_peers; i++) {
        size_t len;
        const void *address = ncoll__address_of(ctx, w->ranks[i], &len);
        const struct offer *offer = ncoll__relay_find(w->relay, w->peers[i]);
        int rc = offer == NULL ? no_offer(ctx, w, w->ranks[i])
                               : t->ops->accept(t, w->window, w->ranks[i], address, len, offer);
        if (rc == NCOLL_ERR_PEER)
            lose(ctx, w, w->ranks[i]);
        else if (rc != NCOLL_OK && own.status == NCOLL_OK)
            own = ctx->error;
    }
    if (own.status != NCOLL_OK) {
        ctx->error = own;
        return own.status;
    }
    w->state = w->lost >= 0 ? WIRING_LOST : t->ops->met != NULL ? WIRING_MEET : WIRING_CONNECT;
    const struct call_args barrier = ncoll__base_call(COLL_BARRIER, NULL, NULL, 0, w->purpose);
    return w->state == WIRING_MEET ? queue(g, &w->exchange, &barrier) : NCOLL_OK;
}

/* Tells the transport that all ranks have accepted all offers. */
static void all_met(struct ncoll_group *g)
{
    struct transport *t = g->ctx->transport;
    struct wiring *w = &g->wiring;

    for (unsigned i = 0; i < w->n_peers; i++)
        t->ops->met(t, w->ranks[i]);
    w->state = WIRING_CONNECT;
}

/* Records the root cause of the end of a lost peer as the error. The peer may have given up because
 * of another rank. Only the bootstrap and the other ranks can tell, which may take a moment
 * (NCOLL_TIMEOUT). A peer that left in order would have told before. See lib/watch/root_cause.c. */
static int find_who_failed(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;
    const struct wiring *w = &g->wiring;

    ncoll__ask_bootstrap(ctx);
    ctx->transport->ops->check(ctx->transport, w->lost);
    int culprit = ncoll__culprit(ctx, w->lost);
    if (ctx->failure.kind == CONTROL_NONE && !ctx->peers[w->lost].left && culprit < 0 &&
        ncoll__now_ns(ctx) - w->lost_ns < LOST_NS)
        return NCOLL_TIMEOUT;
    if (culprit >= 0 && culprit != w->lost)
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_PEER, PEER_FAILED), culprit, NULL,
                           "rank %d reports it", w->lost);
    return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_PEER, PEER_FAILED), w->lost, NULL, "%s", w->why);
}

static int advance(struct ncoll_group *g)
{
    struct wiring *w = &g->wiring;
    int rc;

    if (w->state == WIRING_AGREE) {
        if (w->agree.state != CALL_ENDED)
            return NCOLL_TIMEOUT;
        if (w->agreed != NOBODY_FULL)
            return NCOLL_ERR_UNSUPPORTED;
        rc = exchange_offers(g);
        return rc == NCOLL_OK ? NCOLL_TIMEOUT : rc;
    }
    if (w->state == WIRING_EXCHANGE) {
        if (w->exchange.state != CALL_ENDED)
            return NCOLL_TIMEOUT;
        if (!ncoll__relay_is_over(w->relay))
            return (rc = pass_on(g)) == NCOLL_OK ? NCOLL_TIMEOUT : rc;
        if ((rc = accept_peers(g)) != NCOLL_OK)
            return rc;
    }
    if (w->state == WIRING_MEET) {
        if (w->exchange.state != CALL_ENDED)
            return NCOLL_TIMEOUT;
        all_met(g);
    }
    if (w->state == WIRING_LOST)
        return find_who_failed(g);
    if (w->state == WIRING_CONNECT && (rc = ncoll__ready(g->ctx, w->ranks, w->n_peers)) != NCOLL_OK)
        return rc;
    ncoll__wiring_free(g);
    return NCOLL_OK;
}

/*
 * Advances the wiring. A connection that broke separates ranks for good, so it is a failure of the
 * job. A peer that is gone may have given up because of another rank, and have announced it before.
 */
int ncoll__wiring_test(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;

    int rc = advance(g);
    if (rc == NCOLL_OK)
        g->connected_at = g->next_epoch;
    if (rc >= 0)
        return rc;
    if (rc == NCOLL_ERR_UNSUPPORTED && ncoll__wiring_is_refused(g)) {
        ncoll__wiring_free(g);
        return rc;
    }
    struct failure failure = ncoll__failure_of_error(ctx);
    if (rc == NCOLL_ERR_PEER) {
        ctx->next_check_ns = 0;
        ncoll__check(g, ncoll__now_ns(ctx));
        if (failure.rank[0] != ctx->rank)
            ctx->transport->ops->check(ctx->transport, failure.rank[0]);
        if (ctx->peers[failure.rank[0]].left)
            failure.kind = CONTROL_PEER_LEFT;
    }
    ncoll__wiring_free(g);
    ncoll__broken(ctx, &failure);
    return rc;
}

const struct wiring_callbacks ncoll__wiring = {
    .start = ncoll__wiring_start,
    .test = ncoll__wiring_test,
};
