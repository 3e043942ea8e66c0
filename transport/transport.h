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
 * epoch e - EPOCHS (see lib/base/credit.h), so a slot, and the bulk area of an epoch, is never
 * written while it is in use. The source of a put stays unchanged until its epoch is finished; lib/
 * asks drained() before it finishes an epoch whose messages are not acknowledged. The source of a
 * peer read in scratch stays until lib/ knows that the receiver has finished the epoch. In the
 * user's memory it stays until the epoch ends on the sender, by when the receiver has read it: see
 * lib/deliver/peer_read.c. The source of a single copy stays until the receiver has acknowledged
 * it: see lib/deliver/single_copy.c.
 *
 * Neighbours. Ranks of a node may look at each other's slots (`view`), where the transport
 * shares_windows. A slot still has one writer and one rank that is responsible for it; a rank that
 * looks acquires the same flag, which orders its reads after
 *
 *   shm    the stores of the sender, which released the flag;
 *   verbs  the acquisition of the completion by the receiver. The receiver raised the flag
 *          (release) after it, and so after the DMA: happens-before goes on from the receiver to
 *          the neighbour. So the receiver republishes what the device has written, and the device
 *          may place the bytes of a message in any order.
 *
 * lib/ alone prevents writes to the window while a neighbour reads it: see credit.h.
 *
 * The executor reads flags and credits directly. It makes no call for a message that has already
 * come.
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

/* The user's memory that the transport knows. The transport makes it, as a part of its own
 * structure, and frees it. */
struct memory {
    unsigned char *base;
    size_t bytes;
    bool allocated;     /* allocated by the transport; false: registered */
    bool reachable;     /* some peers can be told to put there */
    bool peer_readable; /* ranks of the node can read it in place */
    bool huge;          /* in huge pages that the system had set aside */
    /* the same memory, as the transport over a device knows it; NULL: there is none */
    struct memory *device;
};

struct transport;

/* A connected peer, which the transport that reaches it has made, as a part of its own structure. */
struct endpoint {
    int rank;             /* world rank */
    struct transport *by; /* that transport; in jobs over two, it is not the context's */
};

/*
 * One notified write. src may be any memory if len_bytes <= SLOT_PAYLOAD (put() then copies or
 * inlines it), or if the transport sends_any_memory or sends_any_on_node. Otherwise it must be in
 * the window's scratch or bulk memory, or in the user's memory that the transport knows.
 */
struct put {
    struct endpoint *to;
    /* the sender's own window; it stands for the group, and has the scratch */
    const struct window *window;
    uint64_t epoch;
    struct signature signature;
    unsigned slot;
    const void *src;
    const struct memory *memory; /* the user's memory that contains src; NULL: src is elsewhere */
    size_t len_bytes;
    /* the run cannot end on this rank before src has been read; otherwise see drained() */
    bool answered;
    /* for messages longer than SLOT_PAYLOAD: BULK (SLOT means the same); PLACED, with
     * `advertisement`; and to ranks of the node PEER_READ, from scratch or peer-readable memory, or
     * SINGLE_COPY, from any memory of the user */
    enum route route;
    /* offset in the receiver's bulk memory of the epoch, if len_bytes > SLOT_PAYLOAD */
    size_t bulk_offset;
    const struct advertisement
        *advertisement; /* ROUTE_PLACED: the receiver's advertisement of its OUT */
    size_t out_offset;  /* ROUTE_PLACED: offset from the start of OUT */
};

/* A message between connected peers outside of windows, mostly an error that all ranks must
 * learn. */
