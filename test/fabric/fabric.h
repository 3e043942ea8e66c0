/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fabric in memory: verbs devices that the processes of one machine share, for programs that know
 * nothing of it. A module that is loaded before them (LD_PRELOAD) takes the place of libibverbs.
 *
 *     FABRIC=FILE                    the personality: which devices each node has, and their limits
 *     FABRIC_STATE=FILE              the memory that the processes share; it is made by the first
 *     FABRIC_NODE=N                  the node of this process; 0 if it is unset
 *     FABRIC_NODES=N,N,..            the nodes of its children, in the order in which they are forked
 *     FABRIC_FORK=old                forked children get pages of a device, except after ibv_fork_init(),
 *                                    as on a kernel before 5.12; but the device loses no page
 *     FABRIC_RATE=N                  each port sends N MB/s; unset: as fast as a core copies
 *
 * A sender carries its messages itself, when it posts them: it copies to the memory of the receiver,
 * which both have mapped, and writes to its completion queue. So nobody has to serve a device, and a
 * rank that computes receives as with a real one. What cannot be carried yet, because the queue pair
 * of the peer is not ready or has no receive, stays in the send queue, and is tried again
 * whenever its process asks for completions, until the time-out of the queue pair. A message without a
 * receive fails after 100 ms, unless rnr_retry is 7.
 *
 *   personality.c  reads a personality          memory.c   registered memory, also of other processes
 *   faults.c       what goes wrong, and when    ports.c    ports that change, and events
 *   state.c        the memory that is shared    queues.c   completions and receives
 *   device.c       devices, ports, addresses    carry.c    what is sent
 *   path.c         who reaches whom             qp.c       queue pairs
 *   datagram.c     what is sent by UD
 *   node.c         which node a process is on   interfaces.c  its network interfaces
 *   pace.c         rates of ports
 */
#ifndef NCOLL_TEST_FABRIC_H
#define NCOLL_TEST_FABRIC_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ------------------------------------------------------------------ personality.c ------------- */

#define NAME_BYTES   32
#define DEVICES_MOST 16
#define PORTS_MOST   2
#define GIDS_MOST    16
#define PKEYS_MOST   8
#define NODES_MOST   64

struct fabric_gid {
    union ibv_gid gid;
    enum ibv_gid_type type;
    char interface[16];
    unsigned bits; /* length of the prefix of its subnet; 0: it has none */
};

struct fabric_port {
    char network[NAME_BYTES]; /* ports of one network reach each other */
    uint8_t link_layer;       /* IBV_LINK_LAYER_* */
    enum ibv_port_state state;
    enum ibv_mtu mtu;
    uint16_t lid;
    uint32_t lane, width; /* codes of InfiniBand's PortInfo */
    bool needs_grh;
    uint16_t pkeys[PKEYS_MOST];
    unsigned n_pkeys;
    struct fabric_gid gids[GIDS_MOST];
    unsigned n_gids;
};

struct fabric_device {
    char name[NAME_BYTES];
    uint32_t vendor, part;
    int numa_node;
    char cores[NAME_BYTES]; /* mask of those that are near, as the kernel writes it */
    bool iwarp;
    bool no_rc, no_srq, no_resize, no_write_imm;
    int max_qp, max_qp_wr, max_cq, max_cqe, max_mr, max_srq_wr;
    uint64_t max_mr_size;
    uint32_t max_inline;
    unsigned n_ports;
    struct fabric_port ports[PORTS_MOST];
};

struct personality {
    unsigned nodes;
    unsigned n_devices; /* of this node */
    struct fabric_device devices[DEVICES_MOST];
};

/* Reads the number of nodes of a personality, and the devices of one of them. Returns false after a
 * message on stderr, which says what is wrong where. */
bool fabric_personality_read(const char *path, unsigned node, struct personality *out);

/* ------------------------------------------------------------------ state.c ------------------- */

#define PROCESSES_MOST 4096u
#define QPS_MOST       (1u << 18)
#define MRS_MOST       (1u << 18)
#define STATE_BYTES    ((size_t)1 << 35) /* of address space; valgrind gives no more */

