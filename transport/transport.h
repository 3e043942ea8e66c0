/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport contract: notified writes.
 *
 * A transport puts bytes into a peer's window and raises one of the notification slots there. A
 * rank that sees the slot raised also sees the bytes. A transport does not depend on collectives,
 * types or operations. One transport object serves one context and is used by one thread at a time.
 * The layout of a window is in window.h.
 *
 * Reuse. lib/ puts into a peer's window for epoch e only when it knows that the peer has finished
 * epoch e - EPOCHS (see lib/base/credit.h), so a slot, and the bulk memory of an epoch, is never
 * written while it is in use. The source of a put stays unchanged until its epoch is finished; lib/
 * asks drained() before it finishes an epoch whose messages are not acknowledged. The source of a
 * peer read in scratch stays unchanged until lib/ knows that the receiver has finished the epoch.
 * The source of a peer read in the user's memory stays until the epoch ends on the sender; by then
 * the receiver has read it: see lib/deliver/peer_read.c. The source of a single copy stays until
 * the receiver has acknowledged it: see lib/deliver/single_copy.c.
 *
 * Neighbours. Ranks of a node may look at each other's slots (view()), if the transport
 * shares_windows. A slot still has one writer and one receiver. A neighbour acquires the same flag
 * as the receiver, so that the neighbour's reads come after
 *
 *   shm    the stores of the sender, which stored the flag with release order;
 *   verbs  the receiver's poll of the completion. The receiver stored the flag (release) after the
 *          poll, and so after the DMA: happens-before extends from the receiver to the neighbour.
 *          The receiver thus publishes what the device has written, so the device may write the
 *          bytes of a message in any order.
 *
 * The transport does not prevent writes to a window while a neighbour reads it. lib/ does so: see
 * lib/base/credit.h.
 *
 * The executor (lib/run/executor.c) reads flags and credits directly. It does not call the
 * transport for a message that has already come.
 */
#ifndef NCOLL_TRANSPORT_TRANSPORT_H
#define NCOLL_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ncoll.h"
#include "transport/because.h"
#include "transport/window.h"

struct ncoll_context;

/* A region of the user's memory that the transport knows. The transport allocates this structure,
 * as a part of a larger one of its own, and frees it. */
struct memory {
    unsigned char *base;
    size_t bytes;
    bool allocated;     /* allocated by the transport; false: the user's own, registered */
    bool reachable;     /* it can be advertised, so that some peers put into it */
    bool peer_readable; /* ranks of the node can read it in place */
    bool huge;          /* it lies in huge pages that the system had set aside (hugetlb) */
    /* the same region as the verbs transport has registered it; NULL: no device knows it */
    struct memory *device;
};

struct transport;

/* A connected peer. The transport that reaches the peer allocates this structure, as a part of a
 * larger one of its own. */
struct endpoint {
    int rank; /* world rank */
    /* the transport that reaches the peer: with shm+verbs one of the two, not the context's */
    struct transport *by;
};

/*
 * One notified write. src may be in any memory if len_bytes <= SLOT_PAYLOAD (put() then copies or
 * inlines it), if the transport sends_any_memory, or if it sends_any_on_node and the peer is on
 * this node. Otherwise src must be in the window's scratch or bulk memory, or in the user's memory
 * that the transport knows.
 */
struct put {
    struct endpoint *to;
    /* the sender's own window of the group; the message goes to the peer's window of this group */
    const struct window *window;
    uint64_t epoch;
    struct signature signature;
    unsigned slot;
    const void *src;
    const struct memory *memory; /* the user's memory that contains src; NULL: src is elsewhere */
    size_t len_bytes;
    /* true: the run cannot end on this rank before src has been read; false: lib/ asks drained() */
    bool answered;
    /* used if len_bytes > SLOT_PAYLOAD: ROUTE_BULK (ROUTE_SLOT means the same here); ROUTE_PLACED,
     * with `advertisement`; to ranks of the node also ROUTE_PEER_READ, from scratch or
     * peer-readable memory, or ROUTE_SINGLE_COPY, from any memory of the user */
    enum route route;
    /* offset in the receiver's bulk memory of the epoch, if len_bytes > SLOT_PAYLOAD */
    size_t bulk_offset;
    const struct advertisement
        *advertisement; /* ROUTE_PLACED: the receiver's advertisement of its OUT */
    size_t out_offset;  /* ROUTE_PLACED: offset from the start of OUT */
};

