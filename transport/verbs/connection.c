/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs, and the entries that they need in the queues that they share: receives, and
 * completions. The shared queues grow before a connection or a window can use the new entries.
 *
 * A peer may have a certain number of messages in flight to this rank, in all windows together. The
 * peer learns this number when it connects. This many receives are set aside for the peer for good
 * (room.h), and the peer sends no more messages until this rank has confirmed some. The number of
 * receives that are really posted depends on the peer's windows, since the depths of their
 * schedules limit how much the peer sends. So no sender ever finds the receiver not ready, and the
 * number of posted receives does not grow with the number of groups, nor with the size of the job
 * beyond RECEIVES_MAX.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "transport/verbs/rail.h"

/* ------------------------------------------------------------------ room ---------------------- */

/* Returns the number of receives that a connection needs besides those for messages. */
static unsigned besides(const struct verbs *v)
{
    return WORDS_IN_FLIGHT + (verbs_shares_receives(v) ? 0 : RECEIVE_BATCH);
}

/* Returns the number of receives that a connection wishes for; 0: the device's queues are too
 * short. */
static unsigned receives_wish(const struct verbs *v)
{
    unsigned wish = UNCONFIRMED_MAX + besides(v), most = (unsigned)v->limits.max_qp_wr;

    if (verbs_shares_receives(v) || most > wish)
        return wish;
    return most >= v->rooms.receives.least ? most : 0;
}

bool ncoll__verbs_has_room(struct transport *t, const int *peers, unsigned n_peers)
{
    const struct verbs *v = verbs_of(t);
    struct rooms rooms = v->rooms;
    struct share share;

    for (unsigned i = 0; i < n_peers; i++)
        if (v->by_rank[peers[i]] == NULL && !ncoll__rooms_take(&rooms, receives_wish(v), &share))
            return false;
    return true;
}

unsigned ncoll__verbs_peers_most(const struct verbs *v)
{
    unsigned ranks = (unsigned)v->config.ranks, n = 0;
    struct rooms rooms = v->rooms;
    struct share share;

    while (n < ranks && (int)n < v->limits.max_qp &&
           ncoll__rooms_take(&rooms, receives_wish(v), &share))
        n++;
    return n;
}

/* Takes the connection's share of the queues, and makes another receive queue if the present ones
 * have no room. */
static int take_room(struct verbs *v, struct connection *c)
{
    const struct transport_events *e = &v->config.events;
    struct rooms after = v->rooms;
    struct share share;

    if (!ncoll__rooms_take(&after, receives_wish(v), &share))
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_RESOURCE, QUEUES_FULL), c->endpoint.rank,
                       "use algorithms with fewer peers (NCOLL_RADIX, "
                       "NCOLL_ALLTOALL_ALGORITHM=bruck), or smaller groups",
                       "rank %d is connected to %u others, and device %s has no room for more in "
                       "its queues (max_srq_wr %d, max_cqe %d)",
                       v->config.rank, v->n_connections, v->where.device, v->limits.max_srq_wr,
                       v->limits.max_cqe);
    if (verbs_shares_receives(v) && after.n_queues > v->n_queues) {
        int rc = ncoll__receives_queue(v, after.places);
        if (rc != NCOLL_OK)
            return rc;
    }
    v->rooms = after;
    c->queue = after.n_queues - 1;
    c->allowed = share.receives - besides(v);
    c->send_depth = share.sends;
    c->confirm_every = (c->allowed + 3) / 4;
    c->signal_every = c->send_depth / SIGNALS;
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ queue pairs --------------- */

static int create_qp(struct verbs *v, struct connection *c)
{
    /* Sizes to try, the best one first: a device refuses a queue pair that inlines too much. */
    static const uint32_t inline_sizes[] = {INLINE_WISH, 128, 64, 32, 0};
    bool shared = verbs_shares_receives(v);
    int error = 0;

    for (size_t i = 0; i < sizeof inline_sizes / sizeof inline_sizes[0]; i++) {
        struct ibv_qp_init_attr attr = {
            .send_cq = v->cq,
            .recv_cq = v->cq,
            .srq = v->queues[c->queue].srq,
            .cap = {.max_send_wr = c->send_depth,
                    .max_send_sge = 2,
                    .max_recv_wr = shared ? 0 : ncoll__receives_own(c),
                    .max_recv_sge = !shared,
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

/* Makes a connection with all that it needs. On failure nothing of it remains. */
int ncoll__connection_create(struct verbs *v, int rank, struct connection **out)
{
    struct connection *c = calloc(1, sizeof *c);
    const struct rooms before = v->rooms;
    int rc;

    if (c == NULL)
        return ncoll__verbs_no_memory(v, "a connection");
    c->endpoint = (struct endpoint){rank, &v->transport};
    c->process.fd = -1;
    if (getrandom(&c->psn, sizeof c->psn, 0) != sizeof c->psn)
        c->psn = (uint32_t)rank;
    c->psn &= 0xffffff;
    if ((rc = take_room(v, c)) != NCOLL_OK)
        goto destroy;
    if ((rc = ncoll__receives_grow(v, c, WORDS_IN_FLIGHT)) != NCOLL_OK)
        goto leave_room;
    if ((rc = grow_tables(v)) != NCOLL_OK || (rc = create_qp(v, c)) != NCOLL_OK ||
        (rc = create_memory(v, c)) != NCOLL_OK)
        goto need_less;
    enter(v, c);
    *out = c;
    return NCOLL_OK;

need_less:
    v->queues[c->queue].need -= WORDS_IN_FLIGHT;
leave_room: /* a receive queue that take_room() has made stays for the next connection */
    v->rooms = before;
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

/* Returns the number of receives to post for `depth` messages in flight from the peer. With a
 * second card there are some for parts that are sent again by the first card. */
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
    int rc = ncoll__receives_grow(v, c, receives_for(v, c, all) - receives_for(v, c, c->depth));
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
        v->queues[c->queue].need -= receives_for(v, c, c->depth) - receives_for(v, c, left);
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