struct shared_process {
    _Atomic int32_t pid; /* 0: there was none */
    uint64_t start;      /* when it started, since numbers of processes are used again */
    uint32_t node;
};

struct cqe {
    uint64_t wr_id;
    uint32_t status, opcode, byte_len, imm, qp_num, wc_flags, src_qp;
    uint32_t frees; /* entries of the send queue that it frees */
};

/* A completion queue. Whoever completes something adds entries, one at a time; its owner takes them. */
struct shared_cq {
    pthread_mutex_t lock;
    uint64_t ring; /* offset of struct cqe[size] */
    uint32_t size; /* a power of two */
    uint32_t cqe;  /* what the program has asked for */
    _Atomic uint64_t tail;
    _Alignas(64) _Atomic uint64_t head;
    _Atomic uint32_t armed;
    _Atomic uint32_t overrun;
    uint32_t process; /* whose channel it is */
    int32_t channel;  /* descriptor of the owner's that wakes it; -1: none */
    uint64_t number;  /* of this queue among all that there were */
    uint64_t owner;   /* struct ibv_cq of its process */
};

struct receive {
    uint64_t wr_id, addr;
    uint32_t length, lkey;
};

/* A receive queue, shared by queue pairs or of one. */
struct shared_rq {
    pthread_mutex_t lock;
    uint64_t ring; /* offset of struct receive[size] */
    uint32_t size, max;
    _Atomic uint64_t tail, head;
};

/* A queue pair as all processes see it. A sender holds the lock of the receiver's queue pair while it
 * carries a message there, so that neither this nor its queues are destroyed meanwhile. */
struct shared_qp {
    _Atomic uint32_t has_lock; /* it has been used before */
    pthread_mutex_t lock;
    _Atomic uint32_t state; /* enum ibv_qp_state; 0 (RESET) also if it is not used */
    _Atomic uint32_t process;
    _Atomic uint32_t peer; /* the number of the queue pair that it is connected to */
    uint64_t recv_cq, rq;  /* offsets */
    uint32_t pd;
    uint32_t node, device, port; /* where it is */
    uint32_t lids, gids;         /* of the port when it was connected */
    uint16_t lid, pkey;
    bool needs_grh;
    bool datagrams; /* it has no connection */
    uint32_t qkey;
    union ibv_gid gid;
    char network[NAME_BYTES];
};

/* A registration, by which other processes find the memory. */
struct shared_mr {
    _Atomic uint32_t key; /* 0: not used */
    uint32_t process, pd;
    int32_t fd; /* of the owner's, of a file in memory; -1: none, it is copied by the kernel */
    uint32_t access;
    uint64_t addr, length, iova;
    uint64_t offset; /* of addr in the file */
};

/* Changes of a port since the start. */
struct shared_port {
    _Atomic uint64_t down_until_ns; /* 0: it was never down */
    _Atomic uint32_t down_by;       /* the process whose fault that is; it is over when that ends */
    _Atomic uint32_t lids, gids;    /* how often they have changed */
    _Atomic uint64_t busy_until_ns; /* by then it has sent what it has been given, at its rate */
};

struct state {
    _Atomic uint64_t magic;
    pthread_mutex_t lock; /* for what is made and freed */
    uint32_t processes, pds;
    uint32_t next_mr, next_qp, mr_generation;
    uint64_t cqs;          /* made */
    _Atomic uint64_t rnrs; /* messages that found no receive */
    uint64_t end;          /* of what has been taken */
    uint64_t free_list[64];
    struct shared_process process[PROCESSES_MOST];
    _Atomic uint32_t port_changes; /* 0: no port has ever changed */
    struct shared_port ports[NODES_MOST][DEVICES_MOST][PORTS_MOST];
    struct shared_mr mrs[MRS_MOST];
    struct shared_qp qps[QPS_MOST];
};

struct fabric {
    struct state *state;
    uint32_t process, node;
    struct personality personality;
    bool used;      /* this process has made a queue, or registered memory */
    bool fork_safe; /* ibv_fork_init() was called, on an old kernel */
};
extern struct fabric fabric;