/* A control word: a message between connected peers that uses no window. Most control words report
 * an error that all ranks must learn. */
struct control {
    uint32_t kind;   /* enum control_kind */
    int32_t rank[2]; /* the world ranks that the word is about; rank[1] = -1: rank[0] only */
    uint32_t epoch;  /* CONTROL_MISMATCH: low bits of the epoch of the run that fails */
    struct signature signature[2]; /* the calls of the two ranks */
    uint64_t group;                /* CONTROL_MISMATCH: name of the group of these calls */
};
_Static_assert(sizeof(struct control) == 56, "wire format");

enum control_kind {
    CONTROL_NONE = 0,
    CONTROL_PEER_FAILED = 1,    /* rank[0] died */
    CONTROL_MISMATCH = 2,       /* rank[0] called signature[0], rank[1] called signature[1] */
    CONTROL_PEER_LEFT = 3,      /* rank[0] destroyed its context */
    CONTROL_DEADLOCK = 4,       /* the two ranks wait for each other in calls on different groups */
    CONTROL_PEER_UNREACHED = 6, /* rank[0] died, or could never be reached */
    /* rank[0] destroyed its context while a call was connecting peers */
    CONTROL_PEER_QUIT = 5,
};

/* A question that a waiting rank sends along a chain of waiting ranks, to find a deadlock: see
 * lib/watch/deadlock.c. */
struct question {
    uint64_t group, epoch;            /* the run that waits, on the rank that asks */
    uint32_t step;                    /* the step at which this run waits */
    int32_t rank;                     /* the world rank that asks */
    int64_t other;                    /* a rank that waits in another group; -1: none so far */
    struct signature other_signature; /* the call of that rank */
};

/* A position: the call and the epoch in which a rank waits, told to the rank that it waits for. A
 * position stays true until the teller gets what it waits for, so it may be sent late, more than
 * once, or never. */
struct position {
    uint64_t group; /* name of the group */
    uint64_t epoch;
    struct signature signature;
    uint32_t slot; /* the slot that the teller waits for, in its window; NO_SLOT: a credit */
    uint32_t kind; /* enum position_kind */
    struct question question;
};

/*
 * WAITS: the teller waits for the rank that gets the position. ASKS: in addition the teller has
 * waited for long, and asks what the other rank waits for. ANSWERS: the answer to that. In an
 * answer question.rank is the rank that the teller waits for, and question.other the last rank of
 * the chain of waiting ranks, as far as the teller knows.
 */
enum position_kind { POSITION_WAITS = 0, POSITION_ASKS = 1, POSITION_ANSWERS = 2 };
_Static_assert(sizeof(struct position) == 88, "wire format");

/* A summary of the calls that a leaving rank has made on one group. */
struct called {
    uint64_t group; /* name of the group */
    uint64_t epoch; /* epoch of the last run */
    uint64_t history_hash;
    struct signature signature; /* signature of the last run */
};

/*
 * The last message of a rank to a peer. With it the peer finds calls that only one of the two has
 * made: see lib/watch/farewell.c. n_groups is 0 if the rank does not know what it has called.
 */
#define FAREWELL_GROUPS 4
struct farewell {
    uint64_t n_groups;                     /* number of groups that both ranks are in */
    uint64_t sum;                          /* checksum of the calls on all of these groups */
    struct called called[FAREWELL_GROUPS]; /* the world, then the groups that were made last */
};
_Static_assert(sizeof(struct farewell) == 176, "wire format");
/* Fills in the farewell to a world rank. The caller has set *out to all 0. */
typedef void (*farewell_fn)(void *arg, int rank, struct farewell *out);

/* The data that a peer needs to write to a window. Each transport has its own format: see
 * offer(). */
#define OFFER_BYTES 48
struct offer {
    uint64_t words[OFFER_BYTES / sizeof(uint64_t)];
};

/* Tells if a peer on the node may copy from this rank's memory. */
enum single_copy {
    SINGLE_COPY_UNKNOWN, /* not known yet */
    SINGLE_COPY_REFUSED,
    SINGLE_COPY_ALLOWED,
};

/* The event that has woken a rank from its sleep on an epoll set: see arm(). */
enum wake_source {
    WAKE_TIMER, /* a timer of lib/ */
    WAKE_BELL,  /* a peer of the node: see shm/bell.c */
    WAKE_CHANNEL,
    WAKE_RAIL,
    WAKE_DEVICE,
    WAKE_PEER, /* plus a world rank: the process of this peer has ended */
};

