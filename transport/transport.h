/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport contract: notified writes.
 *
 * A transport puts bytes into a peer's window and raises one of the notification slots there; when
 * the slot is seen raised, the bytes are visible. Nothing here knows a collective, a type or an
 * operation. One transport object serves one context and is used by one thread at a time. What a
 * window looks like is in window.h.
 *
 * Reuse. lib/ puts into a peer's window for epoch e only when it knows that the peer has finished
 * epoch e - EPOCHS (see lib/call/credit.h), so a slot, and the bulk area of an epoch, is never
 * written while it is in use. What a put sends stays unchanged until its epoch is finished; before
 * lib/ finishes an epoch whose messages nobody answers it asks drained(). What is shown from
 * scratch stays until lib/ knows that the receiver has finished the epoch; from the user's memory
 * until the epoch is over, by when the receiver has read it: see lib/memory/show.c. What is lent
 * stays until the receiver says that it has fetched it: see lib/memory/lend.c.
 *
 * Neighbours. Ranks of a node may look at each other's slots (`view`), where the transport
 * shares_windows. A slot still has one writer and one rank that is responsible for it; who looks
 * acquires the same flag, which orders its reads after
 *
 *   shm    the stores of the sender, that released the flag;
 *   verbs  the acquisition of the completion by the receiver, which raised the flag (release) after
 *          it, and so after the DMA: happens-before goes on from the receiver to the neighbour. So
 *          the receiver republishes what the device has written. That does not need to be, but asks
 *          nothing of the device: it may place the bytes of a message in any order.
 *
 * Nobody but lib/ keeps the window from being written again while a neighbour reads: see credit.h.
 *
 * The executor reads flags and credits directly; it calls nothing for a message that is already
 * there.
 */
#ifndef NCOLL_TRANSPORT_TRANSPORT_H
#define NCOLL_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ncoll.h"
#include "transport/window.h"

struct ncoll_context;

/* Memory of the user's that the transport knows. Made by the transport, which embeds it in its own,
 * and freed by it. */
struct memory {
    unsigned char *base;
    size_t bytes;
    bool allocated; /* by the transport; else registered */
    bool reachable; /* peers can be invited to put there; */
    bool shown;     /* those of the node can read there */
    bool huge;      /* in huge pages that were set aside */
};

/* A connected peer, owned by the transport, which embeds it in its own. */
struct endpoint {
    int rank; /* world rank */
};

/*
 * One notified write. src: any memory if len <= SLOT_PAYLOAD (it is copied or inlined before put
 * returns), or where the transport sends_any_memory, or sends_any_near; otherwise scratch or bulk
 * memory of the window, or the user's that the transport knows, only.
 */
struct put {
    struct endpoint *to;
    const struct window *window; /* the sender's own window: names the group, and the scratch */
    uint64_t epoch;
    struct card card;
    unsigned slot;
    const void *src;
    const struct memory *memory; /* of the user's, that src lies in; NULL: it does not */
    size_t len_bytes;
    bool answered;      /* the epoch does not end here before src has been read: see drained() */
    bool shown;         /* to a rank of the node, longer than SLOT_PAYLOAD, from scratch, or from
                           memory that can be shown: is read there */
    bool lent;          /* the same, from any memory of the user's: is fetched there */
    size_t bulk_offset; /* into the receiver's bulk memory of the epoch, when len_bytes >
                           SLOT_PAYLOAD */
    const struct invitation *invitation; /* NULL, or how to put it into the receiver's OUT */
    size_t out_offset;                   /* of the place there, from the start of OUT */
};

/* Out-of-band word between connected peers: an error that everyone must learn, mostly. */
struct control {
    uint32_t kind;       /* enum control_kind */
    int32_t rank[2];     /* the two sides, world ranks; rank[1] = -1: about rank[0] alone */
    uint32_t epoch;      /* of the run that it breaks, low bits; CONTROL_MISMATCH only */
    struct card card[2]; /* what each side called */
    uint64_t group;      /* name of the group in which they did; CONTROL_MISMATCH only */
};
_Static_assert(sizeof(struct control) == 56, "wire format");

enum control_kind {
    CONTROL_NONE = 0,
    CONTROL_PEER_FAILED = 1, /* rank[0] died */
    CONTROL_MISMATCH = 2,    /* rank[0] called card[0], rank[1] called card[1] */
    CONTROL_PEER_LEFT = 3,   /* rank[0] destroyed its context */
    CONTROL_DEADLOCK = 4,    /* they wait for each other, each in its call, on different groups */
    CONTROL_PEER_QUIT = 5,   /* rank[0] destroyed its context in a call that connects peers */
};

