/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine: events, virtual time, and the ranks that take turns. */
#ifndef NCOLL_TRANSPORT_SIM_ENGINE_H
#define NCOLL_TRANSPORT_SIM_ENGINE_H

#include "transport/sim/fiber.h"
#include "transport/sim/sim.h"
#include "transport/transport.h"

#define POLL_NS    20u /* time of a poll for messages */
#define CLOCK_NS   5u  /* time of a reading of the clock */
#define RETRY_NS   1000u
#define AHEAD_NS   1000u /* a rank that polls may be so far ahead of the engine */
#define BACKOFF_NS UINT64_C(100000)
#define NOT_QUEUED SIZE_MAX
#define NOBODY     (-1)

/* Random numbers: splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t sim_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0..most */
static inline uint64_t sim_random_to(uint64_t *state, uint64_t most)
{
    return most == 0 ? 0 : sim_random(state) % (most + 1);
}

static inline bool sim_one_in(uint64_t *state, unsigned n)
{
    return n > 0 && sim_random(state) % n == 0;
}

/* ------------------------------------------------------------------ events -------------------- */

enum event_kind { EVENT_RESUME, EVENT_ARRIVAL, EVENT_KILL };

struct event {
    uint64_t at_ns;
    size_t place; /* in the queue, or NOT_QUEUED; not kept for an arrival */
    enum event_kind kind;
    int rank; /* the rank that it concerns */
};

/* A queue of events: see queue.c. */
struct queue {
    struct entry {
        uint64_t at_ns;
        uint64_t order; /* decides between events of the same time; the low bit is MOVES */
        struct event *event;
    } * entries;
    size_t count, capacity;
    uint64_t orders;
};
#define MOVES UINT64_C(1) /* the event may be moved, so it has to know its place */

void ncoll__sim_push(struct queue *q, struct event *e, uint64_t at_ns);
void ncoll__sim_move(struct queue *q, struct event *e, uint64_t at_ns);
struct event *ncoll__sim_pop(struct queue *q);

/* ------------------------------------------------------------------ messages ------------------ */

enum message_kind {
    MESSAGE_PUT,
    MESSAGE_CREDIT,
    MESSAGE_ADVERTISEMENT,
    MESSAGE_CONTROL,
    MESSAGE_POSITION,
    MESSAGE_FAREWELL,
    MESSAGE_GONE, /* not sent: the news that the sender has been killed */
};

/* Names a window: the number that its owner has for it, and a number that no other window of the
 * job ever has. */
struct window_name {
    unsigned id;
    uint64_t unique;
};

struct link;

struct sim_message {
    struct event event; /* its rank is the receiver */
    enum message_kind kind;
    int from;
    struct link *link; /* the sender's; NULL: none */
    unsigned session; /* a message reaches only contexts of its session: it does not outlive them */
    bool through;     /* it has passed the receiver's link */
    bool lost;        /* its sender was killed */
    bool counted;     /* in the fields on_way of struct link and others */
    size_t bytes;
    struct window_name own, there; /* the window of the group at the sender, at the receiver */
    uint64_t epoch;
    unsigned slot; /* or box */
    struct signature signature;
    enum route route;
    bool of_user;    /* src is the user's memory */
    const void *src; /* source of a long message, read on arrival; else NULL */
    void *copy;      /* copy of the source if the sender was killed; else NULL */
    size_t bulk_offset;
    struct place out;
    struct sim_message *next; /* in the receiver's mail */
    unsigned char payload[];
};

/* ------------------------------------------------------------------ ranks --------------------- */

enum rank_state {
    RANK_READY, /* resumes when its event comes */
    RANK_RUNNING,
    RANK_BLOCKED, /* resumes when its event comes, or earlier if it is woken */
    RANK_ENDED,
};

struct sim_transport;
struct sim_window;

struct sim_rank {
    struct event resume, kill;
    struct fiber fiber;
    int rank;
    enum rank_state state;
    uint64_t now_ns;           /* while the rank runs it may be ahead of the engine's time */
    uint64_t sends_from_ns;    /* its link is busy with sending until then */
    uint64_t receives_from_ns; /* its link is busy with receiving until then */
    uint64_t random;
    bool killed;
    int code;
    unsigned session;                /* number of transports that it has opened */
    struct sim_transport *transport; /* NULL: none is open */
    /* while the rank is blocked: the slots that wake it; n_awaited == 0: any event wakes it */
    const struct window *window;
    const struct awaited *awaited;
    unsigned n_awaited;
    /* bootstrap */
    uint64_t exchanges; /* exchanges that it has started */
    struct blob_at {
        void *bytes;
        size_t len;
    } blobs[2];     /* of exchange k that is not over yet, by k % 2 */
    int root_cause; /* the rank that it has named; NOBODY: none */
    unsigned kills_heard;
    /* memory of its contexts */
    size_t heap_bytes, heap_most;
};

struct sim {
    struct sim_config config;
    struct queue queue;
    uint64_t now_ns;
    struct fiber fiber; /* the engine's own */
    struct sim_rank *ranks, *running;
    sim_body body;
    void *arg;
    ncoll_params base;
    unsigned char *stacks;
    size_t stack_room; /* bytes of a stack with its guard page */
    int alive;
    bool over;    /* the job hangs, and all ranks have been killed for that */
    bool wounded; /* at least one rank has been killed */
    int *kills;   /* [n_kills], in order */
    unsigned n_kills;
    uint64_t exchanged[2], exchanged_at_ns[2]; /* number of ranks in exchange k, by k % 2 */
    struct blob_at *blobs[2];                  /* of all ranks, and their bytes: a block */
    uint64_t uniques;                          /* number of windows and memories so far */
    struct sim_window *buried; /* destroyed windows that neighbours may still read */
    size_t heap_bytes, window_bytes;
    uint64_t random;
    struct sim_report report;
};
extern struct sim *ncoll__sim; /* the job that runs; NULL: none */

static inline struct sim_rank *sim_rank_of(int rank)
{
    return &ncoll__sim->ranks[rank];
}

/* The running rank lets other ranks run until the engine's time has reached its own, if it is more
 * than AHEAD_NS ahead: it is cheaper to find a message a little later than to take turns. */
void ncoll__sim_sync(struct sim_rank *r);
/* The running rank waits until it is woken, at most for ns. */
void ncoll__sim_block(struct sim_rank *r, uint64_t ns);
/* Lets a blocked rank resume at at_ns, if that is earlier than it would otherwise. */
void ncoll__sim_wake(struct sim_rank *r, uint64_t at_ns);
/* Counts and prints a violation of the transport's contract by the library; printf style. */
void ncoll__sim_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A message arrives. If the receiver's link is busy, the message goes back into the queue. */
void ncoll__sim_arrive(struct sim_message *m);
/* Cuts off a killed rank: at random, all its messages in flight are lost, or all still arrive. */
void ncoll__sim_cut(struct sim_rank *r);
/* Unmaps the destroyed windows of earlier sessions. */
void ncoll__sim_unbury(unsigned session);
/* Lets rank `to` notice after a random time that rank `from` was killed. */
void ncoll__sim_notice(int from, int to);

extern const struct transport_ops ncoll__transport_sim;

#endif
