/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A verbs device in this process, for tests of what real ones do seldom: it has the limits that a
 * test gives it, breaks when it is told to, and counts what no device should see. A program that
 * links it gets it in place of libibverbs' own; its queue pairs reach each other, wherever in the
 * process they are. What is sent arrives at once. Threads may share it, each with an ibv_context of
 * its own.
 */
#ifndef NCOLL_TEST_SUPPORT_SOFT_DEVICE_H
#define NCOLL_TEST_SUPPORT_SOFT_DEVICE_H

#include <infiniband/verbs.h>
#include <stdbool.h>

struct soft_device {
    /* set by the test; what is said of single devices has a bit for each */
    unsigned devices; /* soft0, soft1, .., with the addresses 10.0.0.1, 10.0.0.2, .. */
    unsigned hidden;  /* are not listed */
    unsigned locked;  /* cannot be opened: EACCES */
    unsigned down;    /* their port is down */
    uint64_t open_ns; /* processor time that it takes to open one */
    int max_cqe, max_srq, max_srq_wr, max_qp;
    uint64_t max_mr_size;
    uint64_t lock_most; /* bytes that each rank may register; 0: any number */
    uint32_t max_inline;
    enum ibv_port_state port;
    uint32_t cut_from; /* sends to queue pairs of this number and above fail; 0: none do */
    unsigned blind;    /* looks at a completion queue that find nothing yet */
    unsigned fail_at;  /* of all that is made or posted as a receive: fails once; 0: never */

    /* counted */
    unsigned made;     /* what fail_at counts */
    unsigned objects;  /* that are there */
    uint32_t last_qp;  /* the highest number of a queue pair */
    unsigned rnr;      /* messages that found no receive */
    unsigned overruns; /* of completion queues and send queues */
    unsigned sends;
    unsigned queues;   /* shared receive queues, */
    unsigned receives; /* and what is posted there and not taken */
    unsigned cqe;      /* of the latest completion queue */
};
extern struct soft_device soft;

/* The faults of the device for the calling thread. SOFT_DIES: as if its process were killed when it
 * sends for the first time. Nobody answers in its name any more; the thread itself goes on, with
 * nothing but errors, when soft_bury() says so. SOFT_NARROW: its receive queue is short. SOFT_KILLED: the
 * process is killed when it opens a device. */
enum soft_fault {
    SOFT_WELL,
    SOFT_NO_CONTEXT,
    SOFT_NO_QP,
    SOFT_NO_RTR,
    SOFT_DIES,
    SOFT_NARROW,
    SOFT_KILLED
};
extern _Thread_local enum soft_fault soft_fault;
#define SOFT_DEVICES 8u
#define SOFT_SHORT   106 /* receives: what five connections of a job of eight ranks take */
void soft_bury(void);

/* Makes the device as new, with much of everything. There is one. */
void soft_reset(void);
/* Returns how often a device was opened, or tried, since then, also by forked processes. */
unsigned soft_opens(void);
/* Lets the device that was opened last report an event. */
void soft_report(enum ibv_event_type type);
/* Sends to this queue pair fail from now on, as if nobody answered. */
void soft_cut(uint32_t qp_num);
/* True if whoever sleeps on the queue's channel is woken. */
bool soft_wakes(const struct ibv_cq *cq);

#endif
