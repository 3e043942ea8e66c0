/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues, their channels, and receive queues. */
#include "test/fabric/fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t power_of_two(uint32_t at_least)
{
    uint32_t power = 1;

    while (power < at_least)
        power *= 2;
    return power;
}

/* ------------------------------------------------------------------ channels ------------------ */

/* Ends of pipes of other processes, by the number of the queue. */
static struct bell {
    uint64_t number;
    int fd;
} bells[1024];

static int bell_of(const struct shared_cq *q)
{
    struct bell *b = &bells[q->number % (sizeof bells / sizeof bells[0])];
    char path[64];

    if (b->number == q->number)
        return b->fd;
    if (b->number != 0 && b->fd >= 0)
        close(b->fd);
    /* also for reading, so that a write after the owner's end is no signal */
    snprintf(path, sizeof path, "/proc/%d/fd/%d",
             (int)atomic_load(&fabric.state->process[q->process].pid), (int)q->channel);
    b->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    b->number = q->number;
    return b->fd;
}

void fabric_close_bells(void)
{
    for (size_t i = 0; i < sizeof bells / sizeof bells[0]; i++)
        if (bells[i].number != 0 && bells[i].fd >= 0)
            close(bells[i].fd);
    memset(bells, 0, sizeof bells);
}

static void ring_bell(const struct shared_cq *q)
{
    uint64_t owner = q->owner;
    int fd = bell_of(q);

    if (fd >= 0 && write(fd, &owner, sizeof owner) != sizeof owner && errno != EAGAIN)
        perror("fabric: cannot wake a process");
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *c)
{
    if (fabric_fault_call("create_comp_channel") != 0)
        return NULL;
    struct channel *channel = fabric_new(sizeof *channel);
    int fds[2];

    if (channel == NULL)
        return NULL;
    if (pipe2(fds, O_CLOEXEC) != 0) {
        free(channel);
        return NULL;
    }
    channel->verbs = (struct ibv_comp_channel){.context = c, .fd = fds[0]};
    channel->write_fd = fds[1];
    fabric_made();
    return &channel->verbs;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    if (channel->refcnt > 0)
        return EBUSY;
    close(channel->fd);
    close(((struct channel *)channel)->write_fd);
    free(channel);
    fabric_gone();
    return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
    if (fabric_fault_call("get_cq_event") != 0)
        return -1;
    uint64_t owner;

    if (read(channel->fd, &owner, sizeof owner) != sizeof owner)
        return -1;
    *cq = (struct ibv_cq *)(uintptr_t)owner;
    *context = (*cq)->cq_context;
    return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned n)
{
    (void)cq, (void)n;
}

/* ------------------------------------------------------------------ completions --------------- */

void fabric_complete(struct shared_cq *q, const struct cqe *entry)
{
    fabric_lock(&q->lock);
    uint64_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
    if (tail - atomic_load_explicit(&q->head, memory_order_acquire) >= q->cqe) {
        atomic_fetch_add(&q->overrun, 1);
    } else {
        ((struct cqe *)fabric_at(q->ring))[tail & (q->size - 1)] = *entry;
        atomic_store(&q->tail, tail + 1);
    }
    bool armed = atomic_load(&q->armed) != 0 && atomic_exchange(&q->armed, 0) != 0;
    fabric_unlock(&q->lock);
    if (armed)
        ring_bell(q);
}

static void to_wc(const struct cqe *e, struct ibv_wc *wc)
{
    *wc = (struct ibv_wc){.wr_id = e->wr_id,
                          .status = (enum ibv_wc_status)e->status,
                          .opcode = (enum ibv_wc_opcode)e->opcode,
                          .byte_len = e->byte_len,
                          .imm_data = e->imm,
                          .qp_num = e->qp_num,
                          .src_qp = e->src_qp,
                          .wc_flags = e->wc_flags};
}

