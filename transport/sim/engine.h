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
#define AHEAD_NS   1000u /* the most that a polling rank may be ahead of the engine's time */
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

/* Returns a random number from 0 to `most`. */
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
    size_t place; /* index in the queue, or NOT_QUEUED; not updated for EVENT_ARRIVAL */
    enum event_kind kind;
    int rank; /* the rank that the event is for */
};

/* A queue of events: see queue.c. */
struct queue {
    struct entry {
        uint64_t at_ns;
        uint64_t order; /* sorts events of the same time; the low bit is MOVES */
        struct event *event;
    } * entries;
    size_t count, capacity;
    uint64_t orders;
};
#define MOVES UINT64_C(1) /* the event may be moved, so its `place` is kept up to date */

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
    MESSAGE_GONE, /* made by the simulator: tells the receiver that the sender was killed */
};

/* The name of a window: the number that its owner has for it, and a number that no other window of
 * the job ever has. */
struct window_name {
    unsigned id;
    uint64_t unique;
};

struct link;

struct sim_message {
    struct event event; /* event.rank is the receiver */
    enum message_kind kind;
    int from;
    struct link *link; /* the sender's connection; NULL: not counted there */
    unsigned session;  /* session of the sender; a receiver in another session does not get it */
    bool through;      /* it has passed the receiver's link */
    bool lost;         /* it does not arrive, as its sender was killed */
    bool counted;      /* it counts in the fields on_way, long_on_way and users_on_way */
    size_t bytes;
    struct window_name own, there; /* the window of the group at the sender, at the receiver */
    uint64_t epoch;
    unsigned slot; /* of MESSAGE_CREDIT: rank in the group; of MESSAGE_ADVERTISEMENT: box */
    struct signature signature;
    enum route route;
    bool of_user;    /* src is in the user's memory */
    const void *src; /* source of a long message, read on arrival; else NULL */
    void *copy;      /* copy of the source if the sender was killed; else NULL */
    size_t bulk_offset;
    struct place out;
    struct sim_message *next; /* the next message in the receiver's mail */
    unsigned char payload[];
};

/* ------------------------------------------------------------------ ranks --------------------- */

enum rank_state {
    RANK_READY, /* resumes at the time of its event `resume` */
    RANK_RUNNING,
    RANK_BLOCKED, /* resumes at that time, or earlier if it is woken */
    RANK_ENDED,
};

struct sim_transport;
struct sim_window;

struct sim_rank {
    struct event resume, kill;
    struct fiber fiber;
    int rank;
    enum rank_state state;
    uint64_t now_ns;           /* time of the rank, which may be ahead of the engine's time */
    uint64_t sends_from_ns;    /* the time until which the rank's link is busy with sending */
    uint64_t receives_from_ns; /* the time until which the rank's link is busy with receiving */
    uint64_t random;
    bool killed;
    int code;
    unsigned session;                /* number of transports that the rank has opened so far */
    struct sim_transport *transport; /* NULL: none is open */
    /* while the rank is blocked: the slots whose messages wake it; n_awaited == 0: any event
     * does */
    const struct window *window;
    const struct awaited *awaited;
    unsigned n_awaited;
    /* for bootstrap.c */
    uint64_t exchanges; /* number of exchanges that the rank has started */
    struct blob_at {
        void *bytes;
        size_t len;
    } blobs[2];     /* [k % 2] the rank's data in exchange k, until all ranks have started it */
    int root_cause; /* the root cause that the rank has named; NOBODY: none */
    unsigned kills_heard;
    /* memory that the rank's contexts have allocated: now, and the most so far */
    size_t heap_bytes, heap_most;
};

struct sim {
    struct sim_config config;
    struct queue queue;
    uint64_t now_ns;
    struct fiber fiber; /* the fiber of the engine */
    struct sim_rank *ranks, *running;
    sim_body body;
    void *arg;
    ncoll_params base;
    unsigned char *stacks;
    size_t stack_room; /* bytes of a stack with its guard page */
    int alive;
    bool over;    /* the job hangs, and all ranks have been killed for that */
    bool wounded; /* at least one rank has been killed */
    int *kills;   /* [n_kills] the killed ranks, in order */
    unsigned n_kills;
    /* [k % 2] number of ranks that have started exchange k, and the time when it is over */
    uint64_t exchanged[2], exchanged_at_ns[2];
    struct blob_at *blobs[2];  /* [k % 2] the data of all ranks, in one block with their bytes */
    uint64_t uniques;          /* number of windows and regions of user memory so far */
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

/* Lets other ranks run until the engine's time has reached that of the running rank, if the rank is
 * AHEAD_NS or more ahead of the next event. A lesser lead is accepted: the rank may find a message
 * a little late, but takes turns less often. */
void ncoll__sim_sync(struct sim_rank *r);
/* Blocks the running rank until it is woken, at most for ns. */
void ncoll__sim_block(struct sim_rank *r, uint64_t ns);
/* Lets a blocked rank resume at at_ns, unless it resumes earlier anyway. */
void ncoll__sim_wake(struct sim_rank *r, uint64_t at_ns);
/* Counts and prints a violation of the transport's contract by the library; printf style. */
void ncoll__sim_violation(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Handles the arrival of a message. If the receiver's link is busy, the message goes back into the
 * queue. */
void ncoll__sim_arrive(struct sim_message *m);
/* Cuts off a killed rank: at random, all its messages in flight are lost, or all still arrive. */
void ncoll__sim_cut(struct sim_rank *r);
/* Unmaps the destroyed windows of earlier sessions. */
void ncoll__sim_unbury(unsigned session);
/* Lets rank `to` notice after a random time that rank `from` was killed. */
void ncoll__sim_notice(int from, int to);

extern const struct transport_ops ncoll__transport_sim;

#endif
