/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shm transport: ranks of one node write into each other's memory.
 *
 *   shm.c      opening, windows, closing          put.c    the hot path
 *   segment.c  memory that peers can map          sleep.c  waiting and waking
 *   memory.c   windows in segments                watch.c  liveness and control words
 *   wire.c     connecting peers                   raw.c    the bare exchange it is measured against
 *   user_memory.c  memory of the user's; fetch.c  the same, fetched by peers
 *
 * Each rank has one board, which all connected peers map, and few segments with its windows.
 */
#ifndef NCOLL_TRANSPORT_SHM_SHM_H
#define NCOLL_TRANSPORT_SHM_SHM_H

#include "algos/schedule.h" /* SLOTS_MAX */
#include "transport/process.h"
#include "transport/shm/segment.h"
#include "transport/transport.h"

#define LINE_BYTES 64

/* Where one peer leaves control words. The sender fills it when it is empty, the owner empties it.
 */
struct mailbox {
    _Alignas(LINE_BYTES) _Atomic uint32_t full;
    struct control word;
    _Alignas(LINE_BYTES) _Atomic uint32_t has_position; /* the same for a position */
    struct position position;
    _Atomic uint32_t lending; /* enum lending: whether the sender may fetch from the owner */
};

enum board_state { BOARD_OPEN = 0, BOARD_LEFT = 1 };

/* What a rank shows its peers. */
struct board {
    struct segment_header header;
    /* What the owner sleeps for, 0: it is awake. Futex word. On a line of its own that is not
     * written while ranks are awake, so that the sender's look at it after every put hits its own
     * cache. */
    _Alignas(LINE_BYTES) _Atomic uint32_t sleeps_for;
    _Alignas(LINE_BYTES) _Atomic uint32_t state; /* enum board_state */
    _Atomic uint32_t mail;                       /* some mailbox may be full */
    _Atomic uint32_t positions;                  /* there may be a position in some */
    /* The last word that the owner had for any peer, for all who find that it has left; kind
     * CONTROL_NONE: it had none. Written before `state`. */
    _Alignas(LINE_BYTES) struct control told;
    struct mailbox boxes[]; /* by the sender's world rank */
};

/* A segment of a peer's, mapped once for all windows that lie in it. */
struct mapping {
    struct segment segment;
    unsigned views;
    struct mapping *next;
};

/* A peer's window, as this rank reaches it. */
struct shm_view {
    struct slot *slots;
    _Atomic uint64_t *fetched;
    _Atomic uint64_t *credits;
    struct invitation_box *invitations;
    unsigned char *bulk;
    const unsigned char *scratch;
    uint64_t offset;         /* in the segment */
    unsigned id;             /* the peer's number for it */
    struct mapping *mapping; /* NULL: none */
};

/* Memory of a peer's user that this rank has been invited to. */
struct reach {
    struct segment segment; /* base NULL: it cannot be mapped */
    uint64_t nonce;
    bool shown; /* this rank has read there */
    struct reach *next;
};

struct shm_peer {
    struct endpoint endpoint;
    int bell;    /* its pipe, -1: none */
    bool fenced; /* put needs a full fence before it looks at sleeps_for: see sleep.c */
    struct board *board;
    struct shm_view *views; /* [n_views], by window id */
    unsigned n_views;

    struct reach *reaches; /* the latest first */

    struct shm_peer *next;
    struct segment board_segment;
    struct mapping *mappings;
    struct process process; /* pid 0: a thread of this process */
    bool gone;              /* reported */
    const void *identity;   /* where it keeps the nonce of its board, in its own memory */
    uint64_t pings;         /* exchanges of raw.c so far */
};

/* Windows lie in few segments: each takes a file descriptor, and a mapping at every peer. */
struct chunk {
    struct segment segment;
    struct shm_window *windows; /* in it, by offset */
    struct chunk *next;
};

struct shm_window {
    struct window window;
    struct chunk *chunk;
    size_t offset, bytes;    /* in the chunk; whole pages */
    struct shm_window *next; /* in the chunk */
};

/* What a rank describes. Wire format between ranks of one build. */
struct shm_description {
    uint64_t node, machine;
    uint64_t pid_namespace;
    struct segment_name board;
    uint32_t uid;
    uint32_t membarrier;
    int32_t bell; /* fd of the pipe that wakes it, -1: it sleeps on a futex */
    int32_t reserved;
    uint64_t identity; /* address of the board's nonce in the process's own memory */
};

/* What it offers for a window. */
struct shm_offer {
    struct segment_name segment;
    uint64_t offset;
    uint32_t id;
    int32_t rank; /* whom it is for */
};
_Static_assert(sizeof(struct shm_offer) <= OFFER_BYTES, "it has to fit");

struct shm {
    struct transport transport;
    struct transport_config config;
    struct segment board_segment;
    struct board *board;
    uint64_t pid_namespace;
    uint64_t nonce;  /* of the next segment */
    bool membarrier; /* see sleep.c */
    bool refused;    /* said that memory of a peer may not be read */
    int bell[2];     /* the pipe that this rank sleeps on, -1: none, a futex */
    int spare;       /* a descriptor to give up where there are no others, -1: none */
    uint64_t sleeps;
    uint64_t next_look_ns;      /* at the processes of peers, */
    struct shm_peer *next_look; /* from this one on; NULL: the first */
    struct shm_peer *connected; /* all peers, in a list */
    struct shm_peer **by_rank;
    struct chunk *chunks;
};

/* Before the windows of a segment. */
#define CHUNK_HEADER_BYTES 4096

