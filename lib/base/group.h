/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group owns a window, the plans made for it, and its calls and runs that have not ended. This
 * header includes those of the other objects: context, call, run.
 */
#ifndef NCOLL_LIB_BASE_GROUP_H
#define NCOLL_LIB_BASE_GROUP_H

#include "lib/base/arguments.h"
#include "lib/base/call.h"
#include "lib/base/context.h"
#include "lib/base/known_calls.h"
#include "lib/base/run.h"
#include "lib/base/credit.h"

#define GROUP_MAGIC UINT64_C(0x6e636f6c6c677270)

struct creation;
struct making;
struct ncoll_stale;
struct plan;
struct relay;
struct trial;

#define LANES   CREDIT_RUNS
#define HISTORY 64 /* number of runs whose signatures are kept: see mismatch.c */
_Static_assert(CREDIT_SETS == EPOCHS, "an epoch is a call to lib/base/credit.h");

/* A schedule that all ranks have run, so that the peers in it are connected. */
struct wired {
    const struct algorithm *algorithm;
    enum collective collective;
    unsigned radix;
    int root;
    /* hash of call_args.rank_at, by which the peers are found; 0: there is no list */
    uint64_t listed;
};

/* A connected peer: its rank is higher by `distance`, modulo the size of the group, and it may have
 * `room` messages in flight to this rank. */
struct wired_distance {
    unsigned distance, room;
};

/* The number of messages that a base peer may have in flight to this rank. */
#define BASE_DEPTH (3 * EPOCHS)

/* The state of connecting the peers of the next call that is to start: see wiring.c. */
struct wiring {
    enum {
        WIRING_IDLE,
        WIRING_AGREE,
        WIRING_EXCHANGE,
        WIRING_MEET,
        WIRING_CONNECT,
        WIRING_LOST
    } state;
    struct window *window; /* the window that the peers will put to */
    unsigned *peers;       /* the ranks to connect, by their number in the group */
    int *ranks;            /* the same ranks by their number in the world */
    unsigned n_peers, depth;
    struct signature purpose;
    struct call *before; /* the call that needs the peers; NULL: none */
    struct call agree;   /* the allreduce by which ranks agree whether all have room */
    /* full: the number of this rank if its device has no room for the connections, else
     * NOBODY_FULL; agreed: the minimum of .full over all ranks */
    int64_t full, agreed;
    /* the call of each pass of the relay, then of the barrier that follows when all offers are
     * accepted */
    struct call exchange;
    struct relay *relay; /* takes the offers to the peers */
    /* the most letters that a rank may have to send in a round of the relay; most_is_known: this is
     * the exact number, not only a bound */
    unsigned most;
    bool most_is_known;
    int lost; /* the first peer that could not be connected; -1: none */
    uint64_t lost_ns;
    char why[256];
};

/*
 * Bit sets of ranks of the group, one pair for each set of slots. `to`: ranks that may read this
 * rank's scratch. `by`: ranks whose scratch this rank reads. A bit is cleared when the reading has
 * ended. See lib/deliver/peer_read.c.
 */
struct readers {
    unsigned to_any, by_any; /* bit s: some bit of to[s], or of by[s], is set */
    /* bit sets of [words] words; NULL: no plan has needed them yet */
    uint64_t *to[EPOCHS], *by[EPOCHS];
    unsigned words;
};

/* The place of a long message that this rank has waited for. */
struct message {
    const unsigned char *at; /* address of the message, minus bulk_offset */
    size_t bulk_offset, len_bytes;
    enum route route; /* route by which the message came: BULK, PLACED or PEER_READ */
};

/* Measures how long the unfinished calls of a group have made no progress. */
struct stall {
    uint64_t progress;        /* ncoll__progress_of() when it last changed */
    struct reminder reminder; /* since_ns 0: no call is unfinished */
};

#define NOBODY_FULL INT64_MAX

struct ncoll_group {
    uint64_t magic;
    struct ncoll_context *ctx;
    uint64_t name; /* the same on all members, and unique among live groups; 0: the world */
    int rank, size;
    int *members;       /* [size] world ranks; NULL: all ranks of the job in their order */
    struct nodes nodes; /* the node of each rank */
    unsigned *nodes_at; /* memory of the tables in `nodes`; NULL: there are no tables */
    int level;          /* level of the machine whose domains `nodes` holds; NO_LEVEL: real nodes */
    unsigned sync;      /* NCOLL_STRICT_* for the user's calls */
    struct window *window;
    struct window *mail;       /* the window with mailboxes, of an object of lib/stale; else NULL */
    struct ncoll_stale *stale; /* the object of lib/stale that has the mailboxes; else NULL */
    bool unusual; /* the group has mailboxes, or the context a trace: see lib/run/executor.c */
    struct ncoll_group *next; /* next group of the context */
    /* the pointer that points to this group; NULL: it is in no list */
    struct ncoll_group **link;
    struct ncoll_group *next_busy; /* next of the groups that may have unfinished calls */
    bool busy;

