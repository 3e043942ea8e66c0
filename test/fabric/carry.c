/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request in a send queue is carried when it is posted, if it can be; if not, it waits in its send
 * queue, and all that is posted after it. The process tries again whenever it asks for completions.
 */
#include "test/fabric/fabric.h"

#include <errno.h>
#include <string.h>

#define LOOK_NS 10000000u /* between two looks at the process of a peer */
#define LOSS_NS 1000000u  /* until a request that was lost is sent again */

enum carried { CARRIED, WAITS_FOR_PEER, WAITS_FOR_RECEIVE, REFUSED };

static struct qp *waiting; /* list */

static void wait_for(struct qp *q)
{
    if (q->waiting)
        return;
    q->waiting = true;
    q->waits_since_ns = fabric_now_ns();
    q->next_waiting = waiting;
    waiting = q;
}

void fabric_forget(struct qp *q)
{
    struct qp **link = &waiting;

    while (*link != NULL && *link != q)
        link = &(*link)->next_waiting;
    if (*link == q)
        *link = q->next_waiting;
    q->waiting = false;
}

/* ------------------------------------------------------------------ completions --------------- */

static enum ibv_wc_opcode wc_opcode(uint32_t opcode)
{
    return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ? IBV_WC_SEND
           : opcode == IBV_WR_RDMA_READ                            ? IBV_WC_RDMA_READ
                                                                   : IBV_WC_RDMA_WRITE;
}

/* Every request passes here once, in order. */
static void complete(struct qp *q, const struct request *r, enum ibv_wc_status status)
{
    q->unsignalled++;
    if (status == IBV_WC_SUCCESS && !q->all_signalled && !(r->flags & IBV_SEND_SIGNALED))
        return;
    fabric_complete(((struct cq *)q->verbs.send_cq)->shared,
                    &(struct cqe){.wr_id = r->wr_id,
                                  .status = status,
                                  .opcode = wc_opcode(r->opcode),
                                  .qp_num = q->verbs.qp_num,
                                  .frees = q->unsignalled});
    q->unsignalled = 0;
}

void fabric_freed(uint32_t qp_num, uint32_t requests)
{
    struct qp *q = fabric_qp(qp_num);

    if (q != NULL)
        q->outstanding -= requests < q->outstanding ? requests : q->outstanding;
}

/* ------------------------------------------------------------------ one request --------------- */

size_t fabric_length(const struct request *r)
{
    size_t bytes = r->copy != NULL ? r->copy_bytes : 0;

    for (unsigned i = 0; r->copy == NULL && i < r->n_sges; i++)
        bytes += r->sges[i].length;
    return bytes;
}

enum ibv_wc_status fabric_gather(const struct qp *q, const struct request *r, struct remote to)
{
    if (r->copy != NULL)
        return fabric_write(to, r->copy, r->copy_bytes) ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR;
    for (unsigned i = 0; i < r->n_sges; to.at += r->sges[i++].length) {
        const struct ibv_sge *s = &r->sges[i];
        struct remote from = {(unsigned char *)(uintptr_t)s->addr, 0};
        if (s->length == 0)
            continue;
        if (!(r->flags & IBV_SEND_INLINE) &&
            !fabric_reach(q->shared->pd, s->lkey, s->addr, s->length, 0, &from))
            return IBV_WC_LOC_PROT_ERR;
        if (!fabric_write(to, from.at, s->length))
            return IBV_WC_RETRY_EXC_ERR;
    }
    return IBV_WC_SUCCESS;
}

/* Copies from a place to the memory that a request names. */
static enum ibv_wc_status scatter(const struct qp *q, const struct request *r, struct remote from)
{
    for (unsigned i = 0; i < r->n_sges; from.at += r->sges[i++].length) {
        const struct ibv_sge *s = &r->sges[i];
        struct remote to;
        if (!fabric_reach(q->shared->pd, s->lkey, s->addr, s->length, IBV_ACCESS_LOCAL_WRITE, &to))
            return IBV_WC_LOC_PROT_ERR;
        if (!fabric_read(from, to.at, s->length))
            return IBV_WC_RETRY_EXC_ERR;
    }
    return IBV_WC_SUCCESS;
}

