/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verbs transport: notified writes are RDMA writes with immediate on RC queue pairs.
 *
 *   device.c, device_rule.c, near.c   the choice of device, port and GID
 *   verbs.c       opening and closing           data.c    the hot path: put and progress
 *   window.c      windows, and their keys       words.c   credits, confirmations, keys
 *   extent.c      their registered part         wait.c    giving up the core
 *   memory.c      registered memory             lost.c    lost connections
 *   connection.c  queue pairs                   health.c  liveness, failures, control words
 *   receives.c    receives, and completions     raw.c     the bare exchange, for comparison
 *   wire.c        connecting peers, both ways   cm.c      wiring by librdmacm
 *   direct.c      wiring by offers              imm.h     the format of the immediate data
 *   user_memory.c the user's memory             events.c  events of the device itself
 *   rail.c        connecting second cards       rail_data.c  messages by two cards
 *   rail_card.c   the second card of a rank     room.c    dividing queues among connections
 *
 * Each rank has one completion queue for all connections, and one shared receive queue (SRQ), or a
 * few in a large job. On a device without SRQs each connection has receives of its own. A receive
 * has no memory; it only admits one notification. There are always as many receives as messages can
 * be in flight to this rank, so a sender never finds the receiver not ready.
 */
#ifndef NCOLL_TRANSPORT_VERBS_VERBS_H
#define NCOLL_TRANSPORT_VERBS_VERBS_H

#include <infiniband/verbs.h>
#include <string.h>

#include "transport/process.h"
#include "transport/shm/segment.h"
#include "transport/transport.h"
#include "transport/verbs/device.h"
#include "transport/verbs/extent.h"
#include "transport/verbs/imm.h"
#include "transport/verbs/room.h"

/* The length of a send queue, a power of two: the usual one, and the least one, for very many
 * connections. put() leaves SEND_RESERVE entries free, for pings and control words. */
#define SEND_DEPTH   64u
#define SEND_LEAST   16u
#define SEND_RESERVE 4u
/* A send queue is divided into this many parts. One request of each part reports its completion,
 * which frees all entries before it. */
#define SIGNALS 4u
/* The limit of all send queues together: SENDS_MAX entries, in a large job SENDS_PER_RANK for each
 * rank. */
#define SENDS_MAX      16384u
#define SENDS_PER_RANK 32u
/* The longest message to inline, if the device can: a whole slot except its flag. */
#define INLINE_WISH (SLOT_BYTES - (unsigned)sizeof(uint64_t))

/* The absences after which a rank blocks (long_absence_ns in struct transport). Blocking and being
 * woken takes four system calls. With a software device the kernel moves the messages of all ranks
 * on the cores of the ranks, so even a usual yield may last long. */
#define VERBS_LONG_ABSENCE_NS 1000000
#define SOFT_LONG_ABSENCE_NS  3000000

/* The number of signatures that a connection remembers. */
#define SIGNATURES 16u

/* Receives that have been used are posted again in batches of this size. */
#define RECEIVE_BATCH 16u
/* The number of messages that a peer may have in flight to this rank, in all windows together: the
 * most, and the least, if there are very many peers. When a quarter of that number, rounded up, has
 * arrived, this rank confirms the messages. */
#define UNCONFIRMED_MAX   256u
#define UNCONFIRMED_LEAST 7u
/* Control words that a peer can have in flight in addition to messages: a failure, its leaving, two
 * of the bare exchange, and one for each quarter of this rank's messages that it confirms. */
#define WORDS_IN_FLIGHT 8u
/* Messages that a peer can have in flight besides those of schedules: keys, an answer to keys, two
 * more for a credit that is far ahead of the one before, and three words about the second cards. */
#define MORE_IN_FLIGHT 7u
/* The limit of all receives of a rank, without a batch for each further queue: as many as a usual
 * device can have in one queue. */
#define RECEIVES_MAX 32768u
/* A rank may use several shared receive queues if the device has at least this many. All ranks that
 * use the device share them. */
#define SRQS_MANY 1024
/* The length of the completion queue at first; it grows with the connections. Drivers round it up
 * to a power of two, mlx5 after it has added one. */
#define CQ_DEPTH   2047u
#define POLL_BATCH 16

