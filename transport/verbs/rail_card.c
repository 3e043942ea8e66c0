/* SPDX-License-Identifier: BSD-3-Clause */
/* The second card itself: its queues and memory, its events that wake a rank, and the notes of
 * which part of a message has come. See rail.h. */
#include "transport/verbs/rail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ opening ------------------- */

/* Makes the queues of the second card. Returns a text why the card cannot be used; NULL: it can. */
static const char *open_queue(struct rail *r)
{
    int flags;

    if (ibv_query_port(r->device, (uint8_t)r->where.port, &r->port) != 0 ||
        ibv_query_device(r->device, &r->limits) != 0)
        return "cannot query it";
    if ((r->pd = ibv_alloc_pd(r->device)) == NULL)
        return "cannot make a protection domain";
    if ((r->channel = ibv_create_comp_channel(r->device)) == NULL ||
        (flags = fcntl(r->channel->fd, F_GETFL)) < 0 ||
        fcntl(r->channel->fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return "cannot make a completion channel";
    int depth = r->limits.max_cqe < (int)RAIL_CQ_DEPTH ? r->limits.max_cqe : (int)RAIL_CQ_DEPTH;
    if ((r->cq = ibv_create_cq(r->device, depth, NULL, r->channel, 0)) == NULL)
        return "cannot make a completion queue";
    return NULL;
}

static void free_rail(struct rail *r)
{
    if (r->cq != NULL) {
        if (r->events_unacked > 0)
            ibv_ack_cq_events(r->cq, r->events_unacked);
        ibv_destroy_cq(r->cq);
    }
    if (r->channel != NULL)
        ibv_destroy_comp_channel(r->channel);
    if (r->pd != NULL)
        ibv_dealloc_pd(r->pd);
    if (r->device != NULL)
        ibv_close_device(r->device);
    free(r);
}

void ncoll__rail_open(struct verbs *v, bool direct)
{
    const struct transport_events *e = &v->config.events;
    struct rail *r = v->rail;

    if (r == NULL)
        return;
    const char *why = direct ? open_queue(r) : "peers are connected by rdmacm";
    if (why != NULL) {
        e->log(e->arg, NCOLL_LOG_WARN, "verbs: NCOLL_RAILS: the second card %s is not used: %s",
               r->where.device, why);
        ncoll__rail_close(v);
        return;
    }
    bool known = r->where.mbit_per_s > 0 && v->where.mbit_per_s > 0;
    r->mbit_per_s = known ? r->where.mbit_per_s : 1;
    r->both_mbit_per_s = known ? (uint64_t)r->where.mbit_per_s + v->where.mbit_per_s : 2;
    e->log(e->arg, NCOLL_LOG_INFO, "verbs: second device %s, port %d, GID %d", r->where.device,
           r->where.port, r->where.gid_index);
}

void ncoll__rail_close(struct verbs *v)
{
    if (v->rail != NULL)
        free_rail(v->rail);
    v->rail = NULL;
}

struct ibv_mr *ncoll__rail_register(struct verbs *v, void *base, size_t bytes, bool is_bulk)
{
    if (!rail_is_usable(v))
        return NULL;
    return ibv_reg_mr(v->rail->pd, base, bytes, ncoll__memory_access(v, is_bulk));
}

/* ------------------------------------------------------------------ queue pairs --------------- */

/* Makes room for the completions of one more connection. */
static bool grow_cq(struct rail *r, unsigned more)
{
    unsigned need = r->cq_need + more, depth = 2 * (unsigned)r->cq->cqe;

    if (need > (unsigned)r->cq->cqe) {
        depth = need > depth ? need : depth;
        depth = depth < (unsigned)r->limits.max_cqe ? depth : (unsigned)r->limits.max_cqe;
        if (depth < need || ibv_resize_cq(r->cq, (int)depth) != 0 || (unsigned)r->cq->cqe < need)
            return false;
    }
    r->cq_need = need;
    return true;
}

bool ncoll__rail_qp_new(struct verbs *v, struct rail_qp *q, unsigned receives)
{
    struct rail *r = v->rail;
    struct ibv_qp_init_attr attr = {
        .send_cq = r->cq,
        .recv_cq = r->cq,
        .cap = {.max_send_wr = RAIL_DEPTH,
                .max_send_sge = 1,
                .max_recv_wr = receives,
                .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
    };

    if (receives > (unsigned)r->limits.max_qp_wr || !grow_cq(r, receives + RAIL_DEPTH) ||
        (q->qp = ibv_create_qp(r->pd, &attr)) == NULL)
        return false;
    r->n_qps++;
    q->receives = receives;
    return true;
}

void ncoll__rail_qp_free(struct verbs *v, struct rail_qp *q)
{
    if (q->qp == NULL)
        return;
    ibv_destroy_qp(q->qp);
    q->qp = NULL;
    v->rail->n_qps--;
}

/* A device that is gone refuses the change; then it writes nothing anyway. */
bool ncoll__rail_qp_stop(const struct verbs *v, const struct rail_qp *q)
{
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_ERR};
    int error = q->qp != NULL ? ibv_modify_qp(q->qp, &to, IBV_QP_STATE) : 0;

    return error == 0 || (v->rail->failed && (error == EIO || error == ENODEV));
}

void ncoll__rail_end(struct verbs *v, struct connection *c)
{
    if (c->rail == NULL)
        return;
    c->rail->state = RAIL_CLOSED;
    (void)ncoll__rail_qp_stop(v, c->rail);
    c->rail->owes = RAIL_NOTHING;
    c->rail->completed = c->rail->posted;
}

void ncoll__rail_forget(struct verbs *v, struct connection *c)
{
    if (c->rail == NULL)
        return;
    ncoll__rail_qp_free(v, c->rail);
    free(c->rail);
    c->rail = NULL;
}

bool ncoll__rail_post_receives(struct connection *c, unsigned n)
{
    struct ibv_recv_wr wr = {.wr_id = (uint64_t)(c->index + 1) << 32}, *bad;

    while (n > 0 && ibv_post_recv(c->rail->qp, &wr, &bad) == 0)
        n--;
    return n == 0;
}

/* ------------------------------------------------------------------ halves -------------------- */

/* Returns the note for a slot of which one part has come: epoch, digest of the signature, part. */
static uint64_t half_of(uint64_t epoch, unsigned digest, enum part part)
{
    return epoch << 8 | digest << 2 | part;
}

/* Two different calls may write to one slot. Then the digests differ, so that their parts are not
 * taken for one message. The note of the part by the first card stays, or replaces the other one:
 * its signature is in the slot, as it is without a second card. */
bool ncoll__rail_has_both(struct verbs_window *w, unsigned slot, uint64_t epoch, enum part part,
                          unsigned digest)
{
    uint64_t *half = &w->halves[slot_index(epoch, slot)];
    unsigned other = part == PART_FIRST ? PART_SECOND : PART_FIRST, known = *half >> 2 & 31;
    bool other_came = *half >> 8 == epoch && (*half & 3) == other;

    if (other_came && (known == digest || known == ANY_DIGEST || digest == ANY_DIGEST)) {
        *half = 0;
        return true;
    }
    if (!other_came || part == PART_FIRST)
        *half = half_of(epoch, digest, part);
    return false;
}

/* ------------------------------------------------------------------ sleep --------------------- */

static bool can_wake(const struct verbs *v)
{
    return v->rail != NULL && v->rail->n_qps > 0 && !v->rail->failed;
}

int ncoll__rail_wake_fd(const struct verbs *v)
{
    return can_wake(v) ? v->rail->channel->fd : -1;
}

bool ncoll__rail_is_armed(const struct verbs *v)
{
    return !can_wake(v) || v->rail->armed;
}

void ncoll__rail_arm(struct verbs *v)
{
    if (!ncoll__rail_is_armed(v))
        v->rail->armed = ibv_req_notify_cq(v->rail->cq, 0) == 0;
}

void ncoll__rail_take_event(struct verbs *v)
{
    struct rail *r = v->rail;
    struct ibv_cq *cq;
    void *context;

    if (ibv_get_cq_event(r->channel, &cq, &context) != 0)
        return; /* not readable: the channel is non-blocking */
    r->armed = false;
    if (++r->events_unacked >= RAIL_CQ_DEPTH) {
        ibv_ack_cq_events(r->cq, r->events_unacked);
        r->events_unacked = 0;
    }
}