    /* used by every call */
    struct credits credits;
    bool shares; /* a call had shared waits: neighbours may look which runs have finished here */
    struct readers readers;
    /* [n_messages][LANES] long messages by slot, for the slots that plans have needed so far */
    struct message *messages;
    unsigned n_messages;
    bool undrained;      /* the device may still be reading data of earlier puts */
    uint64_t next_epoch; /* epoch of the next run to start */
    /* epoch of the first run after peers were connected last. A rank that has ended this run, or a
     * later one, has mapped this rank's window */
    uint64_t connected_at;
    uint64_t history_hash;  /* hash of all runs so far: see signature.h */
    uint64_t calls;         /* number of calls that have started runs */
    struct run runs[LANES]; /* by epoch % LANES */
    /* calls that have not ended, in the order in which they start */
    struct call *first, *last;
    struct call *starting;    /* the first of these calls that has runs to start */
    struct call blocking;     /* the user's blocking call, with a time-out */
    struct known_calls known; /* calls that this group remembers */

    struct signature history[HISTORY]; /* signatures of the latest runs, by epoch % HISTORY */
    struct stall stall;                /* see stall.c */
    /* the first unfinished epoch at the last check of mismatch.c; 0: all were finished */
    uint64_t waited_in;
    /* slots after the first ones that mismatch.c has searched in this turn */
    unsigned slots_seen;
    struct wiring wiring;
    /* unfinished creation of a group from this one, or the freeing of this one */
    struct creation *creating;
    struct making *making; /* unfinished creation of an object of lib/stale from this group */
    struct wired *wired;
    unsigned n_wired;
    /* The distances at which every rank has connected its peer, in ascending order. They come from
     * schedules that all ranks have run, and whose peers lie at the same distances on every rank.
     * The distances of base peers, which have room for BASE_DEPTH messages, may be missing. */
    struct wired_distance *wired_distances;
    unsigned n_wired_distances;
    bool paired; /* the peers of ncoll__raw_exchange() are connected */
    /* [algorithm number] the least radix that was refused, since some rank has no room for the
     * connections; 0: none was. The same on all ranks. */
    unsigned refused[ALGORITHMS_MAX + 1];
    struct {
        const struct algorithm *algorithm;
        unsigned radix, lanes;
        size_t segment_bytes;
        unsigned slots; /* most slots of a run; 0: not forced */
    } forced[COLLECTIVES];
    unsigned tried[COLLECTIVES];       /* radix that the trial chose; 0: not tried */
    struct trial *trials[COLLECTIVES]; /* trials that are going on */
    /* with a trace: since when each run waits in its step, by epoch % LANES; 0: it does not wait */
    uint64_t blocked_since_ns[LANES];
};

/* credit_pages.c: make the credits of a group, make room in them for a peer (a rank to put to or to
 * get puts from), and free them. The first two return false if there is no memory. */
bool ncoll__credits_make(struct ncoll_group *g);
bool ncoll__credits_reach(struct ncoll_group *g, unsigned rank);
void ncoll__credits_free(struct ncoll_group *g);

static inline int ncoll__world_rank(const struct ncoll_group *g, unsigned rank)
{
    return g->members != NULL ? g->members[rank] : (int)rank;
}

/* Returns true if this rank may not put to a rank in this epoch: it has no credit from that rank,
 * and no synchronising run replaces one. */
static inline bool ncoll__lacks_credit(const struct ncoll_group *g, unsigned rank, uint64_t epoch)
{
    return !ncoll__credit_may_put(&g->credits, rank, epoch) &&
           epoch > EPOCHS + atomic_load_explicit(&g->window->credits[rank], memory_order_acquire);
}

/* Returns true if the ranks have agreed not to connect the peers that were asked for last. */
static inline bool ncoll__wiring_is_refused(const struct ncoll_group *g)
{
    return g->wiring.agreed != NOBODY_FULL;
}

/* Returns true if some rank has no room to connect the peers of the algorithm with this radix. */
static inline bool ncoll__is_refused(const struct ncoll_group *g, const struct algorithm *algorithm,
                                     unsigned radix)
{
    unsigned least = g->refused[ncoll__algorithm_number(algorithm)];

    return least != 0 && radix >= least;
}

static inline struct message *message_of(const struct ncoll_group *g, const struct run *run,
                                         unsigned slot)
{
    return &g->messages[slot * LANES + run->epoch % LANES];
}

/* Notes that a run has finished on this rank. If ranks of the node read each other's slots
 * (lib/run/neighbours.c), they see it in this rank's window. */
static inline void ncoll__run_finished(struct ncoll_group *g, const struct run *run,
                                       bool synchronises)
{
    ncoll__credit_on_finish(&g->credits, run->epoch, synchronises);
    g->window->epoch = g->credits.finished;
    if (__builtin_expect(g->shares, 0))
        atomic_store_explicit(&g->window->credits[g->rank], g->credits.finished,
                              memory_order_release);
}

static inline struct run *run_of(struct ncoll_group *g, uint64_t epoch)
{
    return &g->runs[epoch % LANES];
}

#endif
