/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verbs transport: notified writes are RDMA writes with immediate on RC queue pairs.
 *
 *   device.c, device_rule.c, near.c   which device, port and GID
 *   verbs.c       opening, windows, closing     data.c    the hot path: put and progress
 *   memory.c      registered memory             wait.c    giving up the core
 *   connection.c  queue pairs, and receives     health.c  liveness, failures, control words
 *   room.c        how queues are shared         raw.c     the bare exchange it is measured against
 *   wire.c        connecting peers, either way  cm.c      wiring by librdmacm
 *   direct.c      wiring by offers              imm.h     what the immediate data means
 *   user_memory.c memory of the user's          events.c  what the device reports
 *
 * Each rank has one completion queue for all, and one shared receive queue. A receive holds no
 * memory, it only lets one notification in; there are always as many as can be in flight towards
 * this rank, so a sender never finds the receiver not ready.
 */
#ifndef NCOLL_TRANSPORT_VERBS_VERBS_H
#define NCOLL_TRANSPORT_VERBS_VERBS_H

#include <infiniband/verbs.h>
#include <string.h>

#include "transport/process.h"
#include "transport/shm/segment.h"
#include "transport/transport.h"
#include "transport/verbs/device.h"
#include "transport/verbs/imm.h"
#include "transport/verbs/room.h"

/* A send queue: powers of two; the least is what one of very many connections gets. Some of it is
 * kept free by put(), for pings and control words. */
#define SEND_DEPTH   64u
#define SEND_LEAST   16u
#define SEND_RESERVE 4u
/* Parts of a send queue in which one request reports its completion, which frees all before it. */
#define SIGNALS 4u
/* Room in all send queues together: so much, or so much for each rank of a large job. */
#define SENDS_MAX      16384u
#define SENDS_PER_RANK 32u
/* A whole slot but its flag, if the device can. */
#define INLINE_WISH (SLOT_BYTES - (unsigned)sizeof(uint64_t))

/* Cards that a connection remembers. */
#define CARDS 16u

/* Receives that have been used are posted again so many at a time. */
#define RECEIVE_BATCH 16u
/* Messages that a peer may have on their way to this rank, in all windows together; the least is
 * for one of very many. After a quarter of them, rounded up, it is told that they have come. */
#define UNCONFIRMED_MAX   256u
#define UNCONFIRMED_LEAST 7u
/* What a peer can send besides messages: hello, a failure, goodbye; two of the bare exchange; that
 * a quarter of what this rank may have on its way there has come, for each of the quarters. */
#define WORDS_IN_FLIGHT 9u
/* Two megabytes of them; and as many as the usual device can have in one queue. */
#define RECEIVES_MAX 32768u
/* Completions that the queue has room for at first; it grows with the connections. */
#define CQ_DEPTH   2048u
#define POLL_BATCH 16

/*
 * Time until a peer that does not answer is given up: (ACK_RETRIES + 1) * 4.096 us * 2^ACK_TIMEOUT
 * = 0.94 s. Shorter ones fail under emulation without a reason; 7 retries are endless in software
 * RoCE.
 */
#define ACK_TIMEOUT 15
#define ACK_RETRIES 6
/* A receiver that is not ready does not exist (see connection.c); if it did, it would be waited
 * for, and counted. The code 12 stands for 0.64 ms. */
#define RNR_RETRIES 7 /* endless */
#define RNR_TIMER   12

/* A position, written over and over without a notification: whoever reads it checks that it is
 * whole. */
struct position_note {
    struct position position;
    uint64_t number; /* of those to this peer: what is told again is news */
    uint64_t check;  /* of what is before it; 0: there is none */
};

/* Where a peer writes words that do not fit the immediate. One of each kind in the life of a
 * connection, so none overwrites another; but for the position. */
struct inbox {
    _Alignas(64) struct control failure, left;
    _Alignas(64) _Atomic uint64_t position[sizeof(struct position_note) / sizeof(uint64_t)];
    uint64_t raw; /* target of the bare exchange */
};

/* A window of a peer, as this rank reaches it. */
struct view {
    uint64_t addr; /* of the slots; what else there is follows them, see window.h */
    uint32_t rkey;
    uint32_t id;       /* the peer's number for it */
    uint32_t depth;    /* messages that the peer can have in flight to our window of this number */
    bool flushing;     /* what was written here so far is being waited for, */
    uint32_t flush_to; /* up to this position in the send queue */
};

/* What goes into the slot of a long message. */
struct head {
    struct card card;
    uint64_t where; /* enum where */
};

