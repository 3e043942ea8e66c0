/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shm transport: ranks of one node write into each other's memory.
 *
 *   shm.c      opening, windows, closing          put.c    the hot path
 *   segment.c  memory that peers can map          sleep.c  waiting and waking
 *   memory.c   windows in segments                watch.c  liveness and control words
 *   wire.c     connecting peers                   raw.c    the bare exchange, for comparison
 *   left.c     peers that leave                   identity.c  reading a peer's memory
 *   limit.c    the most memory that a process can have
 *   user_memory.c  the user's memory              get.c    gets from it, for single copies
 *   errors.c   errors of sharing memory           siblings.c  other ranks on this processor
 *   bell.c     the pipe that wakes a rank which sleeps on descriptors
 *   loop.c     sleeping in the program's event loop
 *
 * Each rank has one board, which all connected peers map, and a few segments with its windows.
 */
#ifndef NCOLL_TRANSPORT_SHM_SHM_H
#define NCOLL_TRANSPORT_SHM_SHM_H

#include "algos/schedule.h" /* SLOTS_MAX */
#include "transport/process.h"
#include "transport/push.h"
#include "transport/shm/segment.h"
#include "transport/transport.h"

#define LINE_BYTES 64

/* The absence after which a rank blocks (long_absence_ns in struct transport). Ranks that pass a
 * core on to each other are absent for microseconds, or as long as the others copy and combine
 * data. A foreign process takes the core for a time slice of Linux's scheduler, 0.7 to 4 ms. */
#define SHM_LONG_ABSENCE_NS 500000

/* A mailbox, in which one peer leaves control words for the owner. The sender fills it only when it
 * is empty, and the owner empties it. */
struct mailbox {
    _Alignas(LINE_BYTES) _Atomic uint32_t full;
    struct control word;
    _Alignas(LINE_BYTES) _Atomic uint32_t has_position; /* the mailbox holds a position */
    struct position position;
    /* enum single_copy: tells if the sender can get messages from the owner */
    _Atomic uint32_t single_copy;
    _Atomic uint32_t left; /* 1: the sender has left; written after everything else here */
    struct farewell farewell;
};

enum board_state { BOARD_OPEN = 0, BOARD_LEFT = 1 };

/* The board of a rank, which its peers map: the state of the rank, and mailboxes for words to
 * it. */
struct board {
    struct segment_header header;
    /* The event that the owner sleeps for (SLEEPS_FOR_.., BELL_FOR_.. or sleeps_for_slot()); 0 or
     * AWAKE_FENCED: the owner is awake. This futex word is on a cache line of its own, which is not
     * written while ranks are awake. So a sender, which reads the word after every put, finds it in
     * the sender's own cache. */
    _Alignas(LINE_BYTES) _Atomic uint32_t sleeps_for;
    /* While the owner sleeps for all of several slots: the bits of those without a message yet. */
    _Atomic uint64_t lacks;
    /* The pipe that wakes the owner: low bits of the pipe's inode << 32 | its descriptor; 0: none.
     * Written once, before the owner first sleeps for BELL_FOR_.. */
    _Atomic uint64_t bell;
    _Alignas(LINE_BYTES) _Atomic uint32_t state; /* enum board_state */
    /* Bits of the mailboxes that may hold a control word, or a position: bit r % 64 stands for all
     * senders r with that remainder. */
    _Atomic uint64_t mail, positions;
    /* The last control word that the owner sent to any peer. Peers read it when they find that the
     * owner has left or ended. kind CONTROL_NONE: there was none. Written before `state`. */
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

/* A segment of a peer's user memory that this rank puts to or reads. */
struct reach {
    struct segment segment; /* base NULL: it cannot be mapped */
    uint64_t nonce;
    bool was_read; /* this rank has read it */
    struct reach *next;
};

/* A region of user memory: allocated in a segment of its own, or registered. */
struct shm_memory {
    struct memory memory;
    struct segment segment;   /* zeroed: the memory is registered */
    struct segment_name name; /* the name by which peers find the segment */
};

struct shm_peer {
    struct endpoint endpoint;
    int bell;      /* the pipe that wakes the peer; -1: none, or not opened yet */
    bool no_futex; /* the bell always wakes the peer, never a futex (shm+verbs) */
    bool fenced;   /* a put needs a full fence before it looks at sleeps_for: see sleep.c */
    struct board *board;
    struct shm_view *views; /* [n_views], by window id */
    unsigned n_views;

    struct reach *reaches; /* list, the latest one first */
    struct pushes pushes;  /* costs of copies to the peer */
    uint64_t used_ns;      /* processor time of the peer at the last ncoll__shm_siblings_ns() */