/* Who asks why it has to wait: see lib/failure/deadlock.c. */
struct question {
    uint64_t group, epoch;  /* the run where it began, */
    uint32_t step;          /* and how far that is */
    int32_t rank;           /* whose; of the world */
    int64_t other;          /* a rank that waits in another group, -1: none so far */
    struct card other_card; /* what that has called */
};

/*
 * Where a rank waits, and for what. That it has called this in this epoch is a fact that stays
 * true, so it may come late, more than once, or never.
 */
struct position {
    uint64_t group; /* name */
    uint64_t epoch;
    struct card card;
    uint32_t slot; /* of the teller's; NO_SLOT: a credit */
    struct question question;
};

/* What one peer must know to reach a window: the transport's own, see offer(). */
#define OFFER_BYTES 48
struct offer {
    uint64_t words[OFFER_BYTES / sizeof(uint64_t)];
};

/* Whether a peer of the node may fetch from any memory of this rank. */
enum lending { LENDING_UNKNOWN, LENDING_REFUSED, LENDING_ALLOWED }; /* unknown: so far */

/* What lib/ gives a transport to report with. Called from inside the transport's operations. */
struct transport_events {
    void *arg;
    /* A peer is gone; how: CONTROL_PEER_FAILED or CONTROL_PEER_LEFT; why in words ("retry
     * exceeded"). */
    void (*peer_gone)(void *arg, int rank, enum control_kind how, const char *why);
    /* A control word came from a peer. */
    void (*control)(void *arg, int from_rank, const struct control *message);
    /* A peer waits for this rank. */
    void (*position)(void *arg, int from_rank, const struct position *position);
    /* An error record for the caller: status, peer or -1, cause, remedy (printf style cause). */
    int (*fail)(void *arg, ncoll_status status, int peer, const char *remedy, const char *cause,
                ...) __attribute__((format(printf, 5, 6)));
    void (*log)(void *arg, ncoll_log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    uint64_t (*now_ns)(void *arg);
};

/* What a transport is opened with. Strings live as long as the transport. */
struct transport_config {
    int rank, ranks;       /* world */
    uint64_t node;         /* identity of this node's memory, same value = shared memory works */
    uint64_t machine;      /* same value, other node: a container of the same machine */
    const uint64_t *nodes; /* [ranks] of all; gone when open() returns */
    const char *device, *wiring;
    int port, gid_index; /* 0 / -1: choose */
    bool huge_pages;     /* the user's memory may lie in such */
    bool fetches;        /* messages that peers of the node lend: to be tried */
    bool oversubscribed; /* ranks of this node outnumber its cores: never spin for long */
    struct transport_events events;
};

/* Growing byte string for blobs that go through the bootstrap. Sticky `failed` on no memory. */
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
    size_t memory_bytes, scratch_bytes; /* all; of these, scratch */
};

/* Cost of messages, for the choice of the radix: one-way latency, what each further message of the
 * same round adds, what each byte adds. */
struct transport_cost {
    double latency_ns;
    double message_ns;
    double byte_ns;
};

struct transport {
    const struct transport_ops *ops;
    const char *wiring;    /* "map", "direct", "rdmacm" */
    char device[96];       /* name, model and firmware of the network's; "": there is none */
    bool sends_any_memory; /* long puts need not come from memory that it knows, */
    bool sends_any_near;   /* or those to ranks of the own node need not */
    bool shows;            /* puts to ranks of the own node may be shown */
    bool must_progress;    /* flags rise only inside progress() */
    bool shares_windows;   /* ranks of a node see each other's windows */
    bool moves_strings;    /* copies to what other cores have are quicker so: see copy.h */
    size_t cached_bytes;   /* more than this on its way to a core falls out of the caches that it
                              goes through; 0: goes through none. The same for all ranks */
    struct transport_cost cost;
    struct transport_cost near_cost; /* within a node; latency_ns 0: the same */
};

struct transport_ops {
    const char *name;

    /* mandatory. Opens devices, sets *out. Not collective. Error: via events.fail. */
    int (*open)(const struct transport_config *config, struct transport **out);

    /* mandatory. What every other rank must know of this one before any connection (may be
     * nothing): appended to blob, O(1) bytes. */
    int (*describe)(struct transport *t, struct blob *blob);

    /* mandatory. A window of a group, zeroed. quiet: nobody writes there any more. */
    int (*window_create)(struct transport *t, const struct window_shape *shape,
                         struct window **out);
    void (*window_destroy)(struct transport *t, struct window *w, bool quiet);