int fabric_poll_cq(struct ibv_cq *cq, int entries, struct ibv_wc *wc)
{
    if (fabric_fault_call("poll_cq") != 0)
        return -1;
    struct shared_cq *q = ((struct cq *)cq)->shared;
    int n = 0;

    fabric_enter();
    fabric_go_on();
    uint64_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);
    for (; n < entries && head != tail; n++, head++) {
        const struct cqe *e = &((struct cqe *)fabric_at(q->ring))[head & (q->size - 1)];
        to_wc(e, &wc[n]);
        if (e->src_qp != 0 && e->status == IBV_WC_SUCCESS)
            wc[n].status = fabric_fault_receive();
        if (e->frees > 0)
            fabric_freed(e->qp_num, e->frees);
    }
    if (n > 0)
        atomic_store_explicit(&q->head, head, memory_order_release);
    fabric_leave();
    return n;
}

int fabric_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
    int fault = fabric_fault_call("req_notify_cq");
    if (fault != 0)
        return fault;
    struct shared_cq *q = ((struct cq *)cq)->shared;

    (void)solicited_only;
    atomic_store(&q->armed, 1);
    return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *c, int cqe, void *context,
                             struct ibv_comp_channel *channel, int vector)
{
    if (fabric_fault_call("create_cq") != 0)
        return NULL;
    fabric.used = true;
    struct cq *cq;

    if (cqe <= 0 || cqe > fabric_device_of(c)->max_cqe || vector < 0 ||
        vector >= c->num_comp_vectors) {
        errno = EINVAL;
        return NULL;
    }
    if ((cq = fabric_new(sizeof *cq)) == NULL)
        return NULL;
    struct shared_cq *q = fabric_take(sizeof *q);
    uint32_t size = power_of_two((uint32_t)cqe);
    void *ring = q != NULL ? fabric_take(size * sizeof(struct cqe)) : NULL;
    if (ring == NULL) {
        if (q != NULL)
            fabric_give(q, sizeof *q);
        free(cq);
        return NULL;
    }
    fabric_lock_init(&q->lock);
    q->ring = fabric_offset(ring);
    q->size = size;
    q->cqe = (uint32_t)cqe;
    q->process = fabric_process();
    q->channel = channel != NULL ? ((struct channel *)channel)->write_fd : -1;
    q->owner = (uintptr_t)cq;
    fabric_lock(&fabric.state->lock);
    q->number = ++fabric.state->cqs;
    fabric_unlock(&fabric.state->lock);
    if (channel != NULL)
        channel->refcnt++;
    cq->verbs =
        (struct ibv_cq){.context = c, .channel = channel, .cq_context = context, .cqe = cqe};
    cq->shared = q;
    fabric_made();
    return &cq->verbs;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
    int fault = fabric_fault_call("resize_cq");
    if (fault != 0)
        return fault;
    const struct fabric_device *d = fabric_device_of(cq->context);
    struct shared_cq *q = ((struct cq *)cq)->shared;
    uint32_t size = power_of_two((uint32_t)cqe);
    struct cqe *ring;

    if (d->no_resize)
        return ENOSYS;
    if (cqe <= 0 || cqe > d->max_cqe)
        return EINVAL;
    if ((ring = fabric_take(size * sizeof *ring)) == NULL)
        return ENOMEM;
    fabric_enter();
    fabric_lock(&q->lock);
    uint64_t head = atomic_load(&q->head), tail = atomic_load(&q->tail);
    struct cqe *old = fabric_at(q->ring);
    uint32_t old_size = q->size;
    bool fits = tail - head <= (uint64_t)cqe;
    for (uint64_t i = head; fits && i != tail; i++)
        ring[i & (size - 1)] = old[i & (old_size - 1)];
    if (fits) {
        q->ring = fabric_offset(ring);
        q->size = size;
        q->cqe = (uint32_t)cqe;
        cq->cqe = cqe;
    }
    fabric_unlock(&q->lock);
    fabric_leave();
    fabric_give(fits ? old : ring, (fits ? old_size : size) * sizeof *ring);
    return fits ? 0 : EINVAL;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    struct shared_cq *q = ((struct cq *)cq)->shared;