    struct shm_peer *next;
    struct shm *owner; /* the transport of this rank */
    bool in_set;       /* the end of the peer's process wakes this rank: see loop.c */
    struct segment board_segment;
    struct segment_name board_name;
    struct mapping *mappings;
    struct process process; /* pid 0: the peer is a thread of this process */
    bool gone;              /* the end of the peer has been reported */
    const void *identity;   /* address of the nonce of the peer's board, in the peer's process */
    uint64_t pings;         /* number of bare exchanges (raw.c) so far */
};

/* A segment for windows. There are few, since each takes a file descriptor, and a mapping at every
 * peer. */
struct chunk {
    struct segment segment;
    struct shm_window *windows; /* list of the windows in it, by offset */
    struct shm_residue *residues;
    struct chunk *next;
};

/* A place in a chunk where a freed window was, whose pages were kept for the next window. */
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
    uint64_t identity;   /* address of the board's nonce in the rank's own process */
};

/* The offer of a window to a peer. */
struct shm_offer {
    struct segment_name segment;
    uint64_t offset;
    uint32_t id;
    int32_t rank; /* the world rank that the offer is for */
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
    bool refused;    /* a line was logged that the kernel forbids reading a peer's memory */
    bool has_left;   /* this rank has told its peers that it leaves */
    bool blocks;     /* this rank blocks at once when it waits */
    bool
        announced; /* the board says that this rank sleeps for anything, but it has not slept yet */
    int bell[2];   /* the pipe that wakes this rank; -1: it sleeps on a futex alone */
    bool on_bell;  /* the pipe is in the epoll set on which the program sleeps */
    int spare;     /* a descriptor that is closed when no other one is left; -1: none */
    uint64_t sleeps;
    uint64_t next_look_ns;      /* next time to check the processes of peers */
    uint64_t next_program_ns;   /* next time to check that the awaited peer has not called exec() */
    struct shm_peer *next_look; /* the peer to check next; NULL: the first */
    struct shm_peer *connected; /* list of all peers */
    struct shm_peer **by_rank;
    struct chunk *chunks;
};

/* The number of bytes before the first window of a segment. */
#define CHUNK_HEADER_BYTES 4096

/* memory.c */
/* Finds memory for a window, whose `bytes` is set. What is not overwritten before it is read is
 * zero there. Returns 0 or -errno. */
int ncoll__shm_window_allocate(struct shm *s, struct shm_window *w);
/* Releases a window that no rank uses any more. */
void ncoll__shm_window_release(struct shm *s, struct shm_window *w);
/* Releases a chunk. Peers that have mapped it keep its memory as it is. */
void ncoll__shm_chunk_release(struct shm *s, struct chunk *chunk);
/* Finds the mapping of a peer's segment for one more view; maps the segment if necessary. Returns 0
 * or -errno. */
int ncoll__shm_map(struct shm_peer *peer, const struct segment_name *name, struct mapping **out);
/* Releases the mapping for one view; NULL is ignored. */
void ncoll__shm_unmap(struct mapping *mapping);
void ncoll__shm_unmap_all(struct shm_peer *peer);

/* errors.c: records an error: a system call could not get `bytes` of memory for `what`. */
int ncoll__shm_no_memory(const struct shm *s, const char *what, size_t bytes, int error);

/* Records an error with the reason why a peer's memory cannot be mapped. */
int ncoll__shm_cannot_map(struct shm *s, int rank, const struct segment_name *name, int error);

/* user_memory.c */
int ncoll__shm_memory_allocate(struct transport *t, size_t bytes, struct memory **out);
int ncoll__shm_memory_register(struct transport *t, void *base, size_t bytes, struct memory **out);
void ncoll__shm_memory_release(struct transport *t, struct memory *m);
/* Finds the whole segment of allocated memory, or registered memory as it is. */
void ncoll__shm_whole(const struct memory *m, void **base, size_t *bytes);
int ncoll__shm_advertise(struct transport *t, struct endpoint *to, const struct window *w,
                         unsigned box, const struct memory *m, const void *out,
                         struct advertisement *advertisement);
/* Maps the segment of a place in a peer's user memory, and adds it to peer->reaches, even if it
 * cannot be mapped. Returns 0 or -errno. */
int ncoll__shm_attach(struct shm_peer *peer, const struct place *place, struct reach **out);
void ncoll__shm_reach_nothing(struct shm_peer *peer);

/* Returns the place by which a peer of the node finds the address `at` in memory m, which peers can
 * read: process and file descriptor, length and nonce of struct segment_name, and the offset. */