enum connection_state {
    CONNECTION_OFFERED, /* has a queue pair */
    CONNECTION_MEETING, /* the peer is known; not yet whether it can be written to */
    CONNECTION_READY,
    CONNECTION_DEAD, /* reported */
};

struct connection {
    struct endpoint endpoint;
    enum connection_state state;
    struct ibv_qp *qp;
    /* Positions in the send queue, counted from 0 for ever: posted; known to be completed; of the
     * last one that will report. */
    uint32_t posted, completed, signalled;
    uint32_t long_posted;  /* of the last one that has its payload in a window, or the user's */
    uint32_t users_posted; /* of the last one that has it in the user's memory */
    /* Messages: sent; known to have come there; come here; the peer has been told of. */
    uint32_t sent, confirmed, arrived, told_arrived;
    uint32_t may_send;      /* that are not confirmed: what the peer allows */
    uint32_t allowed;       /* what this rank allows the peer, */
    uint32_t confirm_every; /* and after how many it is told that they have come */
    uint32_t depth;         /* of all views */
    uint32_t index;         /* this rank's number for it */
    uint32_t send_depth, signal_every;
    uint32_t max_inline;
    bool to_confirm, undrained; /* it is in these lists: */
    struct connection *next_to_confirm, *next_undrained;
    struct view *views; /* [n_views], by window id */
    unsigned n_views;

    unsigned char *bounce; /* [send_depth][SLOT_BYTES], for what cannot be inlined */
    uint32_t bounce_lkey;
    struct inbox *inbox;
    uint32_t inbox_rkey;
    uint64_t peer_inbox;
    uint32_t peer_inbox_rkey;

    uint32_t psn;
    struct verbs_description *peer; /* NULL: not accepted yet */
    uint32_t peer_qpn, peer_psn;
    uint64_t hello_ns; /* direct wiring: when to send it, UINT64_MAX: has been sent */
    struct cm_link *link;

    bool left;         /* the peer said goodbye */
    bool said_goodbye; /* to it */
    bool told;         /* it has been told of a failure */
    bool watched;      /* process is valid */
    struct process process;
    uint32_t ping;        /* position of the last one */
    uint32_t seen_alive;  /* completed, at the last look */
    uint64_t positions;   /* told */
    uint64_t seen_check;  /* of the position that was read last */
    uint64_t raw_arrived; /* messages of the bare exchange */
    uint64_t raw_taken;
    /* By signature: what the peer has been told to keep, and what it told us to: see data.c. */
    struct head heads_there[CARDS], heads_here[CARDS];
};

struct registered {
    unsigned char *base;
    bool borrowed; /* the memory is another one's */
    size_t bytes, used;
    struct ibv_mr *mr;
    struct registered *next;
};

struct verbs_memory {
    struct memory memory;
    struct ibv_mr *mr;
    struct segment segment; /* zeroed: the memory is the user's own */
};

struct verbs_window {
    struct window window;
    struct registered memory;
    struct verbs_window *next;
};

/* What a rank describes. Wire format between ranks of one build. */
struct verbs_description {
    uint64_t node;
    uint64_t pid_namespace;
    int32_t pid;
    uint16_t lid;
    uint8_t mtu, link_layer;
    uint8_t gid[16];
    uint16_t cm_port;  /* 0: wired directly */
    uint16_t gid_kind; /* enum gid_kind */
    uint16_t reserved[2];
};

/* What it offers a peer for a window. */
struct verbs_offer {
    uint64_t addr, inbox;
    uint32_t rkey, inbox_rkey;
    uint32_t qpn, psn;
    uint32_t allowed;     /* messages that the peer may have on their way */
    uint16_t id, offered; /* 1, so that no offer is all 0 */
    int32_t rank;         /* whom it is for */
};
_Static_assert(sizeof(struct verbs_offer) <= OFFER_BYTES, "it has to fit");
_Static_assert(WINDOWS_MAX <= UINT16_MAX, "it has to fit");

struct verbs;

/* A way to connect queue pairs. */
struct wiring_ops {
    const char *name;
    int (*open)(struct verbs *v);
    void (*describe)(const struct verbs *v, struct verbs_description *d);
    /* The peer's entry is in the connection. Never blocks. */
    int (*connect)(struct verbs *v, struct connection *c);
    /* Goes on with what is not ready. NCOLL_OK, or an error. */
    int (*advance)(struct verbs *v);
    /* optional. The peer of this one, which has been connected, has connected it as well. */
    void (*met)(struct connection *c);
    void (*disconnect)(struct connection *c);
    void (*close)(struct verbs *v);
};
extern const struct wiring_ops ncoll__wiring_direct;
#ifdef NCOLL_HAVE_RDMACM
extern const struct wiring_ops ncoll__wiring_cm;
#endif