    if (cq->channel != NULL)
        cq->channel->refcnt--;
    fabric_give(fabric_at(q->ring), q->size * sizeof(struct cqe));
    fabric_give(q, sizeof *q);
    free(cq);
    fabric_gone();
    return 0;
}

/* ------------------------------------------------------------------ receives ------------------ */

bool fabric_rq_new(struct rq *rq, unsigned max)
{
    struct shared_rq *q = fabric_take(sizeof *q);
    uint32_t size = power_of_two(max);
    void *ring = q != NULL ? fabric_take(size * sizeof(struct receive)) : NULL;

    if (ring == NULL) {
        if (q != NULL)
            fabric_give(q, sizeof *q);
        return false;
    }
    fabric_lock_init(&q->lock);
    q->ring = fabric_offset(ring);
    q->size = size;
    q->max = max;
    rq->shared = q;
    return true;
}

void fabric_rq_free(struct rq *rq)
{
    if (rq->shared == NULL)
        return;
    fabric_give(fabric_at(rq->shared->ring), rq->shared->size * sizeof(struct receive));
    fabric_give(rq->shared, sizeof *rq->shared);
    rq->shared = NULL;
}

int fabric_rq_post(struct rq *rq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    struct shared_rq *q = rq->shared;
    uint64_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&q->head, memory_order_acquire);

    for (; wr != NULL; wr = wr->next) {
        if (tail - head >= q->max || wr->num_sge > 1) {
            *bad = wr;
            break;
        }
        struct receive *r = &((struct receive *)fabric_at(q->ring))[tail++ & (q->size - 1)];
        *r = (struct receive){.wr_id = wr->wr_id};
        if (wr->num_sge == 1) {
            r->addr = wr->sg_list[0].addr;
            r->length = wr->sg_list[0].length;
            r->lkey = wr->sg_list[0].lkey;
        }
    }
    atomic_store_explicit(&q->tail, tail, memory_order_release);
    return wr == NULL ? 0 : ENOMEM;
}

bool fabric_rq_take(struct shared_rq *q, struct receive *out)
{
    fabric_lock(&q->lock);
    uint64_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
    bool any = head != atomic_load_explicit(&q->tail, memory_order_acquire);
    if (any) {
        *out = ((struct receive *)fabric_at(q->ring))[head & (q->size - 1)];
        atomic_store_explicit(&q->head, head + 1, memory_order_release);
    }
    fabric_unlock(&q->lock);
    return any;
}

int fabric_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    int fault = fabric_fault_call("post_srq_recv");
    if (fault != 0) {
        *bad = wr;
        return fault;
    }
    return fabric_rq_post(&((struct srq *)srq)->rq, wr, bad);
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
    if (fabric_fault_call("create_srq") != 0)
        return NULL;
    const struct fabric_device *d = fabric_device_of(pd->context);
    struct srq *srq;

    if (d->no_srq || attr->attr.max_wr > (unsigned)d->max_srq_wr || attr->attr.max_wr == 0) {
        errno = d->no_srq ? ENOSYS : EINVAL;
        return NULL;
    }
    if ((srq = fabric_new(sizeof *srq)) == NULL)
        return NULL;
    if (!fabric_rq_new(&srq->rq, attr->attr.max_wr)) {
        free(srq);
        errno = ENOMEM;
        return NULL;
    }
    srq->verbs =
        (struct ibv_srq){.context = pd->context, .pd = pd, .srq_context = attr->srq_context};
    fabric_made();
    return &srq->verbs;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
    fabric_rq_free(&((struct srq *)srq)->rq);
    free(srq);
    fabric_gone();
    return 0;
}