static inline struct place shm_place(const struct memory *m, const void *at)
{
    const struct shm_memory *own = (const struct shm_memory *)m;

    return (struct place){
        {(uint64_t)(uint32_t)own->name.pid << 32 | (uint32_t)own->name.fd, own->name.bytes,
         own->name.nonce,
         (uint64_t)((const unsigned char *)at - (unsigned char *)own->segment.base)}};
}

/* Returns the segment of a place in a peer's user memory; NULL: ncoll__shm_attach() was not
 * called. */
static inline struct reach *shm_find_reach(const struct shm_peer *peer, const struct place *place)
{
    struct reach *r = peer->reaches;

    while (r != NULL && r->nonce != place->words[2])
        r = r->next;
    return r;
}

/* Returns the address of len_bytes at offset `at` of a segment; NULL: they are not in it. */
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
/* Tries to read the memory of a connected peer, and tells the peer the result in its mailbox. */
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
/* Makes a mapping in place of the window of a peer that has left. Returns 0 or -errno. */
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
/* Executes a fence, and returns sleeps_for of a peer. The caller has stored something that the peer
 * may wait for, and has then read a value other than 0 from sleeps_for without a fence. */
uint32_t ncoll__shm_look_again(const struct shm_peer *peer);
/* Wakes peers that sleep and wait for an event in a neighbour's window. */
void ncoll__shm_wake_watchers(struct transport *t);
/* Sets sleeps_for of this rank, followed by a fence for this rank and for senders: see sleep.c. */
void ncoll__shm_announce(struct shm *s, uint32_t sleeps_for);
/* Sets sleeps_for of this rank for the n awaited events. Returns false if one of them, or a control
 * word, has come already. In either case the caller has to call ncoll__shm_awake(). */
bool ncoll__shm_fall_asleep(struct shm *s, struct window *w, const struct awaited *awaited,
                            unsigned n);
void ncoll__shm_awake(struct shm *s);
uint64_t ncoll__shm_siblings_ns(struct transport *t);
/* Tells if this rank blocks at once when it waits: `blocks` of struct transport_ops. */
void ncoll__shm_blocks(struct transport *t, bool blocks);

/* bell.c */
/* Makes the pipe by which peers wake a rank that also sleeps on other file descriptors. Returns 0
 * or -errno. */
int ncoll__shm_make_bell(struct shm *s);
uint32_t ncoll__shm_bell_inode(const struct shm *s); /* inode of this rank's pipe; 0: it has none */
void ncoll__shm_empty_bell(struct shm *s);
/* Opens the pipe that is descriptor fd in a peer's process, if it has this inode. Returns 0 or
 * -errno. */
int ncoll__shm_open_bell(struct shm_peer *peer, int fd, uint32_t inode);
/* Wakes a peer whose program sleeps on the pipe. */
void ncoll__shm_ring(struct shm_peer *peer, uint32_t sleeps_for);
/* loop.c */
int ncoll__shm_arm(struct transport *t, int set, bool for_messages);
void ncoll__shm_woken(struct transport *t, uint64_t source);

#define SLEEPS_FOR_ANYTHING UINT32_MAX
#define BELL_FOR_ANYTHING   (UINT32_MAX - 1) /* sleeps on the bell, for anything */
#define SLEEPS_FOR_NEAR     (UINT32_MAX - 2) /* the event is in a neighbour's window */
#define AWAKE_FENCED        (UINT32_MAX - 3) /* awake; the next sleep needs no membarrier */
#define BELL_FOR_WORDS      (UINT32_MAX - 4) /* sleeps on the bell, for control words only */
/* Added to the value for slot 0: sleeps for all of several slots below SLOTS_OF_ALL. */
#define SLEEPS_FOR_ALL (UINT32_C(1) << 30)
#define SLOTS_OF_ALL   64u
/* The longest sleep of a rank that does not wait for a certain slot, as it has no flag to check
 * after sleeps_for is set. If n ranks share a core, the sleep is n times as long: see
 * PREPARING_NAP_NS in lib/run/wait.c. */
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
/* Checks a peer's process. Reports the end of the process, unless the peer has left in order.
 * also_program: reports a call of exec(), too. */
void ncoll__shm_look_at(struct shm *s, struct shm_peer *peer, bool also_program);
void ncoll__shm_control(struct transport *t, struct endpoint *to, const struct control *message);
bool ncoll__shm_tell(struct transport *t, struct endpoint *to, const struct position *position);

/* left.c */
void ncoll__shm_leave(struct transport *t, farewell_fn say, void *arg);
bool ncoll__shm_farewell(struct transport *t, const struct endpoint *from, struct farewell *out);

#endif