struct verbs {
    struct transport transport;
    /* Hot. */
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    struct verbs_window **windows; /* [n_windows], by id */
    unsigned n_windows;
    unsigned receives_used;      /* completed and not posted again */
    bool armed;                  /* the queue will send an event, or has */
    unsigned events_unacked;     /* see wait.c */
    uint64_t completions;        /* all that were polled */
    struct connection **by_rank; /* world */
    struct connection **connections;
    unsigned n_connections, connections_capacity;
    struct connection **by_qp; /* [qp_mask + 1], from the place that the number's low bits say on */
    unsigned qp_mask;
    struct connection *to_confirm; /* whose peers are to be told what has come */
    struct connection *undrained;  /* with long messages that the device may not have read yet */

    struct transport_config config;
    struct candidate where;
    struct ibv_context *device;
    struct ibv_port_attr port;
    struct ibv_device_attr limits;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct room receive_room, send_room; /* what connections share */
    unsigned receives;                   /* posted, used ones included */
    unsigned receives_need;              /* the most that can be in flight towards this rank */
    struct ibv_recv_wr refill[RECEIVE_BATCH];
    struct registered *pieces;    /* small things; see memory.c */
    struct verbs_window *retired; /* destroyed, but a peer may still write there */
    const struct wiring_ops *wiring;
    struct cm *cm;

    uint64_t sleeps;
    uint64_t rnr_at_open;
    uint64_t next_look_ns, next_ping_ns;
    unsigned next_look; /* at the process of this connection, and those after it */
};

static inline struct verbs *verbs_of(struct transport *t)
{
    return (struct verbs *)t;
}
static inline uint64_t verbs_now_ns(const struct verbs *v)
{
    return v->config.events.now_ns(v->config.events.arg);
}

/* memory.c */
/* A zeroed, registered region that peers may write. NCOLL_OK or an error, reported. */
int ncoll__memory_register(struct verbs *v, size_t bytes, struct registered *out);
/* The same of memory that is there. */
int ncoll__memory_register_at(struct verbs *v, void *base, size_t bytes, struct registered *out);
void ncoll__memory_release(struct registered *r);
/* A piece of such a region that lives as long as the transport. */
int ncoll__memory_piece(struct verbs *v, size_t bytes, void **out, struct ibv_mr **mr);
/* The error of a verb that gives errno: a limit, no memory, or what else it was. */
int ncoll__verb_failed(const struct verbs *v, const char *what, size_t bytes, int error);
/* The error of malloc() and the like. */
int ncoll__verbs_no_memory(const struct verbs *v, const char *what);

/* verbs.c */
/* A window whose memory, and scratch right behind it, is there already, zeroed. */
int ncoll__verbs_window_over(struct transport *t, const struct window_shape *shape, void *base,
                             struct window **out);

/* user_memory.c */
int ncoll__verbs_memory_allocate(struct transport *t, size_t bytes, struct memory **out);
int ncoll__verbs_memory_register(struct transport *t, void *base, size_t bytes,
                                 struct memory **out);
void ncoll__verbs_memory_release(struct transport *t, struct memory *m);
int ncoll__verbs_invite(struct transport *t, struct endpoint *to, const struct window *w,
                        unsigned box, const struct memory *m, const void *out,
                        struct invitation *invitation);

/* connection.c */
int ncoll__connection_create(struct verbs *v, int rank, struct connection **out);
void ncoll__connection_destroy(struct verbs *v, struct connection *c);
/* Room for a view of window `id`; NULL: no memory, reported. */
struct view *ncoll__connection_view(struct verbs *v, struct connection *c, unsigned id);
/* Posts again what has been used. */
void ncoll__receives_refill(struct verbs *v);
/* Makes room for so many messages from the peer to window `id`, at most. NCOLL_OK or an error. */
int ncoll__connection_deepen(struct verbs *v, struct connection *c, unsigned id, unsigned depth);
/* The window is no more: nobody sends messages to it. */
void ncoll__connections_forget(struct verbs *v, unsigned id);
/* NULL: there is none with this queue pair. */
struct connection *ncoll__connection_of(const struct verbs *v, uint32_t qp_num);