    /*
     * mandatory. Memory of the user's: allocated (zeroed, from the start of a page), or registered
     * where it is. Regions do not overlap. A released one is used by no call any more, but for
     * calls that have failed.
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

    /* optional. This peer and this rank have accepted each other's first offers, as the bootstrap
     * says: so neither needs to find that out by itself. Before ready(); NULL: nobody asks. */
    void (*met)(struct transport *t, int peer);

    /* mandatory. The connection to a world rank, NULL if there is none. */
    struct endpoint *(*endpoint)(struct transport *t, int rank);

    /* mandatory if it shares_windows. The window of a connected peer of the node for w's group.
     * False: it cannot be seen. */
    bool (*view)(struct transport *t, struct endpoint *at, const struct window *w,
                 struct window_view *view);

    /* optional. A slot of this rank that neighbours look at is raised: those that sleep wake. */
    void (*wake_watchers)(struct transport *t);

    /* mandatory, hot path. NCOLL_OK: issued; NCOLL_TIMEOUT: no room now, progress and try again; or
     * an error. */
    int (*put)(struct transport *t, const struct put *put);

    /* mandatory. Sets credits[own rank of the group] in the peer's window to an epoch. Returns as
     * put(). */
    int (*credit)(struct transport *t, struct endpoint *to, const struct window *w, uint64_t epoch);

    /*
     * mandatory. Writes an invitation into the box of this rank in the peer's window, once `out`
     * (in reachable memory m) and the check are filled in. A put() with an invitation may go to the
     * bulk memory all the same; slot.where says which. Returns as put(); may be left out.
     */
    int (*invite)(struct transport *t, struct endpoint *to, const struct window *w, unsigned box,
                  const struct memory *m, const void *out, struct invitation *invitation);

    /*
     * mandatory if it shows. Where this rank finds a message of so many bytes that `from` has shown
     * in w's group: its slot, whose flag is raised, says where it is there. What cannot be mapped
     * is copied to `room`, which *out is then. NCOLL_OK or an error, recorded: neither can be done.
     */
    int (*find)(struct transport *t, struct endpoint *from, const struct window *w,
                const struct slot *slot, size_t len_bytes, unsigned char *room,
                const unsigned char **out);

    /*
     * mandatory if it shows. lending: whether this rank may lend to the peer. fetch: copies a
     * message of so many bytes that `from` has lent, as the slot of the epoch says, whose flag is
     * raised, and tells it so: fetched[slot] of this window comes to the epoch. NCOLL_OK;
     * NCOLL_ERR_ARGUMENT, not recorded: one of the two sides cannot be used; NCOLL_ERR_PEER, not
     * recorded: the sender is gone; or another error, recorded.
     */
    enum lending (*lending)(struct transport *t, const struct endpoint *to);
    int (*fetch)(struct transport *t, struct endpoint *from, struct window *w, uint64_t epoch,
                 unsigned slot, size_t len_bytes, void *to);

    /* optional. Whether what put() was given so far may be overwritten, of the user's memory only
     * or all; NULL: it always may. */
    bool (*drained)(struct transport *t, bool users_only);

    /* optional. Whether all that this rank has written to windows of w's group has arrived; asked
     * again until it has, with nothing new meanwhile. NULL: it always has. */
    bool (*arrived)(struct transport *t, struct window *w);

    /* optional (mandatory if must_progress), hot path. Raises flags of what has come; never blocks.
     */
    void (*progress)(struct transport *t);

    /*
     * mandatory. Called while a rank waits in vain, to give up the core until something may have
     * come, at most timeout_ns; round counts the calls of this wait from 0, so that yielding can
     * come before blocking. What comes to any of the n slots that are awaited, of w or of the
     * neighbours' windows, ends it; n == 0: whatever comes.
     */
    void (*wait)(struct transport *t, struct window *w, const struct awaited *awaited, unsigned n,
                 unsigned round, int64_t timeout_ns);

    /* mandatory. Looks after the peers (liveness, errors, control words, positions); called every
     * now and then from a rank that waits; cheap enough for every 100 us. suspect: world rank
     * waited for, or -1.
     */
    void (*check)(struct transport *t, int suspect);

    /* mandatory. Control word to a connected peer; best effort, never blocks. */
    void (*control)(struct transport *t, struct endpoint *to, const struct control *message);

    /* mandatory. Lays a position where a connected peer looks in check(): it wakes nobody. Never
     * blocks, and never keeps a control word from arriving. False: not now, the peer may not have
     * taken the last one yet. */
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

    /* mandatory. Says CONTROL_PEER_LEFT to the peers, delivers what is in flight, frees all. */
    void (*close)(struct transport *t);
};

/* NULL-terminated. */
extern const struct transport_ops *const ncoll__transports[];
const struct transport_ops *ncoll__transport_find(const char *name);

#endif