/* Returns where the data goes, or comes from. */
static enum ibv_wc_status find_remote(const struct shared_qp *to, const struct request *r,
                                      const struct receive *receive, size_t bytes,
                                      struct remote *out)
{
    bool sends = r->opcode == IBV_WR_SEND || r->opcode == IBV_WR_SEND_WITH_IMM;
    unsigned access = r->opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_REMOTE_READ
                      : sends                       ? IBV_ACCESS_LOCAL_WRITE
                                                    : IBV_ACCESS_REMOTE_WRITE;

    *out = (struct remote){0};
    if (bytes == 0)
        return IBV_WC_SUCCESS;
    if (sends && bytes > receive->length)
        return IBV_WC_REM_INV_REQ_ERR;
    return fabric_reach(to->pd, sends ? receive->lkey : r->rkey,
                        sends ? receive->addr : r->remote_addr, bytes, access, out)
               ? IBV_WC_SUCCESS
               : IBV_WC_REM_ACCESS_ERR;
}

static void arrive(const struct qp *q, struct shared_qp *to, const struct request *r,
                   const struct receive *receive, size_t bytes)
{
    bool imm = r->opcode != IBV_WR_SEND;

    fabric_complete(fabric_at(to->recv_cq),
                    &(struct cqe){.wr_id = receive->wr_id,
                                  .status = IBV_WC_SUCCESS,
                                  .opcode = r->opcode == IBV_WR_RDMA_WRITE_WITH_IMM
                                                ? IBV_WC_RECV_RDMA_WITH_IMM
                                                : IBV_WC_RECV,
                                  .byte_len = (uint32_t)bytes,
                                  .imm = imm ? r->imm : 0,
                                  .wc_flags = imm ? IBV_WC_WITH_IMM : 0,
                                  .qp_num = q->attr.dest_qp_num,
                                  .src_qp = q->verbs.qp_num});
}

static bool is_ready(struct qp *q, const struct shared_qp *to)
{
    uint32_t state = atomic_load_explicit(&to->state, memory_order_acquire);

    if ((state != IBV_QPS_RTR && state != IBV_QPS_RTS) ||
        atomic_load_explicit(&to->peer, memory_order_relaxed) != q->verbs.qp_num ||
        !fabric_path_leads(q->device, &q->attr, to))
        return false;
    uint64_t now = fabric_now_ns();
    if (now < q->next_look_ns)
        return true;
    if (!fabric_lives(atomic_load(&to->process)))
        return false;
    q->next_look_ns = now + LOOK_NS;
    return true;
}

/* The caller has the lock of `to`. */
static enum carried carry_to(struct qp *q, struct shared_qp *to, const struct request *r,
                             enum ibv_wc_status *status)
{
    bool takes = r->opcode == IBV_WR_RDMA_WRITE_WITH_IMM || r->opcode == IBV_WR_SEND ||
                 r->opcode == IBV_WR_SEND_WITH_IMM;
    struct receive receive = {0};
    struct remote remote;

    if (!is_ready(q, to))
        return WAITS_FOR_PEER;
    size_t bytes = fabric_length(r);
    if (takes && !fabric_rq_take(fabric_at(to->rq), &receive))
        return WAITS_FOR_RECEIVE;
    *status = find_remote(to, r, &receive, bytes, &remote);
    if (*status == IBV_WC_SUCCESS && bytes > 0)
        *status =
            r->opcode == IBV_WR_RDMA_READ ? scatter(q, r, remote) : fabric_gather(q, r, remote);
    if (*status != IBV_WC_SUCCESS)
        return REFUSED;
    if (takes)
        arrive(q, to, r, &receive, bytes);
    return CARRIED;
}

