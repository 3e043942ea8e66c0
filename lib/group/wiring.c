/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wiring: connects the peers that a schedule uses, at its first use. All ranks of the group take
 * part, since all call the same collective: each offers its peers a connection in one exchange,
 * then accepts what they have offered. Split-phase, so a first call keeps its time-out.
 *
 * The exchange is an alltoall of the group itself, over its base peers: those at the distances 2^k,
 * k = 0, 1, .., to the right and to the left, which every group has connected from its creation on.
 * So it takes O(log P) messages, whatever connects the ranks has seen of each other before, and
 * whoever else is in the job: no rank outside the group has a part in it. Its messages carry the
 * card of the call that needs the peers.
 */
#include <stdio.h>
#include <string.h>

#include "lib/failure/card.h"
#include "lib/failure/failure.h"
#include "lib/internal.h"

/* How long a peer that is gone is not blamed for it: see find_who_failed(). */
#define LOST_NS 1000000000u

/* ------------------------------------------------------------------ base peers ---------------- */

unsigned ncoll__base_peers(unsigned rank, unsigned size, unsigned peers[BASE_PEERS])
{
    unsigned n = 0;

    for (unsigned d = 1; d < size; d *= 2) {
        bool both = d != size - d;
        for (unsigned known = 1; known < d; known *= 2)
            both &= known != size - d; /* it has been there as a distance to the right */
        peers[n++] = (rank + d) % size;
        if (both)
            peers[n++] = (rank + size - d) % size;
    }
    return n;
}

void ncoll__base_wired(struct ncoll_group *g)
{
    unsigned size = (unsigned)g->size;

    for (unsigned d = 1; d < size; d *= 2)
        g->near[d] = g->near[size - d] = BASE_DEPTH;
}

static const char *base_algorithm(enum collective collective)
{
    return collective == COLL_ALLGATHER || collective == COLL_ALLTOALL ? "bruck" : "dissemination";
}

struct call_args ncoll__base_call(enum collective collective, const void *in, void *out,
                                  size_t words, struct card errand)
{
    return (struct call_args){
        .collective = collective,
        .in = in,
        .out = out,
        .count = words,
        .type = NCOLL_INT64,
        .op = NCOLL_MIN,
        .radix = 1,
        .internal = true,
        .algorithm = ncoll__algorithm_find(base_algorithm(collective)),
        .errand = errand,
        .once = true,
    };
}

/* ------------------------------------------------------------------ start --------------------- */

void ncoll__wiring_free(struct ncoll_group *g)
{
    struct wiring *w = &g->wiring;

    ncoll__release(g->ctx, w->peers);
    ncoll__release(g->ctx, w->ranks);
    ncoll__release(g->ctx, w->offers);
    ncoll__release(g->ctx, w->answers);
    w->peers = NULL;
    w->ranks = NULL;
    w->offers = w->answers = NULL;
    w->state = WIRING_IDLE;
}

static int make_offers(struct ncoll_group *g, const unsigned *peers, unsigned n_peers,
                       unsigned depth)
{
    struct ncoll_context *ctx = g->ctx;
    struct transport *t = ctx->transport;
    struct wiring *w = &g->wiring;
    size_t size = (size_t)g->size;
    int rc = NCOLL_OK;

    w->peers = ncoll__allocate(ctx, n_peers * sizeof *w->peers);
    w->ranks = ncoll__allocate(ctx, n_peers * sizeof *w->ranks);
    w->offers = ncoll__allocate(ctx, size * sizeof *w->offers);
    w->answers = ncoll__allocate(ctx, size * sizeof *w->answers);
    if (w->peers == NULL || w->ranks == NULL || w->offers == NULL || w->answers == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to connect %u peers",
                           n_peers);
    for (unsigned i = 0; i < n_peers && rc == NCOLL_OK; i++) {
        w->peers[i] = peers[i];
        w->ranks[i] = ncoll__world_rank(g, peers[i]);
        rc = t->ops->offer(t, g->window, w->ranks[i], depth, &w->offers[peers[i]]);
    }
    return rc;
}

