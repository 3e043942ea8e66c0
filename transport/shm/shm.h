/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shm transport: ranks of one node write into each other's memory.
 *
 *   shm.c      opening, windows, closing          put.c    the hot path
 *   segment.c  memory that peers can map          sleep.c  waiting and waking
 *   memory.c   windows in segments                watch.c  liveness and control words
 *   wire.c     connecting peers                   raw.c    the bare exchange it is measured against
 *   left.c     those that have left before    identity.c  reading in a peer's process
 *   limit.c    how much memory there can be
 *   user_memory.c  memory of the user's; get.c  gets from it, for single copies
 *   errors.c   what stands in the way      siblings.c  who else uses this rank's processor
 *   bell.c     the pipe that wakes a rank which sleeps on descriptors
 *   loop.c     sleeping in the program's loop
 *
 * Each rank has one board, which all connected peers map, and few segments with its windows.
 */
#ifndef NCOLL_TRANSPORT_SHM_SHM_H
#define NCOLL_TRANSPORT_SHM_SHM_H

#include "algos/schedule.h" /* SLOTS_MAX */
#include "transport/process.h"
#include "transport/push.h"
#include "transport/shm/segment.h"
#include "transport/transport.h"

#define LINE_BYTES 64

/* Ranks that hand the core on to each other are away for microseconds, or for as long as they copy and
 * combine data; a slice of Linux's scheduler is 0.7 to 4 ms. */
#define SHM_LONG_ABSENCE_NS 500000

/* A mailbox, in which one peer leaves control words for the owner. The sender fills it only when it
 * is empty, and the owner empties it. */
struct mailbox {
    _Alignas(LINE_BYTES) _Atomic uint32_t full;
    struct control word;
    _Alignas(LINE_BYTES) _Atomic uint32_t has_position; /* the mailbox holds a position */
    struct position position;
    /* enum single_copy: whether the sender can get messages of the owner */
    _Atomic uint32_t single_copy;
    _Atomic uint32_t left; /* the sender has left; written after everything else here */
    struct farewell farewell;
};

enum board_state { BOARD_OPEN = 0, BOARD_LEFT = 1 };

/* The state of a rank that its peers can read. */
struct board {
    struct segment_header header;
    /* The event that the owner sleeps for; 0 or AWAKE_FENCED: it is awake. It is a futex word on a cache line of
     * its own, which is not written while ranks are awake. So the sender's look at it after every put
     * hits its own cache. */
    _Alignas(LINE_BYTES) _Atomic uint32_t sleeps_for;
    /* The slots that the owner still lacks, as bits, while it sleeps for all of them. */
    _Atomic uint64_t lacks;
    /* The pipe that wakes the owner: low bits of its inode, and its descriptor; 0: there is none.
     * Written once, before the owner first sleeps for BELL_FOR_.. */
    _Atomic uint64_t bell;
    _Alignas(LINE_BYTES) _Atomic uint32_t state; /* enum board_state */
    /* Which mailboxes may hold a control word, or a position: bit r % 64 stands for all senders r
     * with that remainder. */
    _Atomic uint64_t mail, positions;
    /* The last control word that the owner sent to any peer, for all peers that find that it has
     * left; kind CONTROL_NONE: there was none. Written before `state`. */
    _Alignas(LINE_BYTES) struct control told;
    struct mailbox boxes[]; /* by world rank of the sender */
};

/* A segment of a peer, mapped once for all windows that lie in it. */
struct mapping {
    struct segment segment;
    unsigned views;
    struct mapping *next;
};

/* A peer's window, as this rank sees it. */
struct shm_view {
    struct slot *slots;
    _Atomic uint64_t *got;
    _Atomic uint64_t *credits;
    struct advertisement_box *advertisements;
    unsigned char *bulk;
    const unsigned char *scratch;
    uint64_t offset;         /* offset in the segment */
    unsigned id;             /* the peer's number of the window */
    struct mapping *mapping; /* NULL: not mapped */
};

/* Memory of a peer's user that the peer has advertised to this rank. */
struct reach {
    struct segment segment; /* base NULL: it cannot be mapped */
    uint64_t nonce;
    bool was_read; /* this rank has read it */
    struct reach *next;
};

/* Memory that the user has allocated, in a segment of its own, or registered. */
struct shm_memory {
    struct memory memory;
    struct segment segment;   /* zeroed: the memory is registered */
    struct segment_name name; /* by which peers find it */
};

struct shm_peer {
    struct endpoint endpoint;
    int bell;      /* the pipe that wakes the peer; -1: none, or not opened yet */
    bool no_futex; /* it is the bell that always wakes it */
    bool fenced;   /* a put needs a full fence before it looks at sleeps_for: see sleep.c */
    struct board *board;
    struct shm_view *views; /* [n_views], by window id */
    unsigned n_views;

