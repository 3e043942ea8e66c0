/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A verbs device in this process, for tests of what real ones do seldom: it has the limits that a
 * test gives it, breaks when it is told to, and counts what no device should see. A program that
 * links it gets it in place of libibverbs' own; its queue pairs reach each other, wherever in the
 * process they are. What is sent arrives at once.
 */
#ifndef NCOLL_TEST_SUPPORT_SOFT_DEVICE_H
#define NCOLL_TEST_SUPPORT_SOFT_DEVICE_H

#include <infiniband/verbs.h>
#include <stdbool.h>

struct soft_device {
    /* set by the test */
    int max_cqe, max_srq_wr, max_qp;
    uint64_t max_mr_size;
    uint32_t max_inline;
    enum ibv_port_state port;
    unsigned blind;   /* looks at a completion queue that find nothing yet */
    unsigned fail_at; /* of all that is made or posted as a receive: fails once; 0: never */

    /* counted */
    unsigned made;     /* what fail_at counts */
    unsigned objects;  /* that are there */
    unsigned rnr;      /* messages that found no receive */
    unsigned overruns; /* of completion queues and send queues */
    unsigned sends;
    unsigned receives; /* posted and not taken, in the latest queue */
    unsigned cqe;      /* of the latest queue */
};
extern struct soft_device soft;

/* As a new one, with much of everything. */
void soft_reset(void);
/* Something is reported by the device that was opened last. */
void soft_report(enum ibv_event_type type);
/* Sends to this queue pair fail from now on, as if nobody answered. */
void soft_cut(uint32_t qp_num);
/* Whether whoever sleeps on the queue's channel is woken. */
bool soft_wakes(const struct ibv_cq *cq);

#endif
