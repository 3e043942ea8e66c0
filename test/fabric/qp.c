/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs: what they are made of, and their states. */
#include "test/fabric/fabric.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct qp *own[QPS_MOST];

struct qp *fabric_qp(uint32_t number)
{
    return number < QPS_MOST ? own[number] : NULL;
}

/* ------------------------------------------------------------------ making -------------------- */

static int check_caps(const struct fabric_device *d, const struct ibv_qp_init_attr *attr)
{
    const struct ibv_qp_cap *cap = &attr->cap;

    if ((attr->qp_type != IBV_QPT_RC || d->no_rc) && attr->qp_type != IBV_QPT_UD)
        return EOPNOTSUPP;
    if (cap->max_send_wr > (uint32_t)d->max_qp_wr || cap->max_recv_wr > (uint32_t)d->max_qp_wr ||
        cap->max_send_sge > SGES_MOST || cap->max_recv_sge > 1 ||
        cap->max_inline_data > d->max_inline)
        return EINVAL;
    return attr->send_cq != NULL && attr->recv_cq != NULL ? 0 : EINVAL;
}

static uint32_t take_number(void)
{
    struct state *s = fabric.state;
    uint32_t number = 0, process = fabric_process();

    fabric_lock(&s->lock);
    for (uint32_t i = 0; i < QPS_MOST && number == 0; i++) {
        uint32_t at = ++s->next_qp % QPS_MOST;
        if (at > 1 && atomic_load(&s->qps[at].process) == 0)
            number = at;
    }
    if (number != 0 && atomic_load(&s->qps[number].has_lock) == 0) {
        fabric_lock_init(&s->qps[number].lock);
        atomic_store(&s->qps[number].has_lock, 1);
    }
    if (number != 0)
        atomic_store(&s->qps[number].process, process);
    fabric_unlock(&s->lock);
    return number;
}

static void give_number(uint32_t number)
{
    struct shared_qp *s = &fabric.state->qps[number];

    fabric_lock(&s->lock);
    atomic_store(&s->state, IBV_QPS_RESET);
    atomic_store(&s->peer, 0);
    atomic_store(&s->process, 0);
    fabric_unlock(&s->lock);
}

/* The queue pairs of a process together take no more than the device has. */
static bool has_room(const struct fabric_device *d)
{
    static unsigned long made;

    for (uint32_t i = 0, n = 0; made >= (unsigned long)d->max_qp && i < QPS_MOST; i++)
        if (own[i] != NULL && own[i]->device == d && ++n >= (uint32_t)d->max_qp)
            return false;
    made++;
    return true;
}

static bool make_queues(struct qp *q, const struct ibv_qp_init_attr *attr)
{
    q->depth = attr->cap.max_send_wr > 0 ? attr->cap.max_send_wr : 1;
    q->max_inline = attr->cap.max_inline_data;
    q->ring = calloc(q->depth, sizeof *q->ring);
    q->copies = malloc((size_t)q->depth * (q->max_inline > 0 ? q->max_inline : 1));
    return q->ring != NULL && q->copies != NULL &&
           (attr->srq != NULL ||
            fabric_rq_new(&q->rq, attr->cap.max_recv_wr > 0 ? attr->cap.max_recv_wr : 1));
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    if (fabric_fault_call("create_qp") != 0)
        return NULL;
    const struct fabric_device *d = fabric_device_of(pd->context);
    int error = check_caps(d, attr);
    struct qp *q = NULL;

    if (error == 0 && (!has_room(d) || (q = fabric_new(sizeof *q)) == NULL))
        error = ENOMEM;
    if (error == 0 && (!make_queues(q, attr) || (q->verbs.qp_num = take_number()) == 0))
        error = ENOMEM;
    if (error != 0) {
        if (q != NULL) {
            fabric_rq_free(&q->rq);
            free(q->ring);
            free(q->copies);
        }
        free(q);
        errno = error;
        return NULL;
    }
    uint32_t number = q->verbs.qp_num;
    q->verbs = (struct ibv_qp){.context = pd->context,
                               .qp_context = attr->qp_context,
                               .pd = pd,
                               .send_cq = attr->send_cq,
                               .recv_cq = attr->recv_cq,
                               .srq = attr->srq,
                               .qp_num = number,
                               .qp_type = attr->qp_type,
                               .state = IBV_QPS_RESET};
    q->device = d;
    q->all_signalled = attr->sq_sig_all != 0;
    q->shared = &fabric.state->qps[number];
    q->shared->recv_cq = fabric_offset(((struct cq *)attr->recv_cq)->shared);
    q->shared->rq =
        fabric_offset(attr->srq != NULL ? ((struct srq *)attr->srq)->rq.shared : q->rq.shared);
    q->shared->pd = ((struct pd *)pd)->number;
    q->shared->datagrams = attr->qp_type == IBV_QPT_UD;
    own[number] = q;
    fabric_made();
    return &q->verbs;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    int fault = fabric_fault_call("destroy_qp");
    if (fault != 0)
        return fault;
    struct qp *q = (struct qp *)qp;

    fabric_enter();
    fabric_forget(q);
    own[qp->qp_num] = NULL;
    give_number(qp->qp_num);
    fabric_leave();
    fabric_rq_free(&q->rq);
    free(q->ring);
    free(q->copies);
    free(q);
    fabric_gone();
    return 0;
}