struct control {
    uint32_t kind;   /* enum control_kind */
    int32_t rank[2]; /* the two ranks (world ranks); rank[1] = -1: it is about rank[0] only */
    uint32_t epoch;  /* CONTROL_MISMATCH: low bits of the epoch of the run that it breaks */
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

/* The question of a rank that waits: see lib/watch/deadlock.c. */
struct question {
    uint64_t group, epoch;            /* the run where it began */
    uint32_t step;                    /* step of that run */
    int32_t rank;                     /* world rank that asks */
    int64_t other;                    /* a rank that waits in another group; -1: none so far */
    struct signature other_signature; /* the call of that rank */
};

/* A position: a rank waits in this call and epoch. It stays true until that rank gets what it waits
 * for, so it may be sent late, more than once, or never. */
struct position {
    uint64_t group; /* name of the group */
    uint64_t epoch;
    struct signature signature;
    uint32_t slot; /* the teller's slot that it waits for; NO_SLOT: it waits for a credit */
    uint32_t kind; /* enum position_kind */
    struct question question;
};

/*
 * WAITS: the teller waits for the rank that it tells. ASKS: the same; in addition it has waited for
 * long and asks that rank what it waits for itself. ANSWERS: the answer. In an answer question.rank
 * is the rank that the teller waits for, and question.other the last rank of the chain of waiting
 * ranks, as far as the teller knows.
 */
enum position_kind { POSITION_WAITS = 0, POSITION_ASKS = 1, POSITION_ANSWERS = 2 };
_Static_assert(sizeof(struct position) == 88, "wire format");

/* The calls that a rank has made on a group, when it leaves. */
struct called {
    uint64_t group; /* name */
    uint64_t epoch; /* of the last run */
    uint64_t history_hash;
    struct signature signature; /* of the last run */
};

/*
 * The last word of a rank to a peer, by which the peer finds calls that only one of them has made:
 * see lib/watch/farewell.c. n_groups is 0 if the rank cannot say what it has called.
 */
#define FAREWELL_GROUPS 4
struct farewell {
    uint64_t n_groups;                     /* that both ranks are in */
    uint64_t sum;                          /* over all of these */
    struct called called[FAREWELL_GROUPS]; /* the world, then those that were made last */
};
_Static_assert(sizeof(struct farewell) == 176, "wire format");
/* Fills in the farewell to a world rank; *out is all 0 before. */
typedef void (*farewell_fn)(void *arg, int rank, struct farewell *out);

/* The data that one peer needs to reach a window. Each transport has its own format: see
 * offer(). */
#define OFFER_BYTES 48
struct offer {
    uint64_t words[OFFER_BYTES / sizeof(uint64_t)];
};

/* The permission of a peer of the node to copy from this rank's memory. */
enum single_copy {
    SINGLE_COPY_UNKNOWN, /* not known yet */
    SINGLE_COPY_REFUSED,
    SINGLE_COPY_ALLOWED,
};

/* The event that has woken a rank from its sleep on an epoll set: see arm(). */
enum wake_source {
    WAKE_TIMER, /* of lib/ */
    WAKE_BELL,  /* peers of the node */
    WAKE_CHANNEL,
    WAKE_RAIL,
    WAKE_DEVICE,
    WAKE_PEER, /* and its world rank added: the process of a peer has ended */
};

/* The functions by which a transport reports to lib/. It calls them from inside its operations. */
struct transport_events {
    void *arg;
    /* A peer is gone. how: CONTROL_PEER_FAILED, _UNREACHED or _LEFT. why: a text such as "retry
     * exceeded". */
    void (*peer_gone)(void *arg, int rank, enum control_kind how, const char *why);
    /* A control word has come from a peer. */
    void (*control)(void *arg, int from_rank, const struct control *message);
    /* A position has come from a peer, which waits for this rank. */
    void (*position)(void *arg, int from_rank, const struct position *position);
    /* Records an error for the caller: status with reason (see because.h), peer or -1, remedy, cause
     * (in printf style). Returns the status. */
    int (*fail)(void *arg, int what, int peer, const char *remedy, const char *cause, ...)
        __attribute__((format(printf, 5, 6)));
    void (*log)(void *arg, ncoll_log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    uint64_t (*now_ns)(void *arg);
};

/* A message of one rank to all others, at creation. */
struct announcement {
    const void *bytes;
    size_t len;
    int rank;
};

/* The parameters of a transport. Strings live as long as the transport. */
struct transport_config {
    int rank, ranks; /* in the world */
    uint64_t node;   /* number of this node; ranks with the same number can share memory */
    /* number of this machine; on containers of one machine the nodes differ */
    uint64_t machine;
    const uint64_t *nodes; /* [ranks] nodes of all ranks; valid only during open() */
    /* what examine() has appended on a rank of this node; NULL: nothing. Valid only during open() */
    const void *examined;
    size_t examined_bytes;
    /* [n_networks] what networks() has appended on one rank of each node; valid only during open() */
    const struct announcement *networks;
    unsigned n_networks;               /* 0: nothing was told */
    const char *device, *wiring, *gid; /* NULL: the transport chooses */
    int port;                          /* 0: the transport chooses */
    int pkey;                          /* the partition key; 0: the transport chooses */
    uint8_t service_level, traffic_class;
    uint8_t timeout_exponent, retries; /* of the device */
    unsigned mtu;                      /* in bytes; 0: the transport chooses */
    uint64_t peer_timeout_ns;          /* a peer that has answered nothing for so long is lost */
    bool relaxed_ordering;             /* devices may write long messages in any order */
    bool fork_safe;                    /* keep memory of devices from forked children */
    unsigned rails;                    /* devices that long messages are divided between, 1 or 2 */
    size_t rail_bytes;                 /* messages of at least so many bytes are */
    bool huge_pages;                   /* the user's memory may lie in huge pages */
    bool single_copies;    /* try whether single copies between ranks of the node are permitted */
    double ranks_per_core; /* on this node; more than 1: never spin for long */
    struct transport_events events;
};

/* A growing byte string for data that goes through the bootstrap. `failed` is set, and stays set,
 * if there was no memory. */
struct blob {
    unsigned char *bytes;
    size_t len, capacity;
    bool failed;
};
void ncoll__blob_add(struct blob *blob, const void *bytes, size_t len);
void ncoll__blob_free(struct blob *blob);

struct transport_counters {
    uint64_t rnr;    /* receiver-not-ready retries seen by the device or port */
    uint64_t sleeps; /* times wait() put this rank to sleep */
    unsigned connections;
    size_t memory_bytes, scratch_bytes; /* all memory, and the scratch in it */
    size_t pinned_bytes;                /* that a device knows */
    uint64_t rail_bytes;                /* of messages: sent by the second device */
};

/* The cost of messages, for the choice of the radix: the latency one way, and what each further
 * message of a round and each byte add. */
struct transport_cost {
    double latency_ns;
    double message_ns;
    double byte_ns;
};

struct transport {
    const struct transport_ops *ops;
    const char *wiring;     /* how peers are connected: "map", "direct", "rdmacm" */
    char device[96];        /* name, model and firmware of the network device; "": none */
    bool sends_any_memory;  /* long puts may come from memory that it does not know */
    bool sends_any_on_node; /* the same, but only for puts to ranks of this node */
    bool peer_reads;        /* ranks of this node can read long messages in their sender's memory */
    /* accepting a peer makes it ready, and a put has arrived when it returns */
    bool at_once;
    bool must_progress;  /* flags rise only inside progress() */
    bool shares_windows; /* ranks of a node can read each other's windows */
    /* string moves copy faster to memory that other cores have cached: see copy.h */
    bool moves_strings;
    /* A rank that is away from its core for so long while it waits does better to block at once. It is
     * many times what blocking and being woken take; 0: never. */
    uint64_t long_absence_ns;
    /* if more bytes than this are in flight to a core, they fall out of the caches on the way; 0:
     * there are no such caches. The same on all ranks */
    size_t cached_bytes;
    /* connections that this rank has room for; 0: there is no limit */
    unsigned peers_most;
    struct transport_cost cost;
    struct transport_cost near_cost; /* within a node; latency_ns 0: the same as cost */
};

/*
 * Operations that say "by the endpoint" are called with endpoint.by. A transport whose endpoints are
 * all of others needs none of them.
 */
struct transport_ops {
    const char *name;