/* A receiver is always ready (see connection.c). If it were not, the sender would retry without
 * end, and ncoll_stats would count this. The timer code 12 stands for 0.64 ms. */
#define RNR_RETRIES 7 /* no limit */
#define RNR_TIMER   12

/* A position in an inbox. The sender overwrites it again and again without a notification, so the
 * reader checks that it is complete. */
struct position_note {
    struct position position;
    uint64_t number; /* number among the positions to this peer; a new number means a new message */
    uint64_t check;  /* hash of all fields before it; 0: the inbox has no position yet */
};

/* The keys of a window: see words.c. */
struct note {
    /* the first stretch of the window that the receiver of this note has for the same group: see
     * imm.h */
    uint32_t stretch;
    uint32_t slots, slots_rkey;
    uint32_t bulk_rkeys[EPOCHS];
    uint32_t rail_bulk_rkeys[EPOCHS]; /* of the second card; 0: it has none */
    uint64_t bulk_bytes;              /* of each epoch */
};

/* The description that a rank publishes: wire format between ranks of one build. */
struct verbs_description {
    uint64_t node;
    uint64_t pid_namespace;
    int32_t pid;
    uint16_t lid;
    uint8_t mtu, link_layer;
    uint8_t gid[16];
    uint16_t cm_port;  /* 0: direct wiring */
    uint16_t gid_kind; /* enum gid_kind */
    uint16_t pkey;     /* 0: not known */
    uint16_t needs_grh;
};

/* The words by which two ranks connect their second cards: see rail.h. RAIL_OFFERS and RAIL_ACCEPTS
 * come with a note, which describes the queue pair and the port of the sender's second card. */
enum rail_word {
    RAIL_NOTHING,
    RAIL_ASKS,
    RAIL_OFFERS,
    RAIL_ACCEPTS,
    RAIL_READY,
    RAIL_CLOSES,
};
struct rail_note {
    uint32_t qpn, psn;
    uint32_t prefix_bits; /* length of the subnet prefix in the port's GID; 0: not known */
    struct verbs_description port;
};

/* The memory where a peer writes words that do not fit into immediate data. Each kind of word that
 * is sent once in the life of a connection has a place of its own, so that no word overwrites
 * another. Keys are overwritten when they have been read, positions of each kind at any time. */
enum position_place { PLACE_OWN, PLACE_PASSED_ON, PLACE_ANSWER, POSITION_PLACES };
struct inbox {
    _Alignas(64) struct control failure;
    struct note keys;
    struct rail_note rail;
    struct farewell left;
    _Alignas(64) _Atomic uint64_t
        positions[POSITION_PLACES][sizeof(struct position_note) / sizeof(uint64_t)];
    uint64_t raw; /* target of the writes of raw.c */
};

/* This rank's record of a peer's window, and of the peer's use of this rank's window of the same
 * group. */
struct view {
    uint64_t addr;  /* of the slots; the other parts lie around them, see window.h; 0: not known */
    uint32_t rkey;  /* key of the slots */
    uint32_t first; /* place of the first slot, see imm.h */
    uint32_t slots; /* the peer has told the key of this many slots */
    uint32_t bulk_rkeys[EPOCHS], rail_bulk_rkeys[EPOCHS];
    size_t bulk_bytes;     /* the peer has told the keys of this many bytes of each epoch */
    unsigned rank;         /* the peer's rank in the group */
    uint64_t credited;     /* the last credit that this rank has sent to the peer */
    uint64_t early_credit; /* credit that came from the peer before its offer was accepted */
    /* the most messages that the peer can have in flight to this rank's window of the group */
    uint32_t depth;
    bool flushing;             /* arrived() waits for the completion of earlier writes, */
    uint32_t flush_to;         /* up to this position in the send queue */
    struct verbs_window *own;  /* this rank's window; NULL: this rank has not told its keys yet */
    struct window_extent told; /* the extent whose keys this rank has told the peer */
    bool admits;               /* this rank has to tell the peer the keys of a larger extent */
};

/* The contents of the slot of a long message. */
struct head {
    struct signature signature;
    uint64_t route; /* enum route */
};