/* The functions by which a transport reports to lib/. It calls them from inside its operations. */
struct transport_events {
    void *arg;
    /* Reports that a peer is gone. how: CONTROL_PEER_FAILED, _UNREACHED or _LEFT. why: a text such
     * as "retry exceeded". */
    void (*peer_gone)(void *arg, int rank, enum control_kind how, const char *why);
    /* Hands over a control word that has come from a peer. */
    void (*control)(void *arg, int from_rank, const struct control *message);
    /* Hands over a position that has come from a peer. */
    void (*position)(void *arg, int from_rank, const struct position *position);
    /* Records an error for the caller of the library. what: status and reason (because.h); peer:
     * the rank that the error is about, or -1; remedy: advice to the user, or NULL; cause: in
     * printf style. Returns the status. */
    int (*fail)(void *arg, int what, int peer, const char *remedy, const char *cause, ...)
        __attribute__((format(printf, 5, 6)));
    void (*log)(void *arg, ncoll_log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    uint64_t (*now_ns)(void *arg);
};

/* A message from one rank to all others, sent when their contexts are created. */
struct announcement {
    const void *bytes;
    size_t len;
    int rank;
};

/* The parameters of a transport. Strings live as long as the transport. */
struct transport_config {
    int rank, ranks; /* in the world */
    uint64_t node;   /* number of this node; ranks with the same number can share memory */
    /* number of this machine; containers of one machine have different nodes */
    uint64_t machine;
    const uint64_t *nodes; /* [ranks] nodes of all ranks; valid only during open() */
    /* the data that examine() has appended on one rank of this node; NULL: none. Valid only during
     * open() */
    const void *examined;
    size_t examined_bytes;
    /* [n_networks] for each node the data that networks() has appended on one of its ranks; valid
     * only during open() */
    const struct announcement *networks;
    unsigned n_networks;               /* 0: the nodes have not exchanged this data */
    const char *device, *wiring, *gid; /* NULL: the transport chooses */
    int port;                          /* 0: the transport chooses */
    int pkey;                          /* the partition key; 0: the transport chooses */
    uint8_t service_level, traffic_class;
    uint8_t timeout_exponent, retries; /* of queue pairs, as in struct ibv_qp_attr */
    unsigned mtu;                      /* in bytes; 0: the transport chooses */
    uint64_t peer_timeout_ns;          /* a peer that does not answer for this long is lost */
    bool relaxed_ordering;             /* devices may write long messages in any order */
    bool fork_safe;                    /* keep memory of devices from forked children */
    unsigned rails;                    /* number of devices that send each long message, 1 or 2 */
    size_t rail_bytes;                 /* with two rails: the shortest message that both send */
    bool huge_pages;                   /* the user's memory may lie in huge pages */
    bool single_copies;    /* use single copies between ranks of the node, if they are permitted */
    double ranks_per_core; /* on this node; more than 1: never spin for long */
    struct transport_events events;
};

/* A growing byte string for data that goes through the bootstrap. `failed` is set, and stays set,
 * when memory runs out. */
struct blob {
    unsigned char *bytes;
    size_t len, capacity;
    bool failed;
};
void ncoll__blob_add(struct blob *blob, const void *bytes, size_t len);
void ncoll__blob_free(struct blob *blob);

struct transport_counters {
    uint64_t rnr;    /* receiver-not-ready retries seen by the device or port */
    uint64_t sleeps; /* number of times that wait() has put this rank to sleep */
    unsigned connections;
    size_t memory_bytes, scratch_bytes; /* memory without the user's; the scratch in it */
    size_t pinned_bytes;                /* the part of memory_bytes that a device has registered */
    uint64_t rail_bytes;                /* bytes of messages that the second device has sent */
};

/* The cost of messages, for the choice of the radix: the one-way latency, and the time that each
 * further message of a round and each byte add. */
struct transport_cost {
    double latency_ns;
    double message_ns;
    double byte_ns;
};

struct transport {
    const struct transport_ops *ops;
    const char *wiring;     /* how peers are connected: "map", "direct", "rdmacm" */
    char device[96];        /* name, model and firmware of the network device; "": none */
    bool sends_any_memory;  /* long puts may come from memory that is not registered */
    bool sends_any_on_node; /* long puts to ranks of this node may do so */
    bool peer_reads;        /* ranks of this node can read long messages in their sender's memory */
    /* a peer is ready as soon as it is accepted, and a put has arrived when put() returns */
    bool at_once;
    bool must_progress;  /* flags rise only inside progress() */
    bool shares_windows; /* ranks of a node can read each other's windows */
    /* the processor has fast string moves, for memory that other cores have cached: see copy.h */
    bool moves_strings;
    /* A waiting rank that loses its core for this long does better to block at once. The time is
     * many times that of blocking and being woken. 0: absences are no reason to block. */
    uint64_t long_absence_ns;
    /* If more bytes than this are in flight to a core, they are evicted from the caches before they
     * are read. 0: no limit. The value is the same on all ranks. */
    size_t cached_bytes;
    /* the most connections that this rank can have; 0: there is no limit */
    unsigned peers_most;
    struct transport_cost cost;
    struct transport_cost near_cost; /* within a node; latency_ns 0: the same as cost */
};

/*
 * The operations of a transport. An optional one may be NULL. Operations marked "by the endpoint"
 * are called on endpoint.by; a transport whose endpoints all belong to other transports (shm+verbs)
 * does not need them.
 */
struct transport_ops {
    const char *name;

