/* SPDX-License-Identifier: BSD-3-Clause */
/* The queues of the device made of memory, and what goes through them. */
#include "test/support/soft_device.h"
#include "test/support/soft_inside.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct soft_cq {
    struct ibv_cq cq;
    struct ibv_wc *ring; /* [cqe] */
    unsigned first, n;
    bool armed;
};

struct soft_srq {
    struct ibv_srq srq;
    uint64_t *ids; /* [max] ring: the wr_id of each receive */
    unsigned first, posted, max;
};

struct soft_qp {
    struct ibv_qp qp;
    enum ibv_qp_state state;
    uint32_t peer;
    unsigned depth, outstanding; /* not known to be complete by the program, */
    unsigned unsignalled;        /* the last so many without a completion to come */
    bool cut;
};

static struct soft_qp *qps[SOFT_QPS];

/* ------------------------------------------------------------------ completions --------------- */

static void complete(struct ibv_cq *cq, struct ibv_wc wc)
{
    struct soft_cq *q = (struct soft_cq *)cq;
    uint64_t one = 1;

    if (q->n == (unsigned)cq->cqe) {
        soft.overruns++;
        return;
    }
    q->ring[(q->first + q->n++) % (unsigned)cq->cqe] = wc;
    if (q->armed && write(cq->channel->fd, &one, sizeof one) == sizeof one)
        q->armed = false;
}

int soft_poll_cq(struct ibv_cq *cq, int entries, struct ibv_wc *wc)
{
    SOFT_ENTER;
    struct soft_cq *q = (struct soft_cq *)cq;
    int n = 0;

    if (soft.blind > 0) {
        soft.blind--;
        return 0;
    }
    for (; n < entries && q->n > 0; n++, q->n--) {
        wc[n] = q->ring[q->first];
        q->first = (q->first + 1) % (unsigned)cq->cqe;
        struct soft_qp *qp = qps[wc[n].qp_num];
        if (wc[n].opcode != IBV_WC_RECV_RDMA_WITH_IMM && qp != NULL) /* all up to this one */
            qp->outstanding -= wc[n].byte_len;
    }
    return n;
}

int soft_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
    SOFT_ENTER;
    (void)solicited_only;
    ((struct soft_cq *)cq)->armed = true;
    return 0;
}

bool soft_wakes(const struct ibv_cq *cq)
{
    struct pollfd pollfd = {.fd = cq->channel->fd, .events = POLLIN};

    return poll(&pollfd, 1, 0) == 1;
}

/* ------------------------------------------------------------------ messages ------------------ */

int soft_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    SOFT_ENTER;
    struct soft_srq *q = (struct soft_srq *)srq;

    if (++soft.made == soft.fail_at) {
        *bad = wr;
        return ENOMEM;
    }
    for (; wr != NULL; wr = wr->next) {
        if (q->posted == q->max) {
            *bad = wr;
            return ENOMEM;
        }
        q->ids[(q->first + q->posted++) % q->max] = wr->wr_id;
        soft.receives++;
    }
    return 0;
}

static void arrive(struct soft_qp *to, uint32_t imm)
{
    struct soft_srq *srq = (struct soft_srq *)to->qp.srq;
    uint64_t id = srq->ids[srq->first];

    if (srq->posted == 0) {
        soft.rnr++;
    } else {
        srq->first = (srq->first + 1) % srq->max;
        srq->posted--;
        soft.receives--;
    }
    complete(to->qp.recv_cq, (struct ibv_wc){.wr_id = id,
                                             .status = IBV_WC_SUCCESS,
                                             .opcode = IBV_WC_RECV_RDMA_WITH_IMM,
                                             .qp_num = to->qp.qp_num,
                                             .wc_flags = IBV_WC_WITH_IMM,
                                             .imm_data = imm});
}

/* Returns the status with which a device refuses to read, or to write. */
static enum ibv_wc_status check(const struct soft_qp *from, const struct soft_qp *to,
                                const struct ibv_send_wr *wr)
{
    size_t len = 0;

    for (int i = 0; i < wr->num_sge; i++) {
        const struct ibv_sge *s = &wr->sg_list[i];
        len += s->length;
        if (!(wr->send_flags & IBV_SEND_INLINE) &&
            !soft_is_registered(from->qp.pd, s->addr, s->length, s->lkey))
            return IBV_WC_LOC_PROT_ERR;
    }
    return len == 0 || soft_is_registered(to->qp.pd, wr->wr.rdma.remote_addr, len, wr->wr.rdma.rkey)
               ? IBV_WC_SUCCESS
               : IBV_WC_REM_ACCESS_ERR;
}