enum connection_state {
    CONNECTION_OFFERED, /* it has a queue pair; the peer's offer has not been accepted yet */
    CONNECTION_MEETING, /* the peer is known, but perhaps cannot be written to yet */
    CONNECTION_READY,
    CONNECTION_DEAD, /* the end of the connection has been reported */
};

struct connection {
    struct endpoint endpoint;
    enum connection_state state;
    struct ibv_qp *qp;
    /* Positions in the send queue, counted from 0 without end: last posted; last known to be
     * completed; last one that reports its completion. */
    uint32_t posted, completed, signalled;
    uint32_t long_posted;  /* position of the last payload in a window or in the user's memory */
    uint32_t users_posted; /* position of the last payload in the user's memory */
    /* Numbers of messages: sent to the peer; confirmed by the peer; arrived from the peer;
     * confirmed to the peer. */
    uint32_t sent, confirmed, arrived, told_arrived;
    uint32_t may_send;      /* the most unconfirmed messages from this rank to the peer */
    uint32_t allowed;       /* the most unconfirmed messages from the peer to this rank */
    uint32_t confirm_every; /* number of messages after which this rank confirms them */
    uint32_t depth;         /* sum of the depths of all views */
    uint32_t index;         /* index in `connections` of struct verbs */
    uint32_t send_depth, signal_every;
    uint32_t max_inline;
    /* without a shared receive queue: receives that completed and were not posted again */
    unsigned receives_used;
    unsigned queue;            /* number of its shared receive queue */
    bool undrained, has_words; /* it is in the list `undrained`, `with_words` of struct verbs */
    struct connection *next_undrained, *next_with_words;
    /* words to send: a confirmation of messages; the keys of some view; an answer to keys */
    bool confirms, admits, owes_answer;
    bool note_on_way;   /* the peer has not answered the last keys yet */
    struct view *views; /* [n_views], by window id */
    unsigned n_views;

    unsigned char *bounce; /* [send_depth][SLOT_BYTES] copies of messages that cannot be inlined */
    uint32_t bounce_lkey;
    struct inbox *inbox;
    uint32_t inbox_rkey;
    uint64_t peer_inbox;
    uint32_t peer_inbox_rkey;

    uint32_t psn;
    struct verbs_description *peer; /* NULL: the peer's offer has not been accepted yet */
    uint32_t peer_qpn, peer_psn;
    uint64_t meeting_ns; /* when connecting began */
    bool slow;           /* a line was logged that connecting takes long */
    struct cm_link *link;
    struct rail_qp *rail; /* NULL: the second card has not been needed so far */

    bool left;         /* the peer has left in order */
    bool said_goodbye; /* this rank has told the peer that it leaves */
    bool told;         /* the peer has been told of a failure */
    bool watched;      /* `process` is valid */
    struct process process;
    uint32_t ping;                     /* position of the last ping */
    uint32_t seen_alive, seen_arrived; /* `completed` and `arrived` at the last check */
    uint64_t silent_ns; /* time without an answer, as far as this rank has checked: health.c */
    uint64_t positions; /* number of positions sent */
    uint32_t told_at[POSITION_PLACES]; /* position in the send queue of the last one of each kind */
    uint64_t seen_check[POSITION_PLACES]; /* check of the position that was read last */
    uint64_t raw_arrived;                 /* number of messages of raw.c that have arrived */
    uint64_t raw_taken;
    /* Heads of messages by digest: copies of those that the peer keeps for this rank, and those
     * that this rank keeps for the peer. See data.c. */
    struct head heads_there[SIGNATURES], heads_here[SIGNATURES];
};

struct registered {
    unsigned char *base;
    bool borrowed; /* the memory belongs to another structure */
    size_t bytes, used;
    struct ibv_mr *mr;
    struct registered *next;
};

struct verbs_memory {
    struct memory memory;
    struct ibv_mr *mr, *rail_mr; /* rail_mr NULL: not registered with the second card */
    struct segment segment;      /* zeroed: the user has provided the memory */
};

static inline const struct verbs_memory *verbs_memory_of(const struct memory *users)
{
    return users != NULL ? (const struct verbs_memory *)users->device : NULL;
}