/* ------------------------------------------------------------------ states -------------------- */

static int to_init(struct qp *q, const struct ibv_qp_attr *attr)
{
    const struct fabric_device *d = q->device;

    if (attr->port_num < 1 || attr->port_num > d->n_ports)
        return EINVAL;
    const struct fabric_port *p = &d->ports[attr->port_num - 1];
    if (attr->pkey_index >= p->n_pkeys)
        return EINVAL;
    q->attr = (struct ibv_qp_attr){.port_num = attr->port_num, .pkey_index = attr->pkey_index};
    const struct shared_port *now = fabric_shared_port(d, attr->port_num);
    q->shared->node = fabric.node;
    q->shared->device = (uint32_t)(d - fabric.personality.devices);
    q->shared->port = attr->port_num;
    q->shared->lids = atomic_load(&now->lids);
    q->shared->gids = atomic_load(&now->gids);
    q->shared->lid = (uint16_t)(p->lid + 256 * q->shared->lids);
    q->shared->needs_grh = p->needs_grh;
    q->shared->pkey = p->pkeys[attr->pkey_index];
    q->shared->qkey = attr->qkey;
    memcpy(q->shared->network, p->network, sizeof p->network);
    if (p->n_gids > 0)
        q->shared->gid = p->gids[0].gid;
    return 0;
}

static int to_rtr(struct qp *q, const struct ibv_qp_attr *attr)
{
    if (q->shared->datagrams)
        return 0;
    const struct fabric_port *p = &q->device->ports[q->attr.port_num - 1];
    int error = fabric_path_check(q->device, attr);

    if (error == 0 && (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > p->mtu))
        error = EINVAL;
    if (error != 0)
        return error;
    q->attr.ah_attr = attr->ah_attr;
    q->attr.path_mtu = attr->path_mtu;
    q->attr.dest_qp_num = attr->dest_qp_num;
    if (attr->ah_attr.is_global && attr->ah_attr.grh.sgid_index < p->n_gids)
        q->shared->gid = p->gids[attr->ah_attr.grh.sgid_index].gid;
    atomic_store(&q->shared->peer, attr->dest_qp_num);
    return 0;
}

static int to_rts(struct qp *q, const struct ibv_qp_attr *attr)
{
    q->attr.timeout = attr->timeout;
    q->attr.retry_cnt = attr->retry_cnt;
    q->attr.rnr_retry = attr->rnr_retry;
    return 0;
}

static void to_reset(struct qp *q)
{
    fabric_forget(q);
    q->posted = q->carried = q->outstanding = q->unsignalled = 0;
    atomic_store(&q->shared->peer, 0);
}

/* Nothing comes any more when this returns, and what was posted comes back. */
static void to_error(struct qp *q)
{
    struct receive receive;

    fabric_lock(&q->shared->lock);
    fabric_fail(q, IBV_WC_WR_FLUSH_ERR);
    while (q->rq.shared != NULL && fabric_rq_take(q->rq.shared, &receive))
        fabric_complete(fabric_at(q->shared->recv_cq), &(struct cqe){.wr_id = receive.wr_id,
                                                                     .status = IBV_WC_WR_FLUSH_ERR,
                                                                     .opcode = IBV_WC_RECV,
                                                                     .qp_num = q->verbs.qp_num});
    fabric_unlock(&q->shared->lock);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    int fault = fabric_fault_call("modify_qp");
    if (fault != 0)
        return fault;
    struct qp *q = (struct qp *)qp;
    enum ibv_qp_state from = qp->state, to = attr->qp_state;
    int error = 0;

    if (!(mask & IBV_QP_STATE))
        return 0;
    fabric_enter();
    if (to == IBV_QPS_INIT && (from == IBV_QPS_RESET || from == IBV_QPS_INIT))
        error = to_init(q, attr);
    else if (to == IBV_QPS_RTR && from == IBV_QPS_INIT)
        error = to_rtr(q, attr);
    else if (to == IBV_QPS_RTS && (from == IBV_QPS_RTR || from == IBV_QPS_RTS))
        error = to_rts(q, attr);
    else if (to == IBV_QPS_RESET)
        to_reset(q);
    else if (to != IBV_QPS_ERR || from == IBV_QPS_RESET)
        error = EINVAL;
    if (error == 0 && to == IBV_QPS_ERR)
        to_error(q);
    if (error == 0) {
        qp->state = to;
        atomic_store(&q->shared->state, (uint32_t)to);
    }
    fabric_leave();
    return error;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
                 struct ibv_qp_init_attr *init)
{
    const struct qp *q = (struct qp *)qp;

    (void)mask;
    *attr = q->attr;
    attr->qp_state = attr->cur_qp_state = qp->state;
    *init = (struct ibv_qp_init_attr){.send_cq = qp->send_cq,
                                      .recv_cq = qp->recv_cq,
                                      .srq = qp->srq,
                                      .qp_type = qp->qp_type,
                                      .cap = {.max_send_wr = q->depth,
                                              .max_send_sge = SGES_MOST,
                                              .max_inline_data = q->max_inline}};
    attr->cap = init->cap;
    return 0;
}