    /* optional. Does what has to be done before this process uses any device. */
    void (*before)(const struct transport_config *config);

    /* optional. Appends a description of the devices of this machine for the other ranks of the
     * node, so that only one rank has to open all devices. Not collective. Returns false on
     * failure; then each rank examines the devices in open(). NULL: there is nothing to examine. */
    bool (*examine)(struct blob *out);

    /* optional. Appends the networks that this node can use for the ranks of all other nodes, so
     * that all ranks choose the same network in open(). config: as for open(), without `networks`.
     * Not collective. Returns false on failure. NULL: there is nothing to choose. */
    bool (*networks)(const struct transport_config *config, struct blob *out);

    /* mandatory. Opens devices and sets *out. Not collective. Reports errors by events.fail. */
    int (*open)(const struct transport_config *config, struct transport **out);

    /* mandatory. Appends to the blob the data that every other rank needs before it connects to
     * this rank: O(1) bytes, perhaps none. */
    int (*describe)(struct transport *t, struct blob *blob);

    /* mandatory. Make a window for a group, in which flags, credits and `got` are 0, and free it.
     * quiet: no rank writes to the window any more. */
    int (*window_create)(struct transport *t, const struct window_shape *shape,
                         struct window **out);
    void (*window_destroy)(struct transport *t, struct window *w, bool quiet);

    /*
     * optional. Called before the first call of a plan. extend() prepares the part of the window
     * that this plan and those before it use (`need`). Then admit() lets a connected peer (a world
     * rank) put into that part. The put() of a peer that has not been admitted yet returns
     * NCOLL_TIMEOUT. Neither function blocks. NULL: all of a window is always ready.
     */
    int (*extend)(struct transport *t, struct window *w, const struct window_extent *need);
    void (*admit)(struct transport *t, struct window *w, int peer);

    /*
     * mandatory. Allocate memory for the user (zeroed, from the start of a page), register memory
     * that the user has, and release either. Regions do not overlap. When a region is released,
     * only calls that have failed may still use it.
     */
    int (*memory_allocate)(struct transport *t, size_t bytes, struct memory **out);
    int (*memory_register)(struct transport *t, void *base, size_t bytes, struct memory **out);
    void (*memory_release)(struct transport *t, struct memory *m);

    /*
     * mandatory. Called in this order at the first use of a schedule, to connect the peers that it
     * uses (world ranks).
     *   offer    fills in the offer: the data that `peer` needs to write to window w. A peer that
     *            is connected already gets an offer, too, as it may not know window w yet.
     *            depth: the most messages that the peer can have in flight to this rank.
     *   accept   reads the offer of `peer` to this rank. peer_desc: the data from its describe().
     *   ready    returns NCOLL_OK when this rank and the accepted peers can write to each other,
     *            NCOLL_TIMEOUT as long as they cannot (call again), or an error.
     * None of these ever blocks. Both sides of a connection make offers to each other.
     */
    int (*offer)(struct transport *t, struct window *w, int peer, unsigned depth,
                 struct offer *offer);
    int (*accept)(struct transport *t, struct window *w, int peer, const void *peer_desc,
                  size_t peer_desc_len, const struct offer *offer);
    int (*ready)(struct transport *t, const int *peers, unsigned n_peers);