    struct reach *reaches; /* the latest first */
    struct pushes pushes;  /* costs of copies to it */
    uint64_t used_ns;      /* its processor time, see ncoll__shm_siblings_ns() */

    struct shm_peer *next;
    struct shm *owner; /* this rank */
    bool in_set;       /* its end wakes this rank: see loop.c */
    struct segment board_segment;
    struct segment_name board_name;
    struct mapping *mappings;
    struct process process; /* pid 0: it is a thread of this process */
    bool gone;              /* its end has been reported */
    const void *identity;   /* address of its board's nonce in its own memory */
    uint64_t pings;         /* number of exchanges of raw.c so far */
};

/* A segment for windows. There are few, since each takes a file descriptor, and a mapping at every
 * peer. */
struct chunk {
    struct segment segment;
    struct shm_window *windows; /* its windows, by offset */
    struct shm_residue *residues;
    struct chunk *next;
};

/* The place of a freed window whose pages were kept. */
struct shm_residue {
    size_t offset, bytes;
    struct window_shape shape;
    struct shm_residue *next;
};

struct shm_window {
    struct window window;
    struct chunk *chunk;
    size_t offset, bytes;    /* place in the chunk, in whole pages */
    struct shm_window *next; /* next in the chunk */
};

/* The description that a rank publishes: wire format between ranks of one build. */
struct shm_description {
    uint64_t node, machine;
    uint64_t pid_namespace;
    struct segment_name board;
    uint32_t uid;
    uint32_t membarrier;
    int32_t bell;        /* fd of the pipe that wakes the rank; -1: it sleeps on a futex */
    uint32_t bell_inode; /* low bits of the pipe's inode: a peer checks them before it writes */
    uint64_t identity;   /* address of the board's nonce in the rank's own memory */
};

/* The offer of a window to a peer. */
struct shm_offer {
    struct segment_name segment;
    uint64_t offset;
    uint32_t id;
    int32_t rank; /* the rank that it is for */
};
_Static_assert(sizeof(struct shm_offer) <= OFFER_BYTES, "it has to fit");

struct shm {
    struct transport transport;
    struct transport_config config;
    struct segment board_segment;
    struct board *board;
    uint64_t pid_namespace;
    uint64_t nonce;  /* nonce of the next segment */
    bool membarrier; /* membarrier() can be used: see sleep.c */
    bool refused;    /* a line was logged that a peer's memory may not be read */
    bool has_left;   /* this rank has told its peers that it leaves */
    bool blocks;     /* this rank blocks at once when it waits */
    bool announced;  /* it has said that it sleeps for anything, and not slept yet */
    int bell[2];     /* the pipe that this rank sleeps on; -1: it sleeps on a futex alone */
    bool on_bell;    /* the program sleeps on the pipe */
    int spare;       /* a descriptor kept for the case that there are no others; -1: none */
    uint64_t sleeps;
    uint64_t next_look_ns;      /* next time to look at the peers' processes */
    uint64_t next_program_ns;   /* next time to look at the program of the one waited for */
    struct shm_peer *next_look; /* the peer to begin with; NULL: the first */
    struct shm_peer *connected; /* list of all peers */
    struct shm_peer **by_rank;
    struct chunk *chunks;
};

/* The memory before the first window of a segment. */
#define CHUNK_HEADER_BYTES 4096

/* memory.c */
/* Finds zeroed memory for a window, whose size is set. Returns 0 or -errno. */
int ncoll__shm_window_allocate(struct shm *s, struct shm_window *w);
/* Releases a window that no rank uses any more. */
void ncoll__shm_window_release(struct shm *s, struct shm_window *w);
/* Releases a chunk. Peers that have mapped it keep its memory as it is. */
void ncoll__shm_chunk_release(struct shm *s, struct chunk *chunk);
/* Finds the mapping of a peer's segment for one more view; maps the segment if necessary. Returns 0
 * or -errno. */
int ncoll__shm_map(struct shm_peer *peer, const struct segment_name *name, struct mapping **out);
/* releases the mapping of one view; NULL is ignored */
void ncoll__shm_unmap(struct mapping *mapping);
void ncoll__shm_unmap_all(struct shm_peer *peer);

/* errors.c: reports that a system call could not get memory for a purpose. */
int ncoll__shm_no_memory(const struct shm *s, const char *what, size_t bytes, int error);

/* Reports the reason why a peer's memory cannot be mapped. */
int ncoll__shm_cannot_map(struct shm *s, int rank, const struct segment_name *name, int error);

