/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/soft_device.h"
#include "test/support/soft_inside.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#undef ibv_get_device_list
#undef ibv_query_port

#define QPS 8192u

struct soft_cq {
    struct ibv_cq cq;
    struct ibv_wc *ring; /* [cqe] */
    unsigned first, n;
    bool armed;
};

struct soft_srq {
    struct ibv_srq srq;
    unsigned posted, max;
};

struct soft_qp {
    struct ibv_qp qp;
    enum ibv_qp_state state;
    uint32_t peer;
    unsigned depth, outstanding; /* not known to be complete by the program, */
    unsigned unsignalled;        /* the last so many without a completion to come */
    bool cut;
};

struct soft_device soft;
_Thread_local enum soft_fault soft_fault;
static struct soft_qp *qps[QPS];
static struct ibv_device device = {.name = "soft0", .node_type = IBV_NODE_CA};
static struct ibv_context *opened;
static struct ibv_async_event reported;

/* ------------------------------------------------------------------ threads ------------------- */

static pthread_mutex_t big = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t buried = PTHREAD_COND_INITIALIZER;
static bool may_bury;

pthread_mutex_t *soft_lock(void)
{
    pthread_mutex_lock(&big);
    return &big;
}

void soft_unlock(pthread_mutex_t **mutex)
{
    pthread_mutex_unlock(*mutex);
}

void soft_bury(void)
{
    SOFT_ENTER;
    may_bury = true;
    pthread_cond_broadcast(&buried);
}

/* Its queue pairs are those of its protection domain. */
static int die(struct ibv_pd *pd)
{
    for (unsigned i = 0; i < QPS; i++)
        if (qps[i] != NULL && qps[i]->qp.pd == pd)
            qps[i]->state = IBV_QPS_RESET;
    while (!may_bury)
        pthread_cond_wait(&buried, &big);
    return EINVAL;
}

void soft_reset(void)
{
    may_bury = false;
    soft = (struct soft_device){.max_cqe = 1 << 22,
                                .max_srq_wr = 1 << 15,
                                .max_qp = QPS - 1,
                                .max_mr_size = UINT64_MAX,
                                .max_inline = 256,
                                .port = IBV_PORT_ACTIVE};
}

/* Allocates for the device, or fails; errno says why. */
void *soft_make(size_t bytes)
{
    SOFT_ENTER;
    void *object = NULL;

    if (++soft.made == soft.fail_at)
        errno = ENOMEM;
    else
        object = calloc(1, bytes);
    soft.objects += object != NULL;
    return object;
}

int soft_unmake(void *object)
{
    SOFT_ENTER;
    free(object);
    soft.objects--;
    return 0;
}

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

static int poll_cq(struct ibv_cq *cq, int entries, struct ibv_wc *wc)
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
        if (wc[n].wr_id != 0 && qp != NULL) /* all up to this one */
            qp->outstanding -= wc[n].byte_len;
    }
    return n;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
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

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
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
        q->posted++;
    }
    soft.receives = q->posted;
    return 0;
}

static void arrive(struct soft_qp *to, uint32_t imm)
{
    struct soft_srq *srq = (struct soft_srq *)to->qp.srq;

    if (srq->posted == 0)
        soft.rnr++;
    else
        srq->posted--;
    soft.receives = srq->posted;
    complete(to->qp.recv_cq, (struct ibv_wc){.status = IBV_WC_SUCCESS,
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

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
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

/* ------------------------------------------------------------------ device -------------------- */

struct ibv_device **ibv_get_device_list(int *n)
{
    struct ibv_device **list = calloc(2, sizeof(struct ibv_device *));

    list[0] = &device;
    *n = 1;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

const char *ibv_get_device_name(struct ibv_device *d)
{
    return d->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *d)
{
    SOFT_ENTER;
    struct ibv_context *c = soft_fault != SOFT_NO_CONTEXT ? soft_make(sizeof *c) : NULL;

    if (c == NULL)
        return NULL;
    *c = (struct ibv_context){.device = d,
                              .ops = {.poll_cq = poll_cq,
                                      .req_notify_cq = req_notify_cq,
                                      .post_srq_recv = post_srq_recv,
                                      .post_send = post_send},
                              .async_fd = eventfd(0, EFD_NONBLOCK)};
    opened = c;
    return c;
}

int ibv_close_device(struct ibv_context *c)
{
    close(c->async_fd);
    return soft_unmake(c);
}

int ibv_query_device(struct ibv_context *c, struct ibv_device_attr *attr)
{
    (void)c;
    *attr = (struct ibv_device_attr){.phys_port_cnt = 1,
                                     .max_cqe = soft.max_cqe,
                                     .max_srq_wr =
                                         soft_fault == SOFT_NARROW ? SOFT_SHORT : soft.max_srq_wr,
                                     .max_qp = soft.max_qp,
                                     .max_mr_size = soft.max_mr_size};
    return 0;
}

int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *compat)
{
    struct ibv_port_attr *attr = (struct ibv_port_attr *)(void *)compat;

    (void)c, (void)port;
    attr->state = soft.port;
    attr->active_mtu = IBV_MTU_1024;
    attr->max_msg_sz = 1u << 30;
    attr->link_layer = IBV_LINK_LAYER_ETHERNET;
    return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *c, struct ibv_gid_entry *entries, size_t max,
                             uint32_t flags, size_t entry_size)
{
    (void)c, (void)max, (void)flags, (void)entry_size;
    entries[0] = (struct ibv_gid_entry){
        .gid.raw = {[10] = 0xff, 0xff, 10, 0, 0, 1}, .port_num = 1, .gid_type = 2};
    return 1;
}

void soft_report(enum ibv_event_type type)
{
    uint64_t one = 1;

    reported = (struct ibv_async_event){.event_type = type, .element.port_num = 1};
    (void)!write(opened->async_fd, &one, sizeof one);
}

int ibv_get_async_event(struct ibv_context *c, struct ibv_async_event *event)
{
    uint64_t n;

    *event = reported;
    return read(c->async_fd, &n, sizeof n) == sizeof n ? 0 : -1;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    (void)event;
}

/* ------------------------------------------------------------------ objects ------------------- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
    struct ibv_pd *pd = soft_make(sizeof *pd);

    if (pd != NULL)
        pd->context = c;
    return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    return soft_unmake(pd);
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    (void)pd, (void)attr;
    return soft_make(sizeof(struct ibv_ah));
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
    return soft_unmake(ah);
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *c)
{
    struct ibv_comp_channel *channel = soft_make(sizeof *channel);

    if (channel != NULL)
        *channel = (struct ibv_comp_channel){.context = c, .fd = eventfd(0, EFD_SEMAPHORE)};
    return channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    close(channel->fd);
    return soft_unmake(channel);
}

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
    return &q->srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
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
    while (number < QPS && qps[number] != NULL)
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