static void carry(struct soft_qp *to, const struct ibv_send_wr *wr)
{
    unsigned char *at = (unsigned char *)(uintptr_t)wr->wr.rdma.remote_addr;

    for (int i = 0; i < wr->num_sge; i++)
        at = mempcpy(at, (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
    if (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
        arrive(to, wr->imm_data);
}

/* Its queue pairs are those of its protection domain. */
static int die(struct ibv_pd *pd)
{
    for (unsigned i = 0; i < SOFT_QPS; i++)
        if (qps[i] != NULL && qps[i]->qp.pd == pd)
            qps[i]->state = IBV_QPS_RESET;
    soft_await_burial();
    return EINVAL;
}

int soft_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    SOFT_ENTER;
    struct soft_qp *from = (struct soft_qp *)qp, *to = qps[from->peer];
    bool cut = from->cut || (soft.cut_from > 0 && from->peer >= soft.cut_from);
    bool lost = cut || to == NULL || to->state < IBV_QPS_RTR;

    if (soft_fault == SOFT_DIES && from->state == IBV_QPS_RTS) {
        *bad = wr;
        return die(qp->pd);
    }
    if (from->state != IBV_QPS_RTS) {
        *bad = wr;
        return EINVAL;
    }
    for (; wr != NULL; wr = wr->next) {
        soft.sends++;
        from->unsignalled++;
        if (++from->outstanding > from->depth)
            soft.overruns++;
        enum ibv_wc_status status = lost ? IBV_WC_RETRY_EXC_ERR : check(from, to, wr);
        if (status == IBV_WC_SUCCESS)
            carry(to, wr);
        if (status == IBV_WC_SUCCESS && !(wr->send_flags & IBV_SEND_SIGNALED))
            continue;
        complete(qp->send_cq,
                 (struct ibv_wc){.wr_id = wr->wr_id,
                                 .status = status,
                                 .qp_num = qp->qp_num,
                                 .byte_len = from->unsignalled}); /* that it stands for */
        from->unsignalled = 0;
    }
    return 0;
}

void soft_cut(uint32_t qp_num)
{
    SOFT_ENTER;
    qps[qp_num]->cut = true;
}

/* ------------------------------------------------------------------ objects ------------------- */

struct ibv_cq *ibv_create_cq(struct ibv_context *c, int cqe, void *context,
                             struct ibv_comp_channel *channel, int vector)
{
    SOFT_ENTER;
    struct soft_cq *q = soft_make(sizeof *q);

    (void)context, (void)vector;
    if (q == NULL)
        return NULL;
    q->cq = (struct ibv_cq){.context = c, .channel = channel, .cqe = cqe};
    q->ring = calloc((size_t)cqe, sizeof *q->ring);
    soft.cqe = (unsigned)cqe;
    return &q->cq;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
    SOFT_ENTER;
    struct soft_cq *q = (struct soft_cq *)cq;
    struct ibv_wc *ring;

    if (cqe > soft.max_cqe)
        return EINVAL;
    if (++soft.made == soft.fail_at)
        return ENOMEM;
    ring = calloc((size_t)cqe, sizeof *ring);
    for (unsigned i = 0; i < q->n; i++)
        ring[i] = q->ring[(q->first + i) % (unsigned)cq->cqe];
    free(q->ring);
    q->ring = ring;
    q->first = 0;
    soft.cqe = (unsigned)(cq->cqe = cqe);
    return 0;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    free(((struct soft_cq *)cq)->ring);
    return soft_unmake(cq);
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
    uint64_t n;

    *cq = NULL;
    *context = NULL;
    return read(channel->fd, &n, sizeof n) == sizeof n ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned n)
{
    (void)cq, (void)n;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    SOFT_ENTER;
    struct soft_srq *q;

    if (attr->attr.max_wr > (unsigned)soft.max_srq_wr) {
        errno = EINVAL;
        return NULL;
    }
    if ((q = soft_make(sizeof *q)) == NULL)
        return NULL;
    *q = (struct soft_srq){.srq = {.context = pd->context, .pd = pd}, .max = attr->attr.max_wr};
    q->ids = calloc(q->max, sizeof *q->ids);
    soft.queues++;
    return &q->srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
    SOFT_ENTER;
    struct soft_srq *q = (struct soft_srq *)srq;

    soft.receives -= q->posted;
    soft.queues--;
    free(q->ids);
    return soft_unmake(srq);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    SOFT_ENTER;
    struct soft_qp *q;
    uint32_t number = 1;

    if (attr->cap.max_inline_data > soft.max_inline) {
        errno = EINVAL;
        return NULL;
    }
    while (number < SOFT_QPS && qps[number] != NULL)
        number++;
    if (number > (unsigned)soft.max_qp || soft_fault == SOFT_NO_QP) {
        errno = ENOMEM;
        return NULL;
    }
    if ((q = soft_make(sizeof *q)) == NULL)
        return NULL;
    *q = (struct soft_qp){.qp = {.context = pd->context,
                                 .pd = pd,
                                 .send_cq = attr->send_cq,
                                 .recv_cq = attr->recv_cq,
                                 .srq = attr->srq,
                                 .qp_num = number},
                          .depth = attr->cap.max_send_wr};
    qps[number] = q;
    soft.last_qp = number > soft.last_qp ? number : soft.last_qp;
    return &q->qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    SOFT_ENTER;
    struct soft_qp *q = (struct soft_qp *)qp;

    if (soft_fault == SOFT_NO_RTR && attr->qp_state == IBV_QPS_RTR)
        return EINVAL;
    q->state = attr->qp_state;
    if (mask & IBV_QP_DEST_QPN)
        q->peer = attr->dest_qp_num;
    if (q->state == IBV_QPS_RESET)
        q->outstanding = q->unsignalled = 0;
    return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    SOFT_ENTER;
    qps[qp->qp_num] = NULL;
    return soft_unmake(qp);
}