    /* optional. True if this rank has room for connections to these world ranks in addition to its
     * present ones. NULL: there is always room. */
    bool (*has_room)(struct transport *t, const int *peers, unsigned n_peers);

    /* optional. Tells the transport that this peer and this rank have accepted each other's offers;
     * lib/ learns this from an exchange of the bootstrap, or from a barrier. It is called before
     * ready(). NULL: the transport does not need it, and lib/ makes no such exchange. */
    void (*met)(struct transport *t, int peer);

    /* mandatory. Returns the endpoint of a world rank, with endpoint.by filled in; NULL if the rank
     * is not connected. */
    struct endpoint *(*endpoint)(struct transport *t, int rank);

    /* mandatory if the transport shares_windows. Finds the window that a connected peer of the node
     * has for w's group. Returns false if this rank cannot read it. */
    bool (*view)(struct transport *t, struct endpoint *at, const struct window *w,
                 struct window_view *view);

    /* optional. Called after this rank has seen a message in a slot that neighbours look at. Wakes
     * those neighbours that sleep. */
    void (*wake_watchers)(struct transport *t);

    /* mandatory, by the endpoint, hot path. Sends a message. Returns NCOLL_OK: it is on its way;
     * NCOLL_TIMEOUT: there is no room now, call progress() and try again; or an error. */
    int (*put)(struct transport *t, const struct put *put);

    /* mandatory, by the endpoint. Sets credits[r] in the peer's window to an epoch; r is this
     * rank's number in the group. Returns the same values as put(). */
    int (*credit)(struct transport *t, struct endpoint *to, const struct window *w, uint64_t epoch);

    /*
     * mandatory, by the endpoint. Fills in advertisement->out (the place of `out`, which is in the
     * reachable memory m) and advertisement->check, and writes the advertisement to a box of this
     * rank in the peer's window. A put() with the advertisement may still go to bulk memory;
     * slot.route tells. Returns the same values as put(). If this peer cannot put into m, it does
     * nothing and returns NCOLL_OK: a missing advertisement does no harm.
     */
    int (*advertise)(struct transport *t, struct endpoint *to, const struct window *w, unsigned box,
                     const struct memory *m, const void *out, struct advertisement *advertisement);

    /*
     * mandatory if the transport peer_reads. Finds the data of a message with ROUTE_PEER_READ from
     * `from` in w's group, and sets *out to it; slot->source names its place. If that memory cannot
     * be mapped, find() copies the data to `room`, and sets *out to `room`. Returns NCOLL_OK, or an
     * error, which is recorded, if it can do neither.
     */
    int (*find)(struct transport *t, struct endpoint *from, const struct window *w,
                const struct slot *slot, size_t len_bytes, unsigned char *room,
                const unsigned char **out);

    /*
     * mandatory if the transport peer_reads. single_copy() tells if the peer may get messages from
     * this rank. get() copies a message with ROUTE_SINGLE_COPY, which has arrived in this slot and
     * epoch, from the memory of `from`. Then it acknowledges the message: it sets got[] of w for
     * this slot to the epoch, where the sender reads it. get() returns NCOLL_OK;
     * NCOLL_ERR_ARGUMENT, not recorded: the memory of one side cannot be accessed; NCOLL_ERR_PEER,
     * not recorded: the sender is gone; or another error, recorded.
     */
    enum single_copy (*single_copy)(struct transport *t, const struct endpoint *to);
    int (*get)(struct transport *t, struct endpoint *from, struct window *w, uint64_t epoch,
               unsigned slot, size_t len_bytes, void *to);

    /* optional. True if the sources of all puts so far may be overwritten; users_only: the sources
     * in the user's memory. NULL: sources may always be overwritten. */
    bool (*drained)(struct transport *t, bool users_only);

    /* optional. True if everything has arrived that this rank has written to peers' windows of w's
     * group, or has to tell these peers about its own window. Peers may have to make progress for
     * that. The caller sends nothing more in the group, and calls arrived() until it is true. NULL:
     * everything has always arrived. */
    bool (*arrived)(struct transport *t, struct window *w);

    /* optional (mandatory if must_progress), hot path. Raises the flags of messages that have come;
     * never blocks. */
    void (*progress)(struct transport *t);