int ncoll__wiring_start(struct ncoll_group *g, struct call *before, const unsigned *peers,
                        unsigned n_peers, unsigned depth, struct card errand)
{
    struct wiring *w = &g->wiring;

    *w = (struct wiring){.n_peers = n_peers, .lost = -1};
    int rc = make_offers(g, peers, n_peers, depth);
    if (rc == NCOLL_OK) {
        w->exchange = (struct call){
            .args = ncoll__base_call(COLL_ALLTOALL, w->offers, w->answers, OFFER_WORDS, errand)};
        rc = ncoll__plan(g, &w->exchange.args, 0, &w->exchange.plan);
    }
    if (rc != NCOLL_OK) {
        ncoll__wiring_free(g);
        return ncoll__break_job(g->ctx);
    }
    w->state = WIRING_EXCHANGE;
    if (before != NULL)
        ncoll__call_queue_before(g, &w->exchange, before);
    else
        ncoll__call_queue(g, &w->exchange);
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ test ---------------------- */

/* A peer is gone before it was connected. The first one counts. */
static void lose(struct ncoll_context *ctx, struct wiring *w, int peer)
{
    if (w->lost >= 0)
        return;
    w->lost = peer;
    w->lost_ns = ncoll__now_ns(ctx);
    snprintf(w->why, sizeof w->why, "%.95s",
             ctx->error.peer == peer ? ctx->error.cause : "its connection broke");
}

/* Accepts everybody that can be, so that they hear of those that cannot. */
static int accept_peers(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;
    struct transport *t = ctx->transport;
    struct wiring *w = &g->wiring;
    ncoll_error own = {.status = NCOLL_OK}; /* the first one */

    for (unsigned i = 0; i < w->n_peers; i++) {
        const struct peer *peer = &ctx->peers[w->ranks[i]];
        int rc = t->ops->accept(t, g->window, w->ranks[i], peer->description, peer->description_len,
                                &w->answers[w->peers[i]]);
        if (rc == NCOLL_ERR_PEER)
            lose(ctx, w, w->ranks[i]);
        else if (rc != NCOLL_OK && own.status == NCOLL_OK)
            own = ctx->error;
    }
    if (own.status != NCOLL_OK) {
        ctx->error = own;
        return own.status;
    }
    w->state = w->lost >= 0 ? WIRING_LOST : WIRING_CONNECT;
    return NCOLL_OK;
}

/* Who is gone may itself have given up because of another one, which nobody can tell this rank but
 * the bootstrap and the others, and that may take a moment; unless it has said goodbye, and so
 * would have told before. See lib/failure/blame.c. */
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
        return ncoll__fail(ctx, NCOLL_ERR_PEER, culprit, NULL, "rank %d reports it", w->lost);
    return ncoll__fail(ctx, NCOLL_ERR_PEER, w->lost, NULL, "%s", w->why);
}

static int advance(struct ncoll_group *g)
{
    struct wiring *w = &g->wiring;
    int rc;

    if (w->state == WIRING_EXCHANGE) {
        if (w->exchange.state != CALL_ENDED)
            return NCOLL_TIMEOUT;
        if ((rc = accept_peers(g)) != NCOLL_OK)
            return rc;
    }
    if (w->state == WIRING_LOST)
        return find_who_failed(g);
    if (w->state == WIRING_CONNECT && (rc = ncoll__ready(g->ctx, w->ranks, w->n_peers)) != NCOLL_OK)
        return rc;
    ncoll__wiring_free(g);
    return NCOLL_OK;
}

/*
 * A connection that broke leaves the ranks apart for good: it is a failure of the job. A peer that
 * is gone may have gone because of another one, and have said so before.
 */
int ncoll__wiring_test(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;

    int rc = advance(g);
    if (rc >= 0)
        return rc;
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
