/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs, and the entries that they need in two shared queues: receives, and completions. Both
 * queues are grown before a connection or a window can make use of the new entries.
 *
 * A peer may have a certain number of messages in flight to this rank, in all windows together. It
 * is told this number when it connects, gets that many of the receives permanently (room.h), and
 * posts no more until this rank has confirmed some. The number of receives that are really posted
 * depends on the peer's windows: the depths of their schedules limit what it sends. So no sender
 * ever finds the receiver not ready, and the number of posted receives does not grow with the
 * number of groups, nor with the size of the job beyond RECEIVES_MAX.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "transport/verbs/rail.h"

/* ------------------------------------------------------------------ receives ------------------ */

/* Posts n receives, for one connection where these have queues of their own. Returns how many it could
 * post; if fewer, errno has the reason. */
static unsigned post_receives(struct verbs *v, struct connection *c, unsigned n)
{
    struct ibv_recv_wr *bad = v->refill;
    unsigned done = 0;
    int error = 0;

    while (done < n && error == 0) {
        unsigned batch = n - done < RECEIVE_BATCH ? n - done : RECEIVE_BATCH;
        struct ibv_recv_wr *last = &v->refill[batch - 1], *next = last->next;
        last->next = NULL;
        error = v->srq != NULL ? ibv_post_srq_recv(v->srq, v->refill, &bad)
                               : ibv_post_recv(c->qp, v->refill, &bad);
        last->next = next;
        done += error == 0 ? batch : (unsigned)(bad - v->refill);
    }
    errno = error;
    return done;
}

/* The length of the receive queue of a connection, if it has one. A batch of used receives may be
 * waiting. */
static unsigned own_receives(const struct connection *c)
{
    return c->allowed + WORDS_IN_FLIGHT + RECEIVE_BATCH;
}

int ncoll__receives_begin(struct verbs *v, struct connection *c)
{
    unsigned n = own_receives(c);

    c->receives_used = 0;
    if (v->srq == NULL && post_receives(v, c, n) < n)
        return ncoll__verb_failed(v, "receives", 0, errno);
    return NCOLL_OK;
}

/* Those of a connection that is dead come back as errors, and are not posted again. */
static void refill_own(struct verbs *v)
{
    v->receives_used = 0;
    for (unsigned i = 0; i < v->n_connections; i++) {
        struct connection *c = v->connections[i];
        if (c->receives_used == 0 || c->state == CONNECTION_DEAD)
            continue;
        c->receives_used -= post_receives(v, c, c->receives_used);
        if (c->receives_used > 0)
            ncoll__verbs_lost(v, c, "its receive queue failed");
    }
}

void ncoll__receives_refill(struct verbs *v)
{
    unsigned used = v->receives_used;

    if (v->srq == NULL) {
        refill_own(v);
        return;
    }
    v->receives_used -= post_receives(v, NULL, used);
    if (v->receives_used > 0)
        ncoll__verbs_all_lost(v, "the receive queue of this rank failed");
}

/* Grows the completion queue: one entry for each receive, and one for each send, in case all of
 * them fail. */
static int grow_cq(struct verbs *v, unsigned receives)
{
    unsigned need = receives + v->send_room.taken, depth = (unsigned)v->cq->cqe;

    if (need <= depth)
        return NCOLL_OK;
    depth = need > 2 * depth ? need : 2 * depth;
    if (depth > (unsigned)v->limits.max_cqe)
        depth = (unsigned)v->limits.max_cqe;
    int error = depth < need ? ENOSPC : abs(ibv_resize_cq(v->cq, (int)depth));
    if (error == 0 &&
        (unsigned)v->cq->cqe < need) /* a driver has found no memory, and says nothing */
        error = ENOMEM;
    return error == 0 ? NCOLL_OK
                      : ncoll__verb_failed(v, "a larger completion queue", depth * 64ul, error);
}

/* Posts receives for `more` further messages in flight. Receives posted before stay. */
static int grow_receives(struct verbs *v, unsigned more)
{
    /* a batch of used receives may be waiting */
    unsigned posted = v->receives_need + more + RECEIVE_BATCH;
    unsigned need = posted > v->receives ? posted : v->receives;
    /* receives in queues of connections are posted with these, and complete if these fail */
    int rc = grow_cq(v, v->srq == NULL ? v->receive_room.taken : need);

    if (rc == NCOLL_OK && v->srq != NULL && posted > v->receives) {
        v->receives += post_receives(v, NULL, posted - v->receives);
        if (v->receives < posted)
            rc = ncoll__verb_failed(v, "receives", 0, errno);
    }
    if (rc == NCOLL_OK)
        v->receives_need += more;
    return rc;
}

/* ------------------------------------------------------------------ room ---------------------- */

/* Receives of a connection besides those for messages. */
static unsigned besides(const struct verbs *v)
{
    return WORDS_IN_FLIGHT + (v->srq == NULL ? RECEIVE_BATCH : 0);
}