struct verbs_window {
    struct window window;
    struct registered memory;    /* its mr is NULL: parts are registered, see `keys` */
    struct window_extent extent; /* the part that is registered */
    /* the latest keys: of advertisements and slots, and of each epoch's bulk memory and scratch */
    struct ibv_mr *slots, *bulk[EPOCHS], *scratch[EPOCHS];
    struct ibv_mr *rail_bulk[EPOCHS], *rail_scratch[EPOCHS]; /* of the second card; NULL: none */
    /* [n_slots * EPOCHS] for each slot the part of a message that has come without the other: see
     * rail_card.c; NULL: no second card */
    uint64_t *halves;
    struct ibv_mr **keys; /* [n_keys] all keys, also earlier ones */
    unsigned n_keys;
    size_t pinned_bytes; /* sum of the lengths of the first card's keys */
    unsigned first;      /* place of the first slot, see imm.h */
    struct verbs_window *next;
};

/* The offer of a window to a peer. */
struct verbs_offer {
    uint64_t addr, inbox;
    uint32_t rkey, inbox_rkey;
    uint32_t qpn, psn;
    uint32_t allowed; /* messages that the peer may have in flight */
    uint16_t stretch; /* the first stretch of the window, see imm.h */
    uint16_t offered; /* always 1, so that no offer is all 0 */
    int32_t rank;     /* the world rank that the offer is for */
    uint32_t from;    /* the rank in the group that makes the offer */
};
_Static_assert(sizeof(struct verbs_offer) <= OFFER_BYTES, "it has to fit");
_Static_assert(IMM_STRETCHES - 1 <= UINT16_MAX, "it has to fit");

struct verbs;

/* A way to connect queue pairs. */
struct wiring_ops {
    const char *name;
    int (*open)(struct verbs *v);
    void (*describe)(const struct verbs *v, struct verbs_description *d);
    /* Begins to connect a peer, whose offer is in the connection. Never blocks. */
    int (*connect)(struct verbs *v, struct connection *c);
    /* Advances connections that are not ready. Returns NCOLL_OK or an error. */
    int (*advance)(struct verbs *v);
    /* optional. Called when this rank and a peer are known to have accepted each other's offers. */
    void (*met)(struct connection *c);
    void (*disconnect)(struct connection *c);
    void (*close)(struct verbs *v);
};
extern const struct wiring_ops ncoll__wiring_direct;
#ifdef NCOLL_HAVE_RDMACM
extern const struct wiring_ops ncoll__wiring_cm;
#endif

struct receive_queue {
    struct ibv_srq *srq; /* NULL: connections have receives of their own; all count here */
    unsigned posted;     /* receives that are posted, or used and not posted again yet */
    unsigned need;       /* the most messages that can be in flight to its connections */
};

struct verbs {
    struct transport transport;
    /* used by every message */
    struct ibv_cq *cq;
    /* [n_stretches] the window that each stretch of places belongs to, see imm.h; NULL: none */
    struct verbs_window **stretches;
    unsigned n_stretches;
    /* receives that completed and were not posted again: of all queues, and of each */
    unsigned receives_used, queue_used[QUEUES_MOST];
    bool armed;                  /* `cq` has sent an event, or will send one */
    bool in_set, rail_in_set;    /* the channels are in the program's set: see arm() */
    unsigned events_unacked;     /* events of `cq` without an acknowledgement: see wait.c */
    uint64_t completions;        /* number of all polled completions */
    struct connection **by_rank; /* by world rank */
    struct connection **connections;
    unsigned n_connections, connections_capacity;
    struct connection **by_qp; /* [qp_mask + 1] hash table by the number of the queue pair */
    unsigned qp_mask;
    /* list of connections with words to send: see words.c */
    struct connection *with_words;
    /* list of connections with long messages that the device may not have read yet */
    struct connection *undrained;