/* user_memory.c */
int ncoll__shm_memory_allocate(struct transport *t, size_t bytes, struct memory **out);
int ncoll__shm_memory_register(struct transport *t, void *base, size_t bytes, struct memory **out);
void ncoll__shm_memory_release(struct transport *t, struct memory *m);
/* Returns the whole segment of allocated memory; registered memory is returned as it is. */
void ncoll__shm_whole(const struct memory *m, void **base, size_t *bytes);
int ncoll__shm_advertise(struct transport *t, struct endpoint *to, const struct window *w,
                         unsigned box, const struct memory *m, const void *out,
                         struct advertisement *advertisement);
/* Maps the segment of a place in the memory of a peer's user, and notes a failure. Returns 0 or
 * -errno. */
int ncoll__shm_attach(struct shm_peer *peer, const struct place *place, struct reach **out);
void ncoll__shm_reach_nothing(struct shm_peer *peer);

/* Returns the place by which a peer of the node finds `at`, in memory m that peers can read:
 * process and file, length and nonce of struct segment_name, and the offset. */
static inline struct place shm_place(const struct memory *m, const void *at)
{
    const struct shm_memory *own = (const struct shm_memory *)m;

    return (struct place){
        {(uint64_t)(uint32_t)own->name.pid << 32 | (uint32_t)own->name.fd, own->name.bytes,
         own->name.nonce,
         (uint64_t)((const unsigned char *)at - (unsigned char *)own->segment.base)}};
}

/* Finds the mapping of a place in the memory of a peer's user; NULL: it was never mapped. */
static inline struct reach *shm_find_reach(const struct shm_peer *peer, const struct place *place)
{
    struct reach *r = peer->reaches;

    while (r != NULL && r->nonce != place->words[2])
        r = r->next;
    return r;
}

/* Returns the address of these bytes of a mapping; NULL: they are not in it. */
static inline unsigned char *shm_reach_at(const struct reach *r, uint64_t at, size_t len_bytes)
{
    if (r->segment.base == NULL || at > r->segment.bytes || len_bytes > r->segment.bytes - at)
        return NULL;
    return (unsigned char *)r->segment.base + at;
}

int ncoll__shm_find(struct transport *t, struct endpoint *from, const struct window *w,
                    const struct slot *slot, size_t len_bytes, unsigned char *room,
                    const unsigned char **out);

/* identity.c */
/* Copies from the memory of a peer's process. Returns 0; -ESRCH: the process has ended; or
 * -errno. */
int ncoll__shm_read_peer(const struct shm_peer *peer, void *to, const void *at, size_t len_bytes);
/* Returns 0 if the peer's process is still the one that connected; -ESRCH if it is not; -errno if
 * this rank may not check. */
int ncoll__shm_identify(const struct shm_peer *peer);

/* get.c */
/* Finds out whether this rank may read the memory of a connected peer, and tells the peer. */
void ncoll__shm_try_single_copy(struct shm *s, struct shm_peer *peer);
enum single_copy ncoll__shm_single_copy(struct transport *t, const struct endpoint *to);
int ncoll__shm_get(struct transport *t, struct endpoint *from, struct window *w, uint64_t epoch,
                   unsigned slot, size_t len_bytes, void *to);

/* wire.c */
int ncoll__shm_offer(struct transport *t, struct window *w, int peer, unsigned depth,
                     struct offer *offer);
int ncoll__shm_accept(struct transport *t, struct window *w, int peer, const void *peer_desc,
                      size_t peer_desc_len, const struct offer *offer);
int ncoll__shm_ready(struct transport *t, const int *peers, unsigned n_peers);
struct endpoint *ncoll__shm_endpoint(struct transport *t, int rank);
bool ncoll__shm_view(struct transport *t, struct endpoint *at, const struct window *w,
                     struct window_view *view);
void ncoll__shm_disconnect(struct shm_peer *peer); /* frees the peer */

/* left.c: peers that have left before this rank could map their memory. */
/* True if the peer has told this rank that it has left. */
bool ncoll__shm_has_said_goodbye(const struct shm *s, int rank);
/* Connects a peer that has left, so that messages to it have no effect. Returns NCOLL_OK or an
 * error. */
int ncoll__shm_connect_left(struct shm *s, int rank);
/* Makes a mapping that takes the place of its window. Returns 0 or -errno. */
int ncoll__shm_map_left(struct shm_peer *peer, size_t bytes, struct mapping **out);

/* put.c, raw.c */
int ncoll__shm_put(struct transport *t, const struct put *put);
int ncoll__shm_credit(struct transport *t, struct endpoint *to, const struct window *w,
                      uint64_t epoch);
int ncoll__shm_raw_exchange(struct transport *t, struct window *w, struct endpoint *peer,
                            unsigned writes, size_t len_bytes, unsigned iterations,
                            uint64_t *samples_ns);

/* sleep.c */
bool ncoll__shm_register_membarrier(void);
bool ncoll__shm_wait(struct transport *t, struct window *w, const struct awaited *awaited,
                     unsigned n, unsigned round, int64_t timeout_ns);
