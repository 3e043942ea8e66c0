/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ranks in one thread exchange notifications over a device in memory, for callgrind to count the
 * instructions: bare writes with immediate, barriers, and allreduces of 8 bytes. The device carries a
 * write when it is posted, and the ranks take turns: the first one begins, the second one does all
 * of its part, and the first one finds the message. So nobody waits, and the number of instructions
 * is the same in each run.
 *
 *     count-instructions bare|barrier|allreduce TIMES
 *
 * ./instructions runs it and makes the table.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

#include "test/support/crew.h"

#define RANKS     2
#define WARM_UP   200
#define RECEIVES  64 /* each rank keeps as many posted, ... */
#define BATCH     16 /* ... and posts so many at a time, as ncoll does */
#define SIGNALLED 16 /* each n-th write asks for a completion */
#define LIMIT_S   60

static unsigned times;
static const char *what; /* is counted */

/* One step of a rank; NCOLL_TIMEOUT: it has begun, and is to be called again. */
typedef int (*step_function)(void *rank);

/* Returns false if a step did not give what it was to. */
static bool exchange(step_function step, void *first, void *second)
{
    return step(first) == NCOLL_TIMEOUT && step(second) == NCOLL_OK && step(first) == NCOLL_OK;
}

/* Has the instructions of `times` exchanges counted. */
static bool count(step_function step, void *first, void *second)
{
    bool good = true;

    for (unsigned i = 0; i < WARM_UP && good; i++)
        good = exchange(step, first, second);
    CALLGRIND_START_INSTRUMENTATION;
    for (unsigned i = 0; i < times && good; i++)
        good = exchange(step, first, second);
    CALLGRIND_STOP_INSTRUMENTATION;
    if (!good)
        fprintf(stderr, "%s: a step went wrong\n", what);
    return good;
}

/* ------------------------------------------------------------------ bare ---------------------- */

/* One side of a connection. */
struct side {
    struct ibv_context *device;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    uint64_t word, peer_address;
    uint32_t peer_key;
    unsigned sent, received;
    bool begun;
};

static bool post_receives(struct side *s, unsigned n)
{
    struct ibv_recv_wr wr[RECEIVES] = {0}, *bad;

    for (unsigned i = 0; i < n; i++)
        wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
    return ibv_post_recv(s->qp, wr, &bad) == 0;
}

static bool post_write(struct side *s)
{
    struct ibv_sge sge = {
        .addr = (uintptr_t)&s->word, .length = sizeof s->word, .lkey = s->mr->lkey};
    struct ibv_send_wr *bad,
        wr = {
            .sg_list = &sge,
            .num_sge = 1,
            .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
            .imm_data = htonl(1),
            .send_flags = IBV_SEND_INLINE | (++s->sent % SIGNALLED == 0 ? IBV_SEND_SIGNALED : 0),
            .wr.rdma = {.remote_addr = s->peer_address, .rkey = s->peer_key},
        };

    return ibv_post_send(s->qp, &wr, &bad) == 0;
}

/* Writes to the peer, and looks once for the peer's notification. */
static int bare(void *rank)
{
    struct side *s = rank;
    struct ibv_wc wc[2];
    bool come = false;

    if (!s->begun && !post_write(s))
        return NCOLL_ERR_SYSTEM;
    s->begun = true;
    int n = ibv_poll_cq(s->cq, 2, wc);
    for (int i = 0; i < n; i++) {
        if (wc[i].status != IBV_WC_SUCCESS)
            return NCOLL_ERR_SYSTEM;
        come |= wc[i].opcode == IBV_WC_RECV_RDMA_WITH_IMM;
    }
    if (!come)
        return NCOLL_TIMEOUT;
    s->begun = false;
    if (++s->received % BATCH == 0 && !post_receives(s, BATCH))
        return NCOLL_ERR_SYSTEM;
    return NCOLL_OK;
}

