/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives, and the completion queue.
 *
 * A connection uses the shared receive queue that was the latest when the connection was made. The
 * wr_id of a receive is the number of its queue, so a completion tells the queue to which a receive
 * has to be posted again. On a device without shared receive queues each connection has receives of
 * its own, and their wr_id is 0.
 *
 * Each queue has as many receives as messages can be in flight to its connections, and a batch
 * more, since up to a batch of used receives may wait to be posted again.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/verbs/verbs.h"

/* ------------------------------------------------------------------ posting ------------------- */

/* Posts n receives to a shared queue or, without shared queues, to the connection's own. Returns
 * the number of receives posted; if it is less than n, errno has the reason. */
static unsigned post_receives(struct verbs *v, unsigned queue, struct connection *c, unsigned n)
{
    struct ibv_srq *srq = v->queues[queue].srq;
    struct ibv_recv_wr *bad = v->refill;
    unsigned done = 0;
    int error = 0;

    if (v->refill[0].wr_id != queue)
        for (unsigned i = 0; i < RECEIVE_BATCH; i++)
            v->refill[i].wr_id = queue;
    while (done < n && error == 0) {
        unsigned batch = n - done < RECEIVE_BATCH ? n - done : RECEIVE_BATCH;
        struct ibv_recv_wr *last = &v->refill[batch - 1], *next = last->next;
        last->next = NULL;
        error = srq != NULL ? ibv_post_srq_recv(srq, v->refill, &bad)
                            : ibv_post_recv(c->qp, v->refill, &bad);
        last->next = next;
        done += error == 0 ? batch : (unsigned)(bad - v->refill);
    }
    errno = error;
    return done;
}

unsigned ncoll__receives_own(const struct connection *c)
{
    return c->allowed + WORDS_IN_FLIGHT + RECEIVE_BATCH;
}

int ncoll__receives_begin(struct verbs *v, struct connection *c)
{
    unsigned n = ncoll__receives_own(c);

    c->receives_used = 0;
    if (!verbs_shares_receives(v) && post_receives(v, 0, c, n) < n)
        return ncoll__verb_failed(v, "receives", 0, errno);
    return NCOLL_OK;
}

/* Posts used receives again on a device without shared receive queues. The receives of a dead
 * connection come back as errors, and are not posted again. */
static void refill_own(struct verbs *v)
{
    v->receives_used = 0;
    for (unsigned i = 0; i < v->n_connections; i++) {
        struct connection *c = v->connections[i];
        if (c->receives_used == 0 || c->state == CONNECTION_DEAD)
            continue;
        c->receives_used -= post_receives(v, 0, c, c->receives_used);
        if (c->receives_used > 0)
            ncoll__verbs_lost(v, c, "its receive queue failed");
    }
}

void ncoll__receives_refill(struct verbs *v)
{
    unsigned left = 0;

    if (!verbs_shares_receives(v)) {
        refill_own(v);
        return;
    }
    for (unsigned i = 0; i < v->n_queues; i++) {
        v->queue_used[i] -= post_receives(v, i, NULL, v->queue_used[i]);
        left += v->queue_used[i];
    }
    v->receives_used = left;
    if (left > 0)
        ncoll__verbs_all_lost(v, "the receive queue of this rank failed");
}

/* ------------------------------------------------------------------ queues -------------------- */

/* Grows the completion queue, if necessary, to one entry for each receive and one for each entry of
 * the send queues, in case all of them fail. */
static int grow_cq(struct verbs *v, unsigned receives)
{
    unsigned need = receives + v->rooms.sends.taken, depth = (unsigned)v->cq->cqe;

    if (need <= depth)
        return NCOLL_OK;
    depth = ncoll__completions_grown(need, depth);
    if (depth > (unsigned)v->limits.max_cqe)
        depth = (unsigned)v->limits.max_cqe;
    int error = depth < need ? ENOSPC : abs(ibv_resize_cq(v->cq, (int)depth));
    if (error == 0 && (unsigned)v->cq->cqe < need) /* some drivers do not report a lack of memory */
        error = ENOMEM;
    return error == 0 ? NCOLL_OK
                      : ncoll__verb_failed(v, "a larger completion queue", depth * 64ul, error);
}

int ncoll__receives_queue(struct verbs *v, unsigned places)
{
    struct ibv_srq_init_attr receives = {.attr = {.max_wr = places + RECEIVE_BATCH, .max_sge = 1}};
    struct ibv_srq *srq = ibv_create_srq(v->pd, &receives);

    if (srq == NULL)
        return ncoll__verb_failed(v, "a shared receive queue", receives.attr.max_wr * 64ul, errno);
    v->queues[v->n_queues++] = (struct receive_queue){.srq = srq};
    return NCOLL_OK;
}

int ncoll__receives_grow(struct verbs *v, const struct connection *c, unsigned more)
{
    struct receive_queue *q = &v->queues[c->queue];
    unsigned need = q->need + more + RECEIVE_BATCH, missing = 0, all = 0;

    if (verbs_shares_receives(v)) {
        missing = need > q->posted ? need - q->posted : 0;
        for (unsigned i = 0; i < v->n_queues; i++)
            all += v->queues[i].posted;
    } else {
        all = v->rooms.receives.taken; /* posted later; each may complete with an error */
    }
    int rc = grow_cq(v, all + missing);
    if (rc == NCOLL_OK && missing > 0) {
        q->posted += post_receives(v, c->queue, NULL, missing);
        if (q->posted < need)
            rc = ncoll__verb_failed(v, "receives", 0, errno);
    }
    if (rc == NCOLL_OK)
        q->need += more;
    return rc;
}