static void leave_room(struct verbs *v, struct connection *c)
{
    if (c->allowed > 0)
        ncoll__room_return(&v->receive_room, c->allowed + besides(v));
    if (c->send_depth > 0)
        ncoll__room_return(&v->send_room, c->send_depth);
}

/* Returns how many receives a connection wants; 0: the queues of the device are too short. */
static unsigned receives_wish(const struct verbs *v)
{
    unsigned wish = UNCONFIRMED_MAX + besides(v), most = (unsigned)v->limits.max_qp_wr;

    if (v->srq != NULL || most > wish)
        return wish;
    return most >= v->receive_room.least ? most : 0;
}

/* Takes the shares of one connection. Returns false if there is no room for it. */
static bool take_both(struct room *receives, struct room *sends, unsigned wish)
{
    return ncoll__room_take_power(sends, SEND_DEPTH) > 0 && ncoll__room_take(receives, wish) > 0;
}

bool ncoll__verbs_has_room(struct transport *t, const int *peers, unsigned n_peers)
{
    const struct verbs *v = verbs_of(t);
    struct room receives = v->receive_room, sends = v->send_room;

    for (unsigned i = 0; i < n_peers; i++)
        if (v->by_rank[peers[i]] == NULL && !take_both(&receives, &sends, receives_wish(v)))
            return false;
    return true;
}

unsigned ncoll__verbs_peers_most(const struct verbs *v)
{
    struct room receives = v->receive_room, sends = v->send_room;
    unsigned ranks = (unsigned)v->config.ranks, n = 0;

    while (n < ranks && (int)n < v->limits.max_qp && take_both(&receives, &sends, receives_wish(v)))
        n++;
    return n;
}

/* Takes the connection's share of the queues. */
static int take_room(struct verbs *v, struct connection *c)
{
    const struct transport_events *e = &v->config.events;
    unsigned receives = ncoll__room_take(&v->receive_room, receives_wish(v));

    c->allowed = receives > 0 ? receives - besides(v) : 0;
    c->send_depth = ncoll__room_take_power(&v->send_room, SEND_DEPTH);
    if (receives == 0 || c->send_depth == 0) {
        leave_room(v, c);
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_RESOURCE, QUEUES_FULL), c->endpoint.rank,
                       "use algorithms with fewer peers (NCOLL_RADIX, "
                       "NCOLL_ALLTOALL_ALGORITHM=bruck), or smaller groups",
                       "rank %d is connected to %u others, and device %s has no room for more in "
                       "its queues (max_srq_wr %d, max_cqe %d)",
                       v->config.rank, v->n_connections, v->where.device, v->limits.max_srq_wr,
                       v->limits.max_cqe);
    }
    c->confirm_every = (c->allowed + 3) / 4;
    c->signal_every = c->send_depth / SIGNALS;
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ queue pairs --------------- */

static int create_qp(struct verbs *v, struct connection *c)
{
    /* The wanted size first, then smaller ones, since a device refuses a size that it cannot do. */
    static const uint32_t inline_sizes[] = {INLINE_WISH, 128, 64, 32, 0};
    int error = 0;

    for (size_t i = 0; i < sizeof inline_sizes / sizeof inline_sizes[0]; i++) {
        struct ibv_qp_init_attr attr = {
            .send_cq = v->cq,
            .recv_cq = v->cq,
            .srq = v->srq,
            .cap = {.max_send_wr = c->send_depth,
                    .max_send_sge = 2,
                    .max_recv_wr = v->srq == NULL ? own_receives(c) : 0,
                    .max_recv_sge = v->srq == NULL,
                    .max_inline_data = inline_sizes[i]},
            .qp_type = IBV_QPT_RC,
        };
        c->qp = ibv_create_qp(v->pd, &attr);
        if (c->qp != NULL) {
            c->max_inline = attr.cap.max_inline_data;
            return NCOLL_OK;
        }
        error = errno;
    }
    return ncoll__verb_failed(v, "a queue pair", c->send_depth * 512ul, error);
}

/* Makes the inbox and, if the device cannot inline messages, a buffer for a copy of every message
 * that can be in the send queue. */
