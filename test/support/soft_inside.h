/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the device made of memory share. */
#ifndef NCOLL_TEST_SOFT_INSIDE_H
#define NCOLL_TEST_SOFT_INSIDE_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>

/* One thread at a time is in the device, to the end of the function that says so. */
pthread_mutex_t *soft_lock(void);
void soft_unlock(pthread_mutex_t **mutex);
#define SOFT_ENTER                                                                                 \
    __attribute__((cleanup(soft_unlock), unused)) pthread_mutex_t *guard = soft_lock()

/* Allocates for the device, or fails; errno says why. */
void *soft_make(size_t bytes);
int soft_unmake(void *object);

/* Waits for soft_bury(). The caller is in the device, and others may be meanwhile. */
void soft_await_burial(void);

#define SOFT_QPS 8192u

/* The operations on queues that a context has. */
int soft_poll_cq(struct ibv_cq *cq, int entries, struct ibv_wc *wc);
int soft_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int soft_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int soft_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

/* True if this memory is registered with this key. */
bool soft_is_registered(const struct ibv_pd *pd, uint64_t at, size_t len, uint32_t key);

#endif