static enum carried carry(struct qp *q, const struct request *r, enum ibv_wc_status *status)
{
    struct shared_qp *to = &fabric.state->qps[q->attr.dest_qp_num % QPS_MOST];

    if (atomic_load_explicit(&to->has_lock, memory_order_acquire) == 0)
        return WAITS_FOR_PEER;
    fabric_lock(&to->lock);
    enum carried how = carry_to(q, to, r, status);
    fabric_unlock(&to->lock);
    return how;
}

/* ------------------------------------------------------------------ waiting ------------------- */

void fabric_fail(struct qp *q, enum ibv_wc_status first)
{
    for (; q->carried != q->posted; q->carried++, first = IBV_WC_WR_FLUSH_ERR)
        complete(q, &q->ring[q->carried % q->depth], first);
    fabric_forget(q);
    q->verbs.state = IBV_QPS_ERR;
    atomic_store(&q->shared->state, IBV_QPS_ERR);
}

/* 4.096 us 2^timeout for each try; a time-out of 0 stands for none. */
static bool has_timed_out(const struct qp *q)
{
    uint64_t each_ns = 4096ull << q->attr.timeout;
    uint64_t ready_ns = q->ring[q->carried % q->depth].ready_ns;
    uint64_t since_ns = ready_ns > q->waits_since_ns ? ready_ns : q->waits_since_ns;

    return q->attr.timeout > 0 && fabric_now_ns() - since_ns > each_ns * (q->attr.retry_cnt + 1u);
}

/* Carries what can be carried of a queue. */
static void go_on(struct qp *q)
{
    enum ibv_wc_status status;

    if (q->lost_until_ns != 0 && fabric_now_ns() < q->lost_until_ns)
        return;
    q->lost_until_ns = 0;
    while (q->carried != q->posted) {
        const struct request *r = &q->ring[q->carried % q->depth];
        if (r->ready_ns > 0 && fabric_now_ns() < r->ready_ns)
            return;
        enum carried how = carry(q, r, &status);
        if (how == WAITS_FOR_PEER && has_timed_out(q)) {
            fabric_fail(q, IBV_WC_RETRY_EXC_ERR);
            return;
        }
        if (how == WAITS_FOR_RECEIVE && q->attr.rnr_retry < 7 &&
            fabric_now_ns() - q->waits_since_ns > 100000000u) {
            fabric_fail(q, IBV_WC_RNR_RETRY_EXC_ERR);
            return;
        }
        if (how == REFUSED) {
            fabric_fail(q, status);
            return;
        }
        if (how != CARRIED)
            return;
        complete(q, r, IBV_WC_SUCCESS);
        q->carried++;
        q->waits_since_ns = fabric_now_ns();
    }
    fabric_forget(q);
}

void fabric_go_on(void)
{
    fabric_look_at_ports();
    for (struct qp *q = waiting, *next; q != NULL; q = next) {
        next = q->next_waiting;
        go_on(q);
    }
}

uint64_t fabric_next_ns(void)
{
    uint64_t next_ns = UINT64_MAX;

    for (const struct qp *q = waiting; q != NULL; q = q->next_waiting) {
        uint64_t ready_ns = q->ring[q->carried % q->depth].ready_ns;
        if (ready_ns > 0 && ready_ns < next_ns) /* otherwise it waits for its peer */
            next_ns = ready_ns;
    }
    return next_ns;
}

/* ------------------------------------------------------------------ posting ------------------- */

static bool is_known(const struct qp *q, const struct ibv_send_wr *wr)
{
    if (q->verbs.qp_type == IBV_QPT_UD)
        return wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM;
    switch (wr->opcode) {
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return !q->device->no_write_imm;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_READ:
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
        return true;
    default:
        return false;
    }
}