    /* optional. Does what has to precede all other use of devices by this process. */
    void (*before)(const struct transport_config *config);

    /* optional. Appends what there is to know of the devices of this machine, for the ranks of the
     * same node, so that only one of them has to open all devices. Not collective. Returns false if
     * it cannot; then each rank examines them in open(). NULL: there is nothing to examine. */
    bool (*examine)(struct blob *out);

    /* optional. Appends what networks this node can use, for the ranks of all other nodes, so that all
     * choose the same one in open(). config: as for open(), without `networks`. Not collective. Returns
     * false if it cannot. NULL: there is nothing to choose. */
    bool (*networks)(const struct transport_config *config, struct blob *out);

    /* mandatory. Opens devices and sets *out. Not collective. Reports errors by events.fail. */
    int (*open)(const struct transport_config *config, struct transport **out);

    /* mandatory. Appends to the blob what every other rank must know of this one before it
     * connects: O(1) bytes, perhaps none. */
    int (*describe)(struct transport *t, struct blob *blob);

    /* mandatory. Make and free the window of a group, zeroed. quiet: no rank writes to it any
     * more. */
    int (*window_create)(struct transport *t, const struct window_shape *shape,
                         struct window **out);
    void (*window_destroy)(struct transport *t, struct window *w, bool quiet);