/* What a window takes, scratch included. */
static inline size_t shm_window_bytes(const struct window_shape *shape)
{
    return window_bytes(shape) + EPOCHS * shape->scratch_bytes;
}

/* memory.c */
/* Zeroed memory for a window, whose bytes are set. 0 or -errno. */
int ncoll__shm_window_allocate(struct shm *s, struct shm_window *w);
/* in_use: peers may still read there; what they have mapped stays as it is. */
void ncoll__shm_window_release(struct shm *s, struct shm_window *w, bool in_use);
/* A segment of the peer's for one more view, mapped at need. 0 or -errno. */
int ncoll__shm_map(struct shm_peer *peer, const struct segment_name *name, struct mapping **out);
void ncoll__shm_unmap(struct shm_peer *peer, struct mapping *mapping);

/* shm.c: the error of a system call that was to give memory for something. */
int ncoll__shm_no_memory(const struct shm *s, const char *what, size_t bytes, int error);

/* user_memory.c */
int ncoll__shm_memory_allocate(struct transport *t, size_t bytes, struct memory **out);
int ncoll__shm_memory_register(struct transport *t, void *base, size_t bytes, struct memory **out);
void ncoll__shm_memory_release(struct transport *t, struct memory *m);
int ncoll__shm_invite(struct transport *t, struct endpoint *to, const struct window *w,
                      unsigned box, const struct memory *m, const void *out,
                      struct invitation *invitation);
/* Where a message of so many bytes goes that a peer has invited; NULL: it cannot be reached. */
unsigned char *ncoll__shm_reach(struct shm_peer *peer, const struct place *out, size_t offset,
                                size_t len_bytes);
void ncoll__shm_reach_nothing(struct shm_peer *peer);
/* Where a peer of the node finds what lies in m, which can be shown. */
struct place ncoll__shm_place(const struct memory *m, const void *at);
int ncoll__shm_find(struct transport *t, struct endpoint *from, const struct window *w,
                    const struct slot *slot, size_t len_bytes, unsigned char *room,
                    const unsigned char **out);

/* fetch.c */
/* Finds out whether this rank may read a peer's memory, which is connected, and tells it. */
void ncoll__shm_try_fetching(struct shm *s, struct shm_peer *peer);
enum lending ncoll__shm_lending(struct transport *t, const struct endpoint *to);
int ncoll__shm_fetch(struct transport *t, struct endpoint *from, struct window *w, uint64_t epoch,
                     unsigned slot, size_t len_bytes, void *to);

/* wire.c */
/* The error of what stands in the way of mapping a peer's memory. */
int ncoll__shm_cannot_map(struct shm *s, int rank, const struct segment_name *name, int error);
int ncoll__shm_offer(struct transport *t, struct window *w, int peer, unsigned depth,
                     struct offer *offer);
int ncoll__shm_accept(struct transport *t, struct window *w, int peer, const void *peer_desc,
                      size_t peer_desc_len, const struct offer *offer);
int ncoll__shm_ready(struct transport *t, const int *peers, unsigned n_peers);
struct endpoint *ncoll__shm_endpoint(struct transport *t, int rank);
bool ncoll__shm_view(struct transport *t, struct endpoint *at, const struct window *w,
                     struct window_view *view);
void ncoll__shm_disconnect(struct shm_peer *peer); /* frees it */

/* put.c, raw.c */
int ncoll__shm_put(struct transport *t, const struct put *put);
int ncoll__shm_credit(struct transport *t, struct endpoint *to, const struct window *w,
                      uint64_t epoch);
int ncoll__shm_raw_exchange(struct transport *t, struct window *w, struct endpoint *peer,
                            unsigned writes, size_t len_bytes, unsigned iterations,
                            uint64_t *samples_ns);

/* sleep.c */
bool ncoll__shm_register_membarrier(void);
void ncoll__shm_wait(struct transport *t, struct window *w, const struct awaited *awaited,
                     unsigned n, unsigned round, int64_t timeout_ns);
/* Wakes a peer if it still sleeps for what was read from sleeps_for. */
void ncoll__shm_wake(struct shm_peer *peer, uint32_t sleeps_for);
/* Wakes peers that sleep for what they look at in a neighbour's window. */
void ncoll__shm_wake_watchers(struct transport *t);
/* For a rank that sleeps on other things, too: its peers ring a bell. 0 or -errno. */
int ncoll__shm_make_bell(struct shm *s);
/* Says what this rank will sleep for. False: something has come. Either way, awake() follows. */
bool ncoll__shm_fall_asleep(struct shm *s, struct window *w, const struct awaited *awaited,
                            unsigned n);
void ncoll__shm_awake(struct shm *s);

#define SLEEPS_FOR_ANYTHING UINT32_MAX
#define SLEEPS_FOR_NEAR     (UINT32_MAX - 1) /* what a neighbour is to see */
/* Longest sleep for whatever comes: there is no flag to look at after sleeps_for is set, so a
 * message that came just before does not wake. */
#define SLEEP_ANYTHING_NS INT64_C(1000000)

/* What sleeps_for holds while its owner waits for a slot; never 0. */
static inline uint32_t sleeps_for_slot(unsigned window, uint64_t epoch, unsigned slot)
{
    return 1 + (window * SLOTS_MAX + slot) * EPOCHS + (uint32_t)(epoch % EPOCHS);
}

/* watch.c */
void ncoll__shm_check(struct transport *t, int suspect);
void ncoll__shm_control(struct transport *t, struct endpoint *to, const struct control *message);
bool ncoll__shm_tell(struct transport *t, struct endpoint *to, const struct position *position);
void ncoll__shm_leave(struct shm *s);

#endif