    /*
     * mandatory. Called when a rank still waits: gives up the core until an event may have come,
     * for at most timeout_ns. round counts the calls during one wait from 0, so that a rank can
     * yield before it blocks. A message to any of the n awaited slots ends the call; they are in w,
     * or in the windows that struct awaited names. With n == 0 any message ends it. Returns true if
     * the rank slept, false if it yielded or did nothing.
     */
    bool (*wait)(struct transport *t, struct window *w, const struct awaited *awaited, unsigned n,
                 unsigned round, int64_t timeout_ns);

    /*
     * optional, both or neither: sleeping on an epoll set in the program's own event loop. arm()
     * adds the descriptors that wake this rank to the set, unless they are there already, with
     * values of enum wake_source as data. From then on every event makes the set ready. Events from
     * before arm() do not, so the caller looks for them between arm() and its sleep. for_messages
     * false: only control words and failures need to wake the rank. Returns NCOLL_OK;
     * NCOLL_TIMEOUT: something has come in the meantime, call check() and progress(); or an error.
     * woken() handles an event that the set has reported, so that it is not reported again.
     */
    int (*arm)(struct transport *t, int set, bool for_messages);
    void (*woken)(struct transport *t, uint64_t source);

    /* optional. Tells the transport how this rank waits from now on. true: it blocks at once;
     * false, the initial state: it spins or yields first. */
    void (*blocks)(struct transport *t, bool blocks);

    /* optional. Returns the processor time in ns that siblings have used since the last call: other
     * connected ranks of this node that are now on the processor of this rank. A call takes
     * microseconds for each connected rank. NULL: not known. */
    uint64_t (*siblings_ns)(struct transport *t);

    /* mandatory. Looks after the peers: notices failures, and reads control words and positions. A
     * rank that waits calls it from time to time; it may be called every 100 us. suspect: the world
     * rank that the caller waits for, or -1. */
    void (*check)(struct transport *t, int suspect);

    /* mandatory, by the endpoint. Sends a control word to a connected peer if that is possible;
     * never blocks. */
    void (*control)(struct transport *t, struct endpoint *to, const struct control *message);

    /* mandatory, by the endpoint. Writes a position to where a connected peer finds it in its
     * check(); this wakes nobody. It never blocks, and never delays a control word. Returns false
     * if it is not possible now, because the peer may not have read the last position. */
    bool (*tell)(struct transport *t, struct endpoint *to, const struct position *position);

    /* mandatory. Fills in the counters of this rank. */
    void (*counters)(struct transport *t, struct transport_counters *out);

    /* optional. Measures the bare exchange that a two-rank barrier consists of, on the same
     * connection and without any of the layers above. In each of `iterations` both sides send
     * `writes` notifications (1 to RAW_WRITES_MAX) and wait for as many. Before the last of them
     * each side writes len_bytes (0: none) from its scratch to the other's bulk memory; data that
     * is longer than this memory goes to the same place again. samples_ns [iterations] gets the
     * time of each iteration. The former contents of bulk memory and scratch are lost. For
     * ncoll-bench --raw and ncoll-tune --costs. */
#define RAW_WRITES_MAX 16u
    int (*raw_exchange)(struct transport *t, struct window *w, struct endpoint *peer,
                        unsigned writes, size_t len_bytes, unsigned iterations,
                        uint64_t *samples_ns);

    /*
     * mandatory. Tells the connected peers that this rank leaves (CONTROL_PEER_LEFT), with a
     * farewell that `say` fills in for each, and delivers all messages in flight. It takes a
     * limited time, whatever the peers do. This rank sends nothing afterwards. say NULL: the
     * farewells are all 0.
     */
    void (*leave)(struct transport *t, farewell_fn say, void *arg);

    /* mandatory, by the endpoint. Reads the farewell of a peer that has left. Returns false if the
     * peer has not left. If two ranks leave at the same time, at least one of them gets the
     * farewell of the other, provided that both call this after leave(). */
    bool (*farewell)(struct transport *t, const struct endpoint *from, struct farewell *out);

    /* mandatory. Calls leave() without farewells, if it has not been called, and frees
     * everything. */
    void (*close)(struct transport *t);
};

/* All transports of this build; NULL ends the list. */
extern const struct transport_ops *const ncoll__transports[];
const struct transport_ops *ncoll__transport_find(const char *name);

#endif