    struct transport_config config;
    struct candidate where;
    unsigned local_rank; /* number of this rank among the ranks of the node */
    struct ibv_context *device;
    struct ibv_port_attr port;
    struct ibv_device_attr limits;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct rooms rooms; /* the division of the queues that connections share */
    struct receive_queue queues[QUEUES_MOST];
    unsigned n_queues; /* shared receive queues; 0: the device has none */
    struct ibv_recv_wr refill[RECEIVE_BATCH];
    struct registered *pieces;    /* small registered memory; see memory.c */
    struct verbs_window *retired; /* windows that were destroyed; a peer may still write there */
    const struct wiring_ops *wiring;
    struct cm *cm;
    struct rail *rail; /* the second card; NULL: none */
    const struct rail_calls *rail_calls;
    bool routed; /* nodes of the job are on different subnets */

    bool has_left; /* this rank has told its peers that it leaves */
    uint64_t sleeps;
    uint64_t rnr_at_open;
    uint64_t next_look_ns, last_ping_ns;
    unsigned next_look; /* the connection whose process is checked next */
};

static inline struct verbs *verbs_of(struct transport *t)
{
    return (struct verbs *)t;
}
static inline uint64_t verbs_now_ns(const struct verbs *v)
{
    return v->config.events.now_ns(v->config.events.arg);
}

/* Returns the connection of a queue pair; NULL: there is none. */
struct connection *ncoll__connection_of(const struct verbs *v, uint32_t qp_num);

static inline bool verbs_shares_receives(const struct verbs *v)
{
    return v->n_queues > 0;
}
/* True for the completion of a receive: its wr_id is the number of a receive queue. The wr_id of a
 * send is larger, see send_id(). */
static inline bool verbs_is_receive(const struct ibv_wc *wc)
{
    return wc->wr_id < QUEUES_MOST;
}
/* Notes that a receive has completed. Without shared receive queues the caller also counts it for
 * its connection. */
static inline void verbs_receive_used(struct verbs *v, const struct ibv_wc *wc)
{
    v->receives_used++;
    v->queue_used[wc->wr_id]++;
}

/* memory.c */
/* Maps zeroed memory that a forked child does not get. */
int ncoll__memory_map(struct verbs *v, size_t bytes, struct registered *out);
/* Registers existing memory. is_bulk: see ncoll__memory_access(). Returns NCOLL_OK, or an error,
 * which is reported. */
int ncoll__memory_key(const struct verbs *v, void *base, size_t bytes, bool is_bulk,
                      struct ibv_mr **out);
/* Returns the access flags of memory for messages. is_bulk: ranks read the memory only after a
 * completion has told of the data, so the device may write it in any order. */
int ncoll__memory_access(const struct verbs *v, bool is_bulk);
/* Makes a zeroed, registered region that peers may write to. Returns NCOLL_OK, or an error, which
 * is reported. */
int ncoll__memory_register(struct verbs *v, size_t bytes, struct registered *out);
void ncoll__memory_release(struct registered *r);
/* Takes a piece of a region from ncoll__memory_register(). It lives as long as the transport. */
int ncoll__memory_piece(struct verbs *v, size_t bytes, void **out, struct ibv_mr **mr);
/* Reports that a verb could not make `what`, with its errno as the cause: a limit, lack of memory,
 * or something else. bytes: the locked memory that it needs; 0: not known. */
int ncoll__verb_failed(const struct verbs *v, const char *what, size_t bytes, int error);
/* Reports lack of memory for `what`. */
int ncoll__verbs_no_memory(const struct verbs *v, const char *what);

/* window.c */
int ncoll__verbs_window_create(struct transport *t, const struct window_shape *shape,
                               struct window **out);
void ncoll__verbs_window_destroy(struct transport *t, struct window *window, bool quiet);
/* Makes a window in existing, zeroed memory at `base`, which the caller owns. */
int ncoll__verbs_window_over(struct transport *t, const struct window_shape *shape, void *base,
                             struct window **out);
int ncoll__verbs_extend(struct transport *t, struct window *window,
                        const struct window_extent *need);
/* Returns the window whose first stretch is `stretch`; NULL: there is none. */
struct verbs_window *ncoll__verbs_window_from(const struct verbs *v, unsigned stretch);
void ncoll__verbs_windows_free(struct verbs *v);

/* user_memory.c */
int ncoll__verbs_memory_allocate(struct transport *t, size_t bytes, struct memory **out);
int ncoll__verbs_memory_register(struct transport *t, void *base, size_t bytes,
                                 struct memory **out);
