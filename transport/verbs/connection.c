/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs, and the room that they need in the queues that all share. Both queues are grown
 * before a connection or a window can make use of the room.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "transport/verbs/verbs.h"

/* ------------------------------------------------------------------ receives ------------------ */

int ncoll__receives_post(struct verbs *v, unsigned n)
{
    struct ibv_recv_wr *bad;
    int error = 0;

    while (n > 0 && error == 0) {
        struct ibv_recv_wr *last = &v->refill[(n < RECEIVE_BATCH ? n : RECEIVE_BATCH) - 1], *next;
        next = last->next;
        last->next = NULL;
        error = ibv_post_srq_recv(v->srq, v->refill, &bad);
        last->next = next;
        n -= n < RECEIVE_BATCH ? n : RECEIVE_BATCH;
    }
    return error == 0 ? NCOLL_OK : ncoll__verb_failed(v, "receives", 0, error);
}

/* Completions: one for each receive, and for each send if all of them fail. */
static int grow_cq(struct verbs *v, unsigned connections)
{
    unsigned need = v->receives + connections * SEND_DEPTH, depth = (unsigned)v->cq->cqe;

    if (need <= depth)
        return NCOLL_OK;
    depth = need > 2 * depth ? need : 2 * depth;
    if (depth > (unsigned)v->limits.max_cqe)
        depth = (unsigned)v->limits.max_cqe;
    int error = depth < need ? ENOSPC : ibv_resize_cq(v->cq, (int)depth);
    return error == 0 ? NCOLL_OK
                      : ncoll__verb_failed(v, "a larger completion queue", depth * 64ul, error);
}

int ncoll__receives_grow(struct verbs *v, unsigned more)
{
    const struct transport_events *e = &v->config.events;
    unsigned need = v->receives_need + more,
             posted = need + RECEIVE_BATCH; /* a batch may lie used */
    unsigned post = posted > v->receives ? posted - v->receives : 0;

    if (v->receives + post > RECEIVES_MAX)
        return e->fail(e->arg, NCOLL_ERR_RESOURCE, -1,
                       "use fewer groups, or algorithms with fewer peers (NCOLL_RADIX, "
                       "NCOLL_ALLTOALL_ALGORITHM=bruck)",
                       "%u messages can be on their way to rank %d at once, more than %u", need,
                       v->config.rank, RECEIVES_MAX);
    v->receives += post;
    v->receives_need = need;
    int rc = grow_cq(v, v->n_connections);
    if (rc == NCOLL_OK)
        rc = ncoll__receives_post(v, post);
    if (rc != NCOLL_OK) {
        v->receives -= post;
        v->receives_need -= more;
    }
    return rc;
}

/* ------------------------------------------------------------------ queue pairs --------------- */

static int create_qp(struct verbs *v, struct connection *c)
{
    /* What was asked for, then less: a device refuses what it cannot do. */
    static const uint32_t inline_sizes[] = {INLINE_WISH, 128, 64, 32, 0};
    int error = 0;

    for (size_t i = 0; i < sizeof inline_sizes / sizeof inline_sizes[0]; i++) {
        struct ibv_qp_init_attr attr = {
            .send_cq = v->cq,
            .recv_cq = v->cq,
            .srq = v->srq,
            .cap = {.max_send_wr = SEND_DEPTH,
                    .max_send_sge = 2,
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
    return ncoll__verb_failed(v, "a queue pair", SEND_DEPTH * 512ul, error);
}

/* The inbox, and a copy of every message that can be in the queue if the device cannot take it
 * along with the request. */
static int create_memory(struct verbs *v, struct connection *c)
{
    size_t bounce_bytes = c->max_inline < INLINE_WISH ? SEND_DEPTH * SLOT_BYTES : 0;
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

/* Twice as many places as connections, at least. */
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

/* A number for the connection. */
static int enter(struct verbs *v, struct connection *c)
{
    if (v->n_connections == v->connections_capacity) {
        unsigned capacity = 2 * v->connections_capacity + 16;
        struct connection **grown = NULL;
        if (capacity <= IMM_INDEX)
            grown = realloc(v->connections, capacity * sizeof(struct connection *));
        if (grown != NULL)
            v->connections = grown;
        if (grown == NULL || !grow_index(v, capacity))
            return ncoll__verb_failed(v, "a connection", 0, ENOMEM);
        v->connections_capacity = capacity;
    }
    c->index = v->n_connections;
    v->connections[v->n_connections++] = c;
    v->by_rank[c->endpoint.rank] = c;
    index_connection(v, c);
    return NCOLL_OK;
}

int ncoll__connection_create(struct verbs *v, int rank, struct connection **out)
{
    struct connection *c = calloc(1, sizeof *c);
    int rc;

    if (c == NULL)
        return ncoll__verb_failed(v, "a connection", sizeof *c, ENOMEM);
    c->endpoint.rank = rank;
    c->hello_ns = UINT64_MAX;
    c->process.fd = -1;
    if (getrandom(&c->psn, sizeof c->psn, 0) != sizeof c->psn)
        c->psn = (uint32_t)rank;
    c->psn &= 0xffffff;
    if ((rc = grow_cq(v, v->n_connections + 1)) != NCOLL_OK || (rc = create_qp(v, c)) != NCOLL_OK ||
        (rc = create_memory(v, c)) != NCOLL_OK || (rc = enter(v, c)) != NCOLL_OK) {
        ncoll__connection_destroy(v, c);
        return rc;
    }
    *out = c;
    return ncoll__receives_grow(v, WORDS_IN_FLIGHT);
}

void ncoll__connection_destroy(struct verbs *v, struct connection *c)
{
    v->wiring->disconnect(c);
    if (c->qp != NULL)
        ibv_destroy_qp(c->qp);
    if (c->watched)
        ncoll__process_forget(&c->process);
    free(c->peer);
    free(c->views);
    free(c);
}

/* ------------------------------------------------------------------ views --------------------- */

static uint32_t receives_for(uint32_t depth)
{
    return depth < UNCONFIRMED_MAX ? depth : UNCONFIRMED_MAX;
}

int ncoll__connection_deepen(struct verbs *v, struct connection *c, unsigned id, unsigned depth)
{
    struct view *view = &c->views[id];

    if (depth <= view->depth)
        return NCOLL_OK;
    uint32_t all = c->depth + depth - view->depth;
    int rc = ncoll__receives_grow(v, receives_for(all) - receives_for(c->depth));
    if (rc == NCOLL_OK) {
        c->depth = all;
        view->depth = depth;
    }
    return rc;
}

void ncoll__connections_forget(struct verbs *v, unsigned id)
{
    for (unsigned i = 0; i < v->n_connections; i++) {
        struct connection *c = v->connections[i];
        if (id >= c->n_views)
            continue;
        uint32_t left = c->depth - c->views[id].depth;
        v->receives_need -= receives_for(c->depth) - receives_for(left);
        c->depth = left;
        c->views[id] = (struct view){0};
    }
}

struct view *ncoll__connection_view(struct verbs *v, struct connection *c, unsigned id)
{
    if (id >= c->n_views) {
        struct view *views = realloc(c->views, (id + 1) * sizeof *views);
        if (views == NULL) {
            ncoll__verb_failed(v, "a connection", sizeof *views, ENOMEM);
            return NULL;
        }
        memset(views + c->n_views, 0, (id + 1 - c->n_views) * sizeof *views);
        c->views = views;
        c->n_views = id + 1;
    }
    return &c->views[id];
}