/* wire.c */
int ncoll__verbs_offer(struct transport *t, struct window *w, int peer, unsigned depth,
                       struct offer *offer);
int ncoll__verbs_accept(struct transport *t, struct window *w, int peer, const void *peer_desc,
                        size_t peer_desc_len, const struct offer *offer);
int ncoll__verbs_ready(struct transport *t, const int *peers, unsigned n_peers);
void ncoll__verbs_met(struct transport *t, int peer);
struct endpoint *ncoll__verbs_endpoint(struct transport *t, int rank);

/* direct.c: to INIT, from any state; to RTS, from INIT */
int ncoll__direct_reset(struct verbs *v, struct connection *c);
/* A send of hello has failed: the peer was not there yet. False: the connection is broken. */
bool ncoll__direct_again(struct verbs *v, struct connection *c, enum ibv_wc_status status);

/* data.c */
int ncoll__verbs_put(struct transport *t, const struct put *put);
int ncoll__verbs_credit(struct transport *t, struct endpoint *to, const struct window *w,
                        uint64_t epoch);
bool ncoll__verbs_drained(struct transport *t, bool users_only);
bool ncoll__verbs_arrived(struct transport *t, struct window *w);
void ncoll__verbs_progress(struct transport *t);
void ncoll__verbs_handle(struct verbs *v, const struct ibv_wc *wc);
/* Posts a chain of `count` requests, its first and last given. False: the connection is lost. */
bool ncoll__verbs_post(struct verbs *v, struct connection *c, struct ibv_send_wr *first,
                       struct ibv_send_wr *last, unsigned count, bool signalled);
/* Sends a word of a kind; len_bytes of it are written to `offset` in the peer's inbox first. */
bool ncoll__verbs_word(struct verbs *v, struct connection *c, enum imm_word kind, const void *word,
                       size_t len_bytes, size_t offset);

static inline uint32_t send_room(const struct connection *c)
{
    return c->send_depth - (c->posted - c->completed);
}

/* Takes a short message along with the request, or from a copy whose place in the ring is free when
 * its place in the queue is. */
static inline void take_along(const struct connection *c, struct ibv_send_wr *wr, size_t len_bytes)
{
    if (__builtin_expect(len_bytes <= c->max_inline, 1)) {
        wr->send_flags |= IBV_SEND_INLINE;
        return;
    }
    unsigned char *copy = c->bounce + (c->posted % c->send_depth) * SLOT_BYTES, *end = copy;
    for (int i = 0; i < wr->num_sge; i++)
        end = (unsigned char *)mempcpy(end, (void *)(uintptr_t)wr->sg_list[i].addr,
                                       wr->sg_list[i].length);
    wr->sg_list[0] = (struct ibv_sge){
        .addr = (uintptr_t)copy, .length = (uint32_t)len_bytes, .lkey = c->bounce_lkey};
    wr->num_sge = 1;
}

/* wait.c */
void ncoll__verbs_wait(struct transport *t, struct window *w, const struct awaited *awaited,
                       unsigned n, unsigned round, int64_t timeout_ns);
/* Blocks until a completion may have come, or another file can be read: -1, none. */
void ncoll__verbs_sleep(struct verbs *v, int other_fd, int64_t timeout_ns);
void ncoll__verbs_ack_events(struct verbs *v);

/* health.c */
void ncoll__verbs_check(struct transport *t, int suspect);
void ncoll__verbs_control(struct transport *t, struct endpoint *to, const struct control *message);
bool ncoll__verbs_tell(struct transport *t, struct endpoint *to, const struct position *position);
void ncoll__verbs_word_came(struct verbs *v, struct connection *c, uint32_t imm);
/* A connection broke: reports it, once. */
void ncoll__verbs_lost(struct verbs *v, struct connection *c, const char *why);
/* All are broken, by what happened to this rank. */
void ncoll__verbs_all_lost(struct verbs *v, const char *why);
/* Says goodbye and waits until what was sent has arrived. */
void ncoll__verbs_leave(struct verbs *v);
uint64_t ncoll__verbs_rnr(const struct verbs *v);

/* events.c */
void ncoll__verbs_read_events(struct verbs *v);
/* " (this rank's own port is down)" into text, or nothing. Returns text. */
const char *ncoll__verbs_port_text(const struct verbs *v, char *text, size_t size);

/* raw.c */
int ncoll__verbs_raw_exchange(struct transport *t, struct window *w, struct endpoint *peer,
                              unsigned writes, size_t len_bytes, unsigned iterations,
                              uint64_t *samples_ns);

#endif