void ncoll__verbs_memory_release(struct transport *t, struct memory *m);
int ncoll__verbs_advertise(struct transport *t, struct endpoint *to, const struct window *w,
                           unsigned box, const struct memory *m, const void *out,
                           struct advertisement *advertisement);

/* connection.c */
int ncoll__connection_create(struct verbs *v, int rank, struct connection **out);
void ncoll__connection_destroy(struct verbs *v, struct connection *c);
/* Returns the view of window `id`, which it makes if necessary; NULL: no memory, which is
 * reported. */
struct view *ncoll__connection_view(struct verbs *v, struct connection *c, unsigned id);
/* Makes room for `depth` messages in flight from the peer to window `id`. Returns NCOLL_OK or an
 * error. */
int ncoll__connection_deepen(struct verbs *v, struct connection *c, unsigned id, unsigned depth);
/* Forgets the peers' windows of a freed group. quiet: no message for the group will come any more,
 * so the room for these messages is given back, too. */
void ncoll__connections_forget(struct verbs *v, unsigned id, bool quiet);

/* receives.c */
/* Posts used receives again. */
void ncoll__receives_refill(struct verbs *v);
/* Returns the length of a connection's own receive queue, on a device without shared ones. A batch
 * is added, since that many used receives may wait to be posted again. */
unsigned ncoll__receives_own(const struct connection *c);
/* Makes another shared receive queue, with room for `places` messages. Returns NCOLL_OK or an
 * error. */
int ncoll__receives_queue(struct verbs *v, unsigned places);
/* Posts receives in addition to those that are posted, for `more` further messages in flight to a
 * connection. */
int ncoll__receives_grow(struct verbs *v, const struct connection *c, unsigned more);
/* Posts the receives of a connection whose queue pair has come to INIT, on a device without shared
 * receive queues. Returns NCOLL_OK or an error. */
int ncoll__receives_begin(struct verbs *v, struct connection *c);

/* wire.c */
bool ncoll__verbs_has_room(struct transport *t, const int *peers, unsigned n_peers);
/* Returns the most connections that this rank can have; called when it has none yet. */
unsigned ncoll__verbs_peers_most(const struct verbs *v);
int ncoll__verbs_offer(struct transport *t, struct window *w, int peer, unsigned depth,
                       struct offer *offer);
int ncoll__verbs_accept(struct transport *t, struct window *w, int peer, const void *peer_desc,
                        size_t peer_desc_len, const struct offer *offer);
int ncoll__verbs_ready(struct transport *t, const int *peers, unsigned n_peers);
void ncoll__verbs_met(struct transport *t, int peer);
struct endpoint *ncoll__verbs_endpoint(struct transport *t, int rank);

/* Returns the MTU of a port, or the one that the user has set, if that is smaller. */
enum ibv_mtu ncoll__verbs_mtu(const struct verbs *v, const struct ibv_port_attr *port);

/* direct.c */
/* The two ends of a queue pair's connection. */
struct qp_ends {
    struct ibv_qp *qp;
    const struct candidate *where; /* this rank's port */
    const struct ibv_port_attr *port;
    uint32_t psn;
    const struct verbs_description *peer; /* not used to get to INIT */
    uint32_t peer_qpn, peer_psn;
};
/* Take a queue pair to INIT, then to RTR, where it receives, then to RTS. Return 0 or errno. */
int ncoll__qp_to_init(const struct qp_ends *ends);
int ncoll__qp_to_rtr(const struct verbs *v, const struct qp_ends *ends);
int ncoll__qp_to_rts(const struct verbs *v, const struct qp_ends *ends);

/* Writes both ends of a connection, as in "soft0 port 1, 10.0.0.1, to 10.0.0.2". Returns text. */
#define PATH_TEXT 144
const char *ncoll__verbs_path_text(const struct verbs *v, const struct connection *c,
                                   char text[PATH_TEXT]);

/* data.c */
int ncoll__verbs_put(struct transport *t, const struct put *put);
bool ncoll__verbs_drained(struct transport *t, bool users_only);
bool ncoll__verbs_arrived(struct transport *t, struct window *w);
/* Returns the write of the bytes [from, to) of a long message's payload; sge: memory for it. */
struct ibv_send_wr ncoll__verbs_payload(const struct view *view, const struct put *put, size_t from,
                                        size_t to, struct ibv_sge *sge);