    /*
     * optional. Before the first call of a plan: extend() makes so much of the window ready for what
     * this plan, and those before it, use of it; then admit() lets a connected peer, by its world
     * rank, put there. A peer that has not been admitted cannot put yet (NCOLL_TIMEOUT). Neither
     * blocks. NULL: all of a window is always ready.
     */
    int (*extend)(struct transport *t, struct window *w, const struct window_extent *need);
    void (*admit)(struct transport *t, struct window *w, int peer);

    /*
     * mandatory. The user's memory: allocates it (zeroed, from the start of a page), registers it
     * where it is, or releases it. Regions do not overlap. When a region is released, only calls
     * that have failed may still use it.
     */
    int (*memory_allocate)(struct transport *t, size_t bytes, struct memory **out);
    int (*memory_register)(struct transport *t, void *base, size_t bytes, struct memory **out);
    void (*memory_release)(struct transport *t, struct memory *m);

    /*
     * mandatory, in this order, at the first use of a schedule: connect() the peers that it uses,
     * by world rank.
     *   offer    fills in what `peer` must know to reach window w. A peer that is connected already
     *            is offered as well (it may lack window w).
     *            depth: most messages that it can have in flight towards this rank.
     *   accept   reads what `peer` offered at the same time (peer_desc: what it described).
     *   ready    NCOLL_OK when these peers, which have been accepted, can be written to and can
     *            write, NCOLL_TIMEOUT while not (call again), or an error.
     * None ever blocks. Both sides of a connection offer each other.
     */
    int (*offer)(struct transport *t, struct window *w, int peer, unsigned depth,
                 struct offer *offer);
    int (*accept)(struct transport *t, struct window *w, int peer, const void *peer_desc,
                  size_t peer_desc_len, const struct offer *offer);
    int (*ready)(struct transport *t, const int *peers, unsigned n_peers);

    /* optional. True if this rank can be connected to these world ranks in addition to those that
     * it is connected to. NULL: there is always room. */
    bool (*has_room)(struct transport *t, const int *peers, unsigned n_peers);

    /* optional. Tells the transport that this peer and this rank have accepted each other's offers;
     * lib/ learns this from an exchange of the bootstrap, or from a barrier. It is called before
     * ready(). NULL: the transport does not need it, and lib/ makes no such exchange. */
    void (*met)(struct transport *t, int peer);