/* Wakes a peer if it still sleeps for the value that was read from sleeps_for. */
void ncoll__shm_wake(struct shm_peer *peer, uint32_t sleeps_for);
/* Returns what a peer sleeps for now. The caller has stored something that the peer may wait for, and
 * has then read a value other than 0 without a fence. */
uint32_t ncoll__shm_look_again(const struct shm_peer *peer);
/* Wakes peers that sleep and wait for an event in a neighbour's window. */
void ncoll__shm_wake_watchers(struct transport *t);
/* Writes to the board what this rank sleeps for, with a fence that serves both sides. */
void ncoll__shm_announce(struct shm *s, uint32_t sleeps_for);
/* Publishes what this rank will sleep for. Returns false if that has come already. In either case
 * awake() must follow. */
bool ncoll__shm_fall_asleep(struct shm *s, struct window *w, const struct awaited *awaited,
                            unsigned n);
void ncoll__shm_awake(struct shm *s);
uint64_t ncoll__shm_siblings_ns(struct transport *t);
/* Says whether this rank blocks at once when it waits. */
void ncoll__shm_blocks(struct transport *t, bool blocks);

/* bell.c */
/* Makes the pipe by which peers wake a rank that also sleeps on other file descriptors. Returns 0
 * or -errno. */
int ncoll__shm_make_bell(struct shm *s);
uint32_t ncoll__shm_bell_inode(const struct shm *s); /* inode of this rank's pipe; 0: it has none */
void ncoll__shm_empty_bell(struct shm *s);
/* Opens the pipe of a peer, in its process and of this inode. Returns 0 or -errno. */
int ncoll__shm_open_bell(struct shm_peer *peer, int fd, uint32_t inode);
/* Wakes a peer whose program sleeps on the pipe. */
void ncoll__shm_ring(struct shm_peer *peer, uint32_t sleeps_for);
/* loop.c */
int ncoll__shm_arm(struct transport *t, int set, bool for_messages);
void ncoll__shm_woken(struct transport *t, uint64_t source);

#define SLEEPS_FOR_ANYTHING UINT32_MAX
#define BELL_FOR_ANYTHING   (UINT32_MAX - 1)    /* the same; the program sleeps on the bell */
#define SLEEPS_FOR_NEAR     (UINT32_MAX - 2)    /* the event is in a neighbour's window */
#define AWAKE_FENCED        (UINT32_MAX - 3)    /* awake, but may sleep without a membarrier */
#define BELL_FOR_WORDS      (UINT32_MAX - 4)    /* on the bell, for control words alone */
#define SLEEPS_FOR_ALL      (UINT32_C(1) << 30) /* of several slots: added to the value for slot 0 */
#define SLOTS_OF_ALL        64u                 /* those slots are below this number */
/* The longest sleep without a certain slot, as there is no flag to check after sleeps_for is set.
 * Ranks that share a core sleep so many times longer: see PREPARING_NAP_NS in lib/run/wait.c. */
#define SLEEP_ANYTHING_NS INT64_C(1000000)
static inline int64_t shm_sleep_anything_ns(const struct shm *s)
{
    double share = s->config.ranks_per_core > 1 ? s->config.ranks_per_core : 1;

    return (int64_t)(SLEEP_ANYTHING_NS * share);
}

/* True if every message wakes a rank with this value of sleeps_for. */
static inline bool sleeps_for_anything(uint32_t sleeps_for)
{
    return sleeps_for >= BELL_FOR_ANYTHING;
}
/* Returns the value of sleeps_for of a rank that waits for a slot; never 0. */
static inline uint32_t sleeps_for_slot(unsigned window, uint64_t epoch, unsigned slot)
{
    return 1 + (window * SLOTS_MAX + slot) * EPOCHS + (uint32_t)(epoch % EPOCHS);
}
/* Returns the value of sleeps_for of a rank that waits for all of several slots. */
static inline uint32_t sleeps_for_all(unsigned window, uint64_t epoch)
{
    return SLEEPS_FOR_ALL + sleeps_for_slot(window, epoch, 0);
}

/* watch.c */
/* Wakes a peer if it sleeps. */
void ncoll__shm_wake_up(struct shm_peer *peer);
void ncoll__shm_check(struct transport *t, int suspect);
/* Checks a peer: reports its end, unless it has left in order; also_program: and exec(). */
void ncoll__shm_look_at(struct shm *s, struct shm_peer *peer, bool also_program);
void ncoll__shm_control(struct transport *t, struct endpoint *to, const struct control *message);
bool ncoll__shm_tell(struct transport *t, struct endpoint *to, const struct position *position);

/* left.c */
void ncoll__shm_leave(struct transport *t, farewell_fn say, void *arg);
bool ncoll__shm_farewell(struct transport *t, const struct endpoint *from, struct farewell *out);

#endif