static int take(const struct qp *q, const struct ibv_send_wr *wr, struct request *r)
{
    size_t bytes = 0;

    if (!is_known(q, wr) || wr->num_sge > SGES_MOST || wr->num_sge < 0)
        return EINVAL;
    *r = (struct request){.wr_id = wr->wr_id,
                          .remote_addr = wr->wr.rdma.remote_addr,
                          .rkey = wr->wr.rdma.rkey,
                          .imm = wr->imm_data,
                          .flags = wr->send_flags,
                          .opcode = wr->opcode,
                          .n_sges = (unsigned)wr->num_sge};
    for (int i = 0; i < wr->num_sge; i++) {
        r->sges[i] = wr->sg_list[i];
        bytes += wr->sg_list[i].length;
    }
    return wr->send_flags & IBV_SEND_INLINE && bytes > q->max_inline ? EINVAL : 0;
}

/* Keeps a request in the send queue, and a copy of its data if that is inline. */
static void keep(struct qp *q, const struct request *r)
{
    struct request *kept = &q->ring[q->posted % q->depth];
    unsigned char *copy = q->copies + (size_t)(q->posted % q->depth) * q->max_inline;

    *kept = *r;
    q->posted++;
    if (!(r->flags & IBV_SEND_INLINE))
        return;
    kept->copy = copy;
    for (unsigned i = 0; i < r->n_sges; i++) {
        memcpy(copy + kept->copy_bytes, (void *)(uintptr_t)r->sges[i].addr, r->sges[i].length);
        kept->copy_bytes += r->sges[i].length;
    }
}

static int post(struct qp *q, const struct ibv_send_wr *wr)
{
    enum ibv_wc_status status = IBV_WC_SUCCESS;
    struct request r;

    if (q->verbs.state != IBV_QPS_RTS && q->verbs.state != IBV_QPS_ERR)
        return EINVAL;
    if (q->outstanding >= q->depth)
        return ENOMEM;
    int error = take(q, wr, &r);
    if (error != 0)
        return error;
    q->outstanding++;
    if (q->verbs.state == IBV_QPS_ERR) {
        complete(q, &r, IBV_WC_WR_FLUSH_ERR);
        return 0;
    }
    bool lost;
    if ((status = fabric_fault_post(q, &lost)) != IBV_WC_SUCCESS) {
        keep(q, &r);
        fabric_fail(q, status);
        return 0;
    }
    if (q->verbs.qp_type == IBV_QPT_UD) {
        if (!lost)
            fabric_datagram(q, &r, wr);
        complete(q, &r, IBV_WC_SUCCESS);
        return 0;
    }
    r.ready_ns = fabric_pace(q, fabric_length(&r));
    bool at_once = q->posted == q->carried && !lost && r.ready_ns == 0;
    enum carried how = at_once ? carry(q, &r, &status) : WAITS_FOR_PEER;
    if (lost && q->posted == q->carried)
        q->lost_until_ns = fabric_now_ns() + LOSS_NS;
    if (how == CARRIED) {
        complete(q, &r, IBV_WC_SUCCESS);
    } else if (how == REFUSED) {
        complete(q, &r, status);
        fabric_fail(q, IBV_WC_WR_FLUSH_ERR);
    } else {
        if (how == WAITS_FOR_RECEIVE)
            atomic_fetch_add(&fabric.state->rnrs, 1);
        keep(q, &r);
        wait_for(q);
    }
    return 0;
}

int fabric_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    int fault = fabric_fault_call("post_send");
    if (fault != 0) {
        *bad = wr;
        return fault;
    }
    int error = 0;

    fabric_enter();
    for (; wr != NULL && error == 0; wr = error == 0 ? wr->next : wr)
        if ((error = post((struct qp *)qp, wr)) != 0)
            *bad = wr;
    fabric_leave();
    return error;
}

int fabric_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    int fault = fabric_fault_call("post_recv");
    if (fault != 0) {
        *bad = wr;
        return fault;
    }
    struct qp *q = (struct qp *)qp;

    return q->rq.shared != NULL ? fabric_rq_post(&q->rq, wr, bad) : EINVAL;
}