    /* mandatory. Returns the connection to a world rank, with endpoint.by filled in; NULL if there is
     * none. */
    struct endpoint *(*endpoint)(struct transport *t, int rank);

    /* mandatory if it shares_windows. Finds the window of a connected peer of the node for w's
     * group. Returns false if this rank cannot see it. */
    bool (*view)(struct transport *t, struct endpoint *at, const struct window *w,
                 struct window_view *view);

    /* optional. Wakes neighbours that sleep after a slot of this rank, which they look at, was
     * raised. */
    void (*wake_watchers)(struct transport *t);

    /* mandatory, by the endpoint, hot path. Returns NCOLL_OK: the message was issued; NCOLL_TIMEOUT: there is no
     * room now, call progress() and try again; or an error. */
    int (*put)(struct transport *t, const struct put *put);

    /* mandatory, by the endpoint. Sets credits[own rank of the group] in the peer's window to an epoch. Returns as
     * put(). */
    int (*credit)(struct transport *t, struct endpoint *to, const struct window *w, uint64_t epoch);

    /*
     * mandatory, by the endpoint. Fills in the place of `out` (in reachable memory m) and the
     * check, and writes the advertisement to this rank's place in the peer's window. A later put()
     * with the advertisement may still go to bulk memory; slot.route tells. Returns as put();
     * NCOLL_OK, and it has done nothing, if this peer cannot put there. A missing advertisement
     * does no harm.
     */
    int (*advertise)(struct transport *t, struct endpoint *to, const struct window *w, unsigned box,
                     const struct memory *m, const void *out, struct advertisement *advertisement);

    /*
     * mandatory if it peer_reads. Finds the memory of a message that `from` keeps for peer reads in
     * w's group: `slot`, whose flag is raised, has its place. If the memory cannot be mapped, it
     * copies the message to `room` and sets *out to that. Returns NCOLL_OK, or an error, which is
     * recorded, if it can do neither.
     */
    int (*find)(struct transport *t, struct endpoint *from, const struct window *w,
                const struct slot *slot, size_t len_bytes, unsigned char *room,
                const unsigned char **out);

    /*
     * mandatory if it peer_reads. single_copy() returns whether the peer may get messages of this
     * rank. get() copies a message from the memory of `from`, whose place is in the slot of the
     * epoch, whose flag is raised. Then it tells the sender: got[slot] of this window becomes the
     * epoch. get() returns NCOLL_OK; NCOLL_ERR_ARGUMENT, not recorded: one side's memory cannot be
     * accessed; NCOLL_ERR_PEER, not recorded: the sender is gone; or another error, recorded.
     */
    enum single_copy (*single_copy)(struct transport *t, const struct endpoint *to);
    int (*get)(struct transport *t, struct endpoint *from, struct window *w, uint64_t epoch,
               unsigned slot, size_t len_bytes, void *to);

    /* optional. True if the sources of all puts so far may be overwritten; users_only: those in the
     * user's memory. NULL: they always may. */
    bool (*drained)(struct transport *t, bool users_only);

    /* optional. True if everything that this rank has written to windows of w's group, or has to tell their ranks
     * of its own window, has arrived. Peers may have to make progress for that.
     * It is called again until then, with nothing new in between. NULL: it always has. */
    bool (*arrived)(struct transport *t, struct window *w);

    /* optional (mandatory if must_progress), hot path. Raises the flags of messages that have come;
     * never blocks. */
    void (*progress)(struct transport *t);

    /*
     * mandatory. Called when a rank waits in vain: gives up the core until an event may have come,
     * for at most timeout_ns. round counts the calls of this wait from 0, so that yielding can come
     * before blocking. A message to any of the n awaited slots, of w, of the own windows that they
     * name or of neighbours' windows, ends it; with n == 0 any message does. Returns true if the
     * rank slept, false if it yielded or did nothing.
     */
    bool (*wait)(struct transport *t, struct window *w, const struct awaited *awaited, unsigned n,
                 unsigned round, int64_t timeout_ns);