/* Joins the fabric that the environment names. Returns false after a message. */
bool fabric_join(void);
/* Returns the number of this process, among those that have opened a device. */
uint32_t fabric_process(void);
static inline void *fabric_at(uint64_t offset)
{
    return (unsigned char *)fabric.state + offset;
}
static inline uint64_t fabric_offset(const void *at)
{
    return (uint64_t)((const unsigned char *)at - (const unsigned char *)fabric.state);
}
/* Takes zeroed memory that all processes share. Returns NULL if there is none. */
void *fabric_take(size_t bytes);
void fabric_give(void *memory, size_t bytes);
void fabric_lock_init(pthread_mutex_t *lock);
/* A process may be killed while it holds a lock. What a lock protects is consistent at any time, since
 * the next owner goes on without repair. */
void fabric_lock(pthread_mutex_t *lock);
void fabric_unlock(pthread_mutex_t *lock);
/* One thread of a process at a time is in its devices. */
void fabric_enter(void);
void fabric_leave(void);
/* In a child that was forked between the two. */
void fabric_only_thread(void);
/* True if that process still runs. */
bool fabric_lives(uint32_t process);
uint64_t fabric_now_ns(void);

/* ------------------------------------------------------------------ node.c -------------------- */

/* From now on, children are dealt out to nodes. */
void fabric_nodes_begin(void);

/* Returns the number of the network interface of a GID; 0: it has none. */
unsigned fabric_interface_of(const struct fabric_gid *gid);

/* ------------------------------------------------------------------ device.c ------------------ */

/* Reads the devices of fabric.node. Returns false after a message. */
bool fabric_devices_read(void);

struct context {
    struct ibv_context verbs;
    const struct fabric_device *device;
    int event_fd; /* the writing end of async_fd */
    unsigned lost_events;
    struct context *next;
};

struct ah {
    struct ibv_ah verbs;
    struct ibv_ah_attr attr;
};

struct pd {
    struct ibv_pd verbs;
    uint32_t number;
};

static inline const struct fabric_device *fabric_device_of(const struct ibv_context *c)
{
    return ((const struct context *)c)->device;
}
void *fabric_new(size_t bytes);
/* The verbs objects of this process: contexts, domains, handles, regions, channels, queues and queue
 * pairs. For a program that looks for what is left (dlsym). */
extern atomic_int fabric_held;
__attribute__((visibility("default"))) int fabric_objects(void);
static inline void fabric_made(void)
{
    atomic_fetch_add(&fabric_held, 1);
}
static inline void fabric_gone(void)
{
    atomic_fetch_sub(&fabric_held, 1);
}

/* ------------------------------------------------------------------ ports.c, faults.c --------- */

struct qp;

/* Return the changes of a port of this node, and of the port of a queue pair. */
struct shared_port *fabric_shared_port(const struct fabric_device *d, unsigned port);
struct shared_port *fabric_port_of_qp(const struct shared_qp *q);
bool fabric_is_down(const struct shared_port *p);
/* The port of a queue pair goes down for so long (0: for ever), or its LID or its addresses change. */
void fabric_port_changes(struct qp *q, enum ibv_event_type type, unsigned ms);
/* Reports what has happened to the ports of this process's devices since the last look. */
void fabric_look_at_ports(void);
void fabric_opened(struct context *c);
void fabric_closed(struct context *c);
void fabric_event(struct ibv_context *c, enum ibv_event_type type, unsigned port);

/* Reads FABRIC_FAULTS; child: number of this process among those that its parent has forked, -1: it is the
 * first. Returns false after a message. */
bool fabric_faults_read(int child);
/* Returns the error number with which this call fails, which is errno then; 0: it does not. */
int fabric_fault_call(const char *name);
/* A request is posted. Returns the status with which it fails, or IBV_WC_SUCCESS. *lost: it is sent
 * again later. */
enum ibv_wc_status fabric_fault_post(struct qp *q, bool *lost);
/* A message is taken from a completion queue. Returns its status. */
enum ibv_wc_status fabric_fault_receive(void);

/* ------------------------------------------------------------------ memory.c ------------------ */

struct remote {
    unsigned char *at;
    int32_t pid; /* at is an address in that process; 0: in this one */
};
/* Finds memory that is registered with this key. Returns false if key, range, protection domain or access
 * do not fit. */