static int create_memory(struct verbs *v, struct connection *c)
{
    size_t bounce_bytes = c->max_inline < INLINE_WISH ? (size_t)c->send_depth * SLOT_BYTES : 0;
    struct ibv_mr *mr;
    void *piece;

    int rc = ncoll__memory_piece(v, sizeof *c->inbox + bounce_bytes, &piece, &mr);
    if (rc != NCOLL_OK)
        return rc;
    c->inbox = piece;
    c->inbox_rkey = mr->rkey;
    c->bounce = (unsigned char *)piece + sizeof *c->inbox;
    c->bounce_lkey = mr->lkey;
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ by queue pair ------------- */

struct connection *ncoll__connection_of(const struct verbs *v, uint32_t qp_num)
{
    unsigned at = qp_num & v->qp_mask;

    while (v->by_qp[at] != NULL && v->by_qp[at]->qp->qp_num != qp_num)
        at = (at + 1) & v->qp_mask;
    return v->by_qp[at];
}

static void index_connection(struct verbs *v, struct connection *c)
{
    unsigned at = c->qp->qp_num & v->qp_mask;

    while (v->by_qp[at] != NULL)
        at = (at + 1) & v->qp_mask;
    v->by_qp[at] = c;
}

/* Grows the index to at least twice as many places as connections. */
static bool grow_index(struct verbs *v, unsigned connections)
{
    unsigned places = 64;

    while (places < 2 * connections)
        places *= 2;
    struct connection **grown = calloc(places, sizeof(struct connection *));
    if (grown == NULL)
        return false;
    free(v->by_qp);
    v->by_qp = grown;
    v->qp_mask = places - 1;
    for (unsigned i = 0; i < v->n_connections; i++)
        index_connection(v, v->connections[i]);
    return true;
}

/* Makes room for one more connection in the tables. */
static int grow_tables(struct verbs *v)
{
    unsigned capacity = 2 * v->connections_capacity + 16;

    if (v->n_connections < v->connections_capacity)
        return NCOLL_OK;
    struct connection **grown = realloc(v->connections, capacity * sizeof(struct connection *));
    if (grown != NULL)
        v->connections = grown;
    if (grown == NULL || !grow_index(v, capacity))
        return ncoll__verbs_no_memory(v, "a connection");
    v->connections_capacity = capacity;
    return NCOLL_OK;
}

static void enter(struct verbs *v, struct connection *c)
{
    c->index = v->n_connections;
    v->connections[v->n_connections++] = c;
    v->by_rank[c->endpoint.rank] = c;
    index_connection(v, c);
}

/* Makes a connection with all that it needs, or none. */
int ncoll__connection_create(struct verbs *v, int rank, struct connection **out)
{
    struct connection *c = calloc(1, sizeof *c);
    int rc;

    if (c == NULL)
        return ncoll__verbs_no_memory(v, "a connection");
    c->endpoint.rank = rank;
    c->process.fd = -1;
    if (getrandom(&c->psn, sizeof c->psn, 0) != sizeof c->psn)
        c->psn = (uint32_t)rank;
    c->psn &= 0xffffff;
    if ((rc = take_room(v, c)) != NCOLL_OK)
        goto destroy;
    if ((rc = grow_receives(v, WORDS_IN_FLIGHT)) != NCOLL_OK)
        goto leave_room;
    if ((rc = grow_tables(v)) != NCOLL_OK || (rc = create_qp(v, c)) != NCOLL_OK ||
        (rc = create_memory(v, c)) != NCOLL_OK)
        goto need_less;
    enter(v, c);
    *out = c;
    return NCOLL_OK;

need_less:
    v->receives_need -= WORDS_IN_FLIGHT;
leave_room:
    leave_room(v, c);
destroy:
    ncoll__connection_destroy(v, c);
    return rc;
}

void ncoll__connection_destroy(struct verbs *v, struct connection *c)
{
    v->wiring->disconnect(c);
    if (c->qp != NULL)
        ibv_destroy_qp(c->qp);
    ncoll__rail_forget(v, c);
    if (c->watched)
        ncoll__process_forget(&c->process);
    free(c->peer);
    free(c->views);
    free(c);
}

/* ------------------------------------------------------------------ views --------------------- */

/* With a second card its parts may have to be sent again by the first one. */
static uint32_t receives_for(const struct verbs *v, const struct connection *c, uint32_t depth)
{
    uint32_t more = MORE_IN_FLIGHT + (v->rail != NULL ? RAIL_DEPTH : 0);
    uint32_t most = depth > 0 ? depth + more : 0;

    return most < c->allowed ? most : c->allowed;
}

int ncoll__connection_deepen(struct verbs *v, struct connection *c, unsigned id, unsigned depth)
{
    struct view *view = &c->views[id];

    if (depth <= view->depth)
        return NCOLL_OK;
    uint32_t all = c->depth + depth - view->depth;
    int rc = grow_receives(v, receives_for(v, c, all) - receives_for(v, c, c->depth));
    if (rc == NCOLL_OK) {
        c->depth = all;
        view->depth = depth;
    }
    return rc;
}

void ncoll__connections_forget(struct verbs *v, unsigned id, bool quiet)
{
    for (unsigned i = 0; i < v->n_connections; i++) {
        struct connection *c = v->connections[i];
        if (id >= c->n_views)
            continue;
        uint32_t depth = c->views[id].depth, left = quiet ? c->depth - depth : c->depth;
        v->receives_need -= receives_for(v, c, c->depth) - receives_for(v, c, left);
        c->depth = left;
        c->views[id] = (struct view){.depth = quiet ? 0 : depth};
    }
}

struct view *ncoll__connection_view(struct verbs *v, struct connection *c, unsigned id)
{
    if (id >= c->n_views) {
        struct view *views = realloc(c->views, (id + 1) * sizeof *views);
        if (views == NULL) {
            ncoll__verbs_no_memory(v, "a connection");
            return NULL;
        }
        memset(views + c->n_views, 0, (id + 1 - c->n_views) * sizeof *views);
        c->views = views;
        c->n_views = id + 1;
    }
    return &c->views[id];
}