    /*
     * optional, all or none: sleeping on a descriptor of the program's. arm() adds to the epoll set
     * what wakes this rank, as far as it is not there yet, with values of enum wake_source as data;
     * and makes whatever happens from now on wake it. What has happened before wakes nobody: so the
     * caller looks at all that it waits for between arm() and its sleep. for_messages false: only
     * control words and failures wake it. Returns NCOLL_OK; NCOLL_TIMEOUT: something has come in the
     * meantime, call check() and progress(); or an error. woken() reads what the set has reported,
     * so that it is not reported again.
     */
    int (*arm)(struct transport *t, int set, bool for_messages);
    void (*woken)(struct transport *t, uint64_t source);

    /* optional. Says whether this rank blocks at once when it waits, or first spins or yields, which is
     * so at first. */
    void (*blocks)(struct transport *t, bool blocks);

    /* optional. Returns the processor time in ns that other connected ranks of this node have used since the
     * last call, as far as they are on the processor of this rank now; and begins anew. It takes
     * microseconds for each rank. NULL: not known. */
    uint64_t (*siblings_ns)(struct transport *t);

    /* mandatory. Looks after the peers (liveness, errors, control words, positions). A rank that
     * waits calls it from time to time; it may be called every 100 us. suspect: world rank that the
     * caller waits for, or -1. */
    void (*check)(struct transport *t, int suspect);

    /* mandatory, by the endpoint. Sends a control word to a connected peer if that is possible; never blocks. */
    void (*control)(struct transport *t, struct endpoint *to, const struct control *message);

    /* mandatory, by the endpoint. Leaves a position where a connected peer finds it in check(); this wakes nobody.
     * It never blocks, and never delays a control word. Returns false if it is not possible now, as
     * the peer may not have read the last one. */
    bool (*tell)(struct transport *t, struct endpoint *to, const struct position *position);

    /* mandatory. */
    void (*counters)(struct transport *t, struct transport_counters *out);

    /* optional. The bare exchange that a two-rank barrier is made of, on the same connection and
     * without any of the layers above: both sides run `iterations`, and in each send `writes`
     * notifications (1 to RAW_WRITES_MAX) and wait for as many. len_bytes (0: none) are written
     * from their scratch to the other's bulk memory, over and over if it is longer, before the last
     * one; samples_ns (iterations) gets each one's time. What lay in bulk memory and scratch is
     * lost. For ncoll-bench --raw and ncoll-tune --costs. */
#define RAW_WRITES_MAX 16u
    int (*raw_exchange)(struct transport *t, struct window *w, struct endpoint *peer,
                        unsigned writes, size_t len_bytes, unsigned iterations,
                        uint64_t *samples_ns);

    /*
     * mandatory. Tells CONTROL_PEER_LEFT to the connected peers, with the farewell that `say` gives
     * for each, and delivers what is in flight. It takes a limited time, whatever the peers do.
     * Nothing is sent after it. say NULL: the farewells are all 0.
     */
    void (*leave)(struct transport *t, farewell_fn say, void *arg);

    /* mandatory, by the endpoint. Gets the farewell of a peer that has left; false: it has not left. If two ranks leave
     * at the same time, at least one gets the other's, provided that both ask after leave(). */
    bool (*farewell)(struct transport *t, const struct endpoint *from, struct farewell *out);

    /* mandatory. Leaves, without farewells, if leave() has not been called, and frees everything. */
    void (*close)(struct transport *t);
};

/* All transports; NULL ends the list. */
extern const struct transport_ops *const ncoll__transports[];
const struct transport_ops *ncoll__transport_find(const char *name);

#endif