static bool open_side(struct side *s)
{
    struct ibv_device **list = ibv_get_device_list(NULL);

    s->device = list != NULL && list[0] != NULL ? ibv_open_device(list[0]) : NULL;
    if (list != NULL)
        ibv_free_device_list(list);
    if (s->device == NULL || (s->pd = ibv_alloc_pd(s->device)) == NULL ||
        (s->cq = ibv_create_cq(s->device, 2 * RECEIVES, NULL, NULL, 0)) == NULL)
        return false;
    struct ibv_qp_init_attr init = {
        .send_cq = s->cq,
        .recv_cq = s->cq,
        .qp_type = IBV_QPT_RC,
        .cap = {RECEIVES, RECEIVES, 1, 1, sizeof s->word},
    };
    s->qp = ibv_create_qp(s->pd, &init);
    s->mr = ibv_reg_mr(s->pd, &s->word, sizeof s->word,
                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    return s->qp != NULL && s->mr != NULL;
}

static bool connect_side(struct side *s, const struct side *peer)
{
    struct ibv_port_attr port;

    if (ibv_query_port(s->device, 1, &port) != 0)
        return false;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT,
        .port_num = 1,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
        .path_mtu = port.active_mtu,
        .dest_qp_num = peer->qp->qp_num,
        .ah_attr = {.dlid = port.lid, .port_num = 1},
        .timeout = 14,
        .retry_cnt = 7,
        .rnr_retry = 7,
    };

    s->peer_address = (uintptr_t)&peer->word;
    s->peer_key = peer->mr->rkey;
    if (ibv_modify_qp(s->qp, &attr,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
        return false;
    attr.qp_state = IBV_QPS_RTR;
    if (ibv_modify_qp(s->qp, &attr,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
        return false;
    attr.qp_state = IBV_QPS_RTS;
    return ibv_modify_qp(s->qp, &attr,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

static void close_side(struct side *s)
{
    if (s->qp != NULL)
        ibv_destroy_qp(s->qp);
    if (s->mr != NULL)
        ibv_dereg_mr(s->mr);
    if (s->cq != NULL)
        ibv_destroy_cq(s->cq);
    if (s->pd != NULL)
        ibv_dealloc_pd(s->pd);
    if (s->device != NULL)
        ibv_close_device(s->device);
}

static bool count_bare(void)
{
    struct side sides[RANKS] = {0};
    bool good = open_side(&sides[0]) && open_side(&sides[1]) &&
                connect_side(&sides[0], &sides[1]) && connect_side(&sides[1], &sides[0]) &&
                post_receives(&sides[0], RECEIVES) && post_receives(&sides[1], RECEIVES);

    if (!good)
        perror("bare exchange");
    good = good && count(bare, &sides[0], &sides[1]);
    close_side(&sides[0]);
    close_side(&sides[1]);
    return good;
}

/* ------------------------------------------------------------------ calls --------------------- */

static int barrier(void *rank)
{
    return ncoll_barrier(((struct rank *)rank)->world, NCOLL_TEST);
}

static int allreduce(void *rank)
{
    static const double in = 1;
    static double out[RANKS];
    struct rank *r = rank;

    return ncoll_allreduce(r->world, &in, &out[r->rank], 1, NCOLL_DOUBLE, NCOLL_SUM, NCOLL_TEST);
}

/* The two ranks, each a thread. While rank 0 calls for both, rank 1 waits at the barrier. */
struct pair {
    pthread_barrier_t meeting;
    struct rank *ranks[RANKS];
};

static int call_for_both(struct rank *r)
{
    struct pair *pair = r->shared;
    double in = 1, out;
    bool good = true;

    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_allreduce(r->world, &in, &out, 1, NCOLL_DOUBLE, NCOLL_SUM, NCOLL_BLOCK),
                 NCOLL_OK);
    pair->ranks[r->rank] = r;
    pthread_barrier_wait(&pair->meeting);
    if (r->rank == 0)
        good = count(strcmp(what, "barrier") == 0 ? barrier : allreduce, pair->ranks[0],
                     pair->ranks[1]);
    pthread_barrier_wait(&pair->meeting);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct pair pair;

    times = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    if (times == 0) {
        fprintf(stderr, "usage: %s bare|barrier|allreduce TIMES\n", argv[0]);
        return 2;
    }
    what = argv[1];
    if (strcmp(what, "bare") == 0)
        return count_bare() ? 0 : 1;
    pthread_barrier_init(&pair.meeting, NULL, RANKS);
    return crew_run(CREW_THREADS, RANKS, NULL, LIMIT_S, call_for_both, &pair) == 0 ? 0 : 1;
}