bool fabric_reach(uint32_t pd, uint32_t key, uint64_t addr, size_t length, unsigned access,
                  struct remote *out);
/* Unmaps all memory of other processes. */
void fabric_unmap_all(void);
/* Copies to or from there. Returns false if that process has ended. */
bool fabric_write(struct remote to, const void *from, size_t length);
bool fabric_read(struct remote from, void *to, size_t length);

/* ------------------------------------------------------------------ queues.c ------------------ */

struct cq {
    struct ibv_cq verbs;
    struct shared_cq *shared;
};

struct rq {
    struct shared_rq *shared;
};

struct channel {
    struct ibv_comp_channel verbs;
    int write_fd;
};

struct srq {
    struct ibv_srq verbs;
    struct rq rq;
};

/* Closes the channels of other processes. */
void fabric_close_bells(void);
void fabric_complete(struct shared_cq *q, const struct cqe *entry);
bool fabric_rq_new(struct rq *rq, unsigned max);
void fabric_rq_free(struct rq *rq);
int fabric_rq_post(struct rq *rq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
/* Takes a receive from a queue. Returns false if it is empty. */
bool fabric_rq_take(struct shared_rq *q, struct receive *out);
int fabric_poll_cq(struct ibv_cq *cq, int entries, struct ibv_wc *wc);
int fabric_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int fabric_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/* ------------------------------------------------------------------ path.c -------------------- */

/* Checks an address vector, as a device does when a queue pair is taken to RTR. Returns 0 or an error
 * number. */
int fabric_path_check(const struct fabric_device *d, const struct ibv_qp_attr *attr);
/* True if what the queue pair sends gets to the other one. */
bool fabric_path_leads(const struct fabric_device *d, const struct ibv_qp_attr *attr,
                       const struct shared_qp *to);

/* ------------------------------------------------------------------ carry.c, qp.c ------------- */

#define SGES_MOST 8

/* A request in a send queue. */
struct request {
    uint64_t wr_id, remote_addr;
    uint32_t rkey, imm, flags, opcode;
    unsigned n_sges;
    struct ibv_sge sges[SGES_MOST];
    unsigned char *copy; /* of inlined data */
    uint32_t copy_bytes;
    uint64_t ready_ns; /* it is carried then; 0: at once */
};

struct qp {
    struct ibv_qp verbs;
    const struct fabric_device *device;
    struct shared_qp *shared;
    struct rq rq; /* without a shared one */
    struct ibv_qp_attr attr;
    struct request *ring; /* [depth] what has been posted and not carried */
    unsigned char *copies;
    unsigned depth, max_inline;
    bool all_signalled;
    uint32_t posted, carried; /* positions */
    uint32_t outstanding;     /* not known to be complete by the program */
    uint32_t unsignalled;     /* of them, the last so many without a completion to come */
    uint64_t waits_since_ns;  /* the first request has waited since then; 0: it has not */
    uint64_t next_look_ns;    /* at the process of the peer */
    uint64_t lost_until_ns;   /* the first request is sent again then; 0: it was not lost */
    struct qp *next_waiting;
    bool waiting;
};

int fabric_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int fabric_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
size_t fabric_length(const struct request *r);
/* Copies the data of a request to a place. */
enum ibv_wc_status fabric_gather(const struct qp *q, const struct request *r, struct remote to);
/* Sends a request of a queue pair without a connection, or loses it. */
void fabric_datagram(struct qp *q, const struct request *r, const struct ibv_send_wr *wr);
/* Carries what waits in queue pairs that complete to any queue of this process. */
void fabric_go_on(void);
/* Returns the time when the next request is ready; UINT64_MAX: none is waited for. */
uint64_t fabric_next_ns(void);
/* Returns the time when a request of so many bytes has been sent; 0: at once. */
uint64_t fabric_pace(const struct qp *q, size_t bytes);
/* Takes a queue pair out of the list of those that wait. */
void fabric_forget(struct qp *qp);
/* The program knows that so many requests are complete. */
void fabric_freed(uint32_t qp_num, uint32_t requests);
struct qp *fabric_qp(uint32_t number);
/* Takes a queue pair to the error state, and completes all that it has. */
void fabric_fail(struct qp *qp, enum ibv_wc_status first);

#endif
