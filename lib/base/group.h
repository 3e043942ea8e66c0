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
#define HISTORY 64 /* runs whose signatures are kept: see mismatch.c */
_Static_assert(CREDIT_SETS == EPOCHS, "an epoch is a call to lib/base/credit.h");

/* Peers that all ranks have connected already, since they ran this schedule. */
struct wired {
    const struct algorithm *algorithm;
    enum collective collective;
    unsigned radix;
    int root;
    uint64_t listed; /* hash of the list of ranks by which peers are found; 0: there is none */
};

/* The peer whose rank is higher by `distance`, modulo the size of the group; `room`: the number of
 * messages that it may have in flight to this rank. */
struct wired_distance {
    unsigned distance, room;
};

/* The room that is made for messages of a base peer. */
#define BASE_DEPTH (3 * EPOCHS)

/* The state of connecting the peers of the first call that is to start: see wiring.c. */
struct wiring {
    enum {
        WIRING_IDLE,
        WIRING_AGREE,
        WIRING_EXCHANGE,
        WIRING_MEET,
        WIRING_CONNECT,
        WIRING_LOST
    } state;
    struct window *window; /* that they will put to */
    unsigned *peers;       /* the ranks to connect, by their number in the group */
    int *ranks;            /* the same ranks by their number in the world */
    unsigned n_peers, depth;
    struct signature purpose;
    struct call *before; /* the call that needs the peers; NULL: none */
    struct call agree;   /* the allreduce by which ranks agree whether all have room */
    /* full: the number of this rank if its device has no room for the connections, else
     * NOBODY_FULL; agreed: the minimum of .full over all ranks */
    int64_t full, agreed;
    /* each pass of the exchange of offers, then the barrier that follows when all are accepted */
    struct call exchange;
    struct relay *relay; /* takes the offers to the peers */
    /* the most letters that a rank of the relay may have to send in a round, and whether that is
     * known to be as many as it takes */
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
    unsigned to_any, by_any;           /* bit of each set: some bit of it is set */
    uint64_t *to[EPOCHS], *by[EPOCHS]; /* [words]; NULL: no plan has needed it yet */
    unsigned words;
};

/* The place of a long message that this rank has waited for. */
struct message {
    const unsigned char *at; /* its address, less its offset in bulk memory */
    size_t bulk_offset, len_bytes;
    enum route route; /* route by which it came: BULK, PLACED or PEER_READ */
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
    unsigned *nodes_at; /* memory of `nodes`; NULL: there are no tables */
    int level;          /* level of the machine whose domains `nodes` holds; NO_LEVEL: real nodes */
    unsigned sync;      /* NCOLL_STRICT_* for the user's calls */
    struct window *window;
    struct window *mail;       /* the window with mailboxes, of an object of lib/stale; else NULL */
    struct ncoll_stale *stale; /* that object */
    bool unusual;              /* it has one, or there is a trace: see lib/run/executor.c */
    struct ncoll_group *next;  /* next group of the context */
    /* the pointer that points to this group; NULL: it is in no list */
    struct ncoll_group **link;
    struct ncoll_group *next_busy; /* next of the groups that may have unfinished calls */
    bool busy;

    /* used by every call */
    struct credits credits;
    bool shares; /* a call with shared waits: neighbours may ask what has finished here */
    struct readers readers;
    struct message *messages; /* [n_messages][LANES]: of the slots that plans have needed so far */
    unsigned n_messages;
    bool undrained;      /* the device may still be reading data of earlier puts */
    uint64_t next_epoch; /* epoch of the next run to start */
    /* epoch of the first run after peers were connected last. A rank that has ended this run, or a
     * later one, has mapped this rank's window */
    uint64_t connected_at;
    uint64_t history_hash;     /* hash of all runs so far: see signature.h */
    uint64_t calls;            /* number of calls that have started runs */
    struct run runs[LANES];    /* by epoch % LANES */
    struct call *first, *last; /* calls that have not ended, in order */
    struct call *starting;     /* the first of these that has runs to start */
    struct call blocking;      /* the call with a time-out */
    struct known_calls known;  /* calls that this group remembers */

    struct signature history[HISTORY]; /* signatures of the latest runs, by epoch % HISTORY */
    struct stall stall;                /* see stall.c */
    /* the first unfinished epoch when mismatch.c last checked for one; 0: all were finished */
    uint64_t waited_in;
    unsigned slots_seen; /* slots beyond the first that mismatch.c has searched, in turn */
    struct wiring wiring;
    /* unfinished creation of a group from this one, or the freeing of this one */
    struct creation *creating;
    struct making *making; /* unfinished creation of an object of lib/stale from this group */
    struct wired *wired;
    unsigned n_wired;
    /* The distances at which all ranks have connected their peers, in ascending order, since they
     * ran schedules whose peers lie at the same distances on every rank. Those of the base peers,
     * which have room for BASE_DEPTH, need not be here. */
    struct wired_distance *wired_distances;
    unsigned n_wired_distances;
    bool paired; /* connected for the exchange of ncoll__raw_exchange() */
    /* By algorithm number: the least radix that was refused, since some rank has no room for its
     * peers; 0: none. The same on all ranks. */
    unsigned refused[ALGORITHMS_MAX + 1];
    struct {
        const struct algorithm *algorithm;
        unsigned radix, lanes;
        size_t segment_bytes;
        unsigned slots; /* of a run */
    } forced[COLLECTIVES];
    unsigned tried[COLLECTIVES];       /* radix that the trial chose; 0: not tried */
    struct trial *trials[COLLECTIVES]; /* trials that are going on */
    /* with a trace: since when each run waits in its step, by epoch % LANES; 0: it does not wait */
    uint64_t blocked_since_ns[LANES];
};

/* credit_pages.c: makes the credits of a group, makes room in them for a rank to put to or to get
 * puts from, and frees them. Return false if there is no memory. */
bool ncoll__credits_make(struct ncoll_group *g);
bool ncoll__credits_reach(struct ncoll_group *g, unsigned rank);
void ncoll__credits_free(struct ncoll_group *g);

static inline int ncoll__world_rank(const struct ncoll_group *g, unsigned rank)
{
    return g->members != NULL ? g->members[rank] : (int)rank;
}

/* Returns true if this rank has no credit, direct or through another run, to put to a rank in this
 * epoch. */
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
 * (lib/run/neighbours.c), the window tells them. */
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