/* Notes that the device may still have to read the payload that was posted last. is_users: the
 * payload is in the user's memory. */
void ncoll__verbs_note_long(struct verbs *v, struct connection *c, bool is_users);
void ncoll__verbs_progress(struct transport *t);
void ncoll__verbs_handle(struct verbs *v, const struct ibv_wc *wc);

/* words.c */
/* Sends a word with a number below IMM_NUMBER. It also writes len_bytes of data to `offset` in the
 * peer's inbox. Returns false if there is no room, or if the connection is lost. */
bool ncoll__verbs_word(struct verbs *v, struct connection *c, enum imm_word kind, uint32_t number,
                       const void *data, size_t len_bytes, size_t offset);
int ncoll__verbs_credit(struct transport *t, struct endpoint *to, const struct window *w,
                        uint64_t epoch);
/* Tells a peer the keys of a window, if there are new ones. */
void ncoll__verbs_admit(struct transport *t, struct window *w, int peer);
void ncoll__verbs_word_came(struct verbs *v, struct connection *c, uint32_t imm);
/* Adds the credit that came before the peer's offer was accepted. Only the offer tells the rank of
 * the peer in the group. */
void ncoll__verbs_take_early_credit(const struct window *w, struct view *view);
/* Called when a peer has left, and all that it had sent has come. */
void ncoll__verbs_has_left(struct verbs *v, struct connection *c);
/* Notes that a connection has words to send. */
void ncoll__verbs_has_words(struct verbs *v, struct connection *c);
/* Notes that this rank has to confirm the messages that have arrived. */
void ncoll__verbs_must_confirm(struct verbs *v, struct connection *c);
/* Sends the words of all connections, as far as there is room. */
void ncoll__verbs_send_words(struct verbs *v);

/* wait.c */
bool ncoll__verbs_wait(struct transport *t, struct window *w, const struct awaited *awaited,
                       unsigned n, unsigned round, int64_t timeout_ns);
/* Blocks until a completion may have come, or another file can be read (-1: no other file). */
void ncoll__verbs_sleep(struct verbs *v, int other_fd, int64_t timeout_ns);
int ncoll__verbs_arm(struct transport *t, int set, bool for_messages);
void ncoll__verbs_woken(struct transport *t, uint64_t source);
void ncoll__verbs_ack_events(struct verbs *v);

/* health.c */
void ncoll__verbs_check(struct transport *t, int suspect);
void ncoll__verbs_control(struct transport *t, struct endpoint *to, const struct control *message);
bool ncoll__verbs_tell(struct transport *t, struct endpoint *to, const struct position *position);
/* Marks a connection as ready if the peer has left before this rank knew that it can write to the
 * peer. */
void ncoll__verbs_left_before_ready(struct connection *c);
/* Ends a connection, and reports once that it broke. */
void ncoll__verbs_lost(struct verbs *v, struct connection *c, const char *why);
/* Ends a connection, and reports once that the peer has never answered. */
void ncoll__verbs_unreached(struct verbs *v, struct connection *c, const char *why);
/* Ends all connections, and reports once that this rank itself has failed. */
void ncoll__verbs_all_lost(struct verbs *v, const char *why);
/* Tells the peers that this rank leaves, and waits until all sent messages have arrived, at most
 * for the time after which a silent peer is lost. */
void ncoll__verbs_leave(struct transport *t, farewell_fn say, void *arg);
bool ncoll__verbs_farewell(struct transport *t, const struct endpoint *from, struct farewell *out);
uint64_t ncoll__verbs_rnr(const struct verbs *v);

/* events.c */
void ncoll__verbs_read_events(struct verbs *v);
/* Writes " (this rank's own port is down)", or nothing. Returns text. */
const char *ncoll__verbs_port_text(const struct verbs *v, char *text, size_t size);

/* raw.c */
int ncoll__verbs_raw_exchange(struct transport *t, struct window *w, struct endpoint *peer,
                              unsigned writes, size_t len_bytes, unsigned iterations,
                              uint64_t *samples_ns);

#endif
