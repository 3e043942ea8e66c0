/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects behind the public handles. A context owns a bootstrap, a transport and its groups; a
 * group owns a window, the plans made for it and the one call that may be unfinished.
 */
#ifndef NCOLL_LIB_INTERNAL_H
#define NCOLL_LIB_INTERNAL_H

#include <sys/types.h>

#include "algos/schedule.h"
#include "bootstrap/bootstrap.h"
#include "lib/call/credit.h"
#include "lib/compute/op.h"
#include "lib/group/places.h"
#include "lib/plan/plan.h"
#include "lib/tune/table.h"
#include "ncoll.h"
#include "transport/transport.h"

#define CONTEXT_MAGIC UINT64_C(0x6e636f6c6c637478)
#define GROUP_MAGIC   UINT64_C(0x6e636f6c6c677270)
#define REQUEST_MAGIC UINT64_C(0x6e636f6c6c726571)

/* ------------------------------------------------------------------ a call ------------------- */

enum call_state {
    CALL_NONE,
    CALL_QUEUED,  /* not all of its runs have started */
    CALL_WIRING,  /* the same; connecting the peers of its plan, see wiring.c */
    CALL_RUNNING, /* all of its runs have started */
    CALL_ENDED,   /* with .status */
};

struct trial;
struct creation;

/* A collective that has been started: by the user, or by the library for its own ends. */
struct call {
    enum call_state state;
    int status;
    struct call_args args;
    struct plan *plan;          /* NULL: to be made by prepare() */
    uint64_t started, finished; /* runs */
    uint64_t number;   /* of the group's calls, by their first runs: the same on all ranks */
    struct call *next; /* the one started after it on the group */
    void *copy; /* what the library works on in place of the user's data; NULL: that itself */
    const void *user_in; /* what is copied there when the call begins */
    size_t user_in_bytes;
    void *user_out;             /* where the result goes in the end; NULL: it is there */
    size_t user_out_count;      /* elements of it */
    struct memory *memories[2]; /* that have IN and OUT; NULL: none that the transport knows */
    bool in_place;              /* IN and OUT overlap */
    bool sends_own;             /* something was put from there; the device may not have read it */

    /* of the library's own */
    bool alone; /* starts when all earlier calls have ended */
    bool last;  /* the group's: gives no credits, which nobody would be there to get */
    /* Once, before the first run; makes the plan if there is none yet. NCOLL_TIMEOUT: not yet, ask
     * again; NCOLL_ERR_UNSUPPORTED: on no rank, so that the call ends; other errors are failures of
     * the job. May be NULL. */
    int (*prepare)(struct ncoll_group *g, struct call *c);
    void (*ended)(struct ncoll_group *g, struct call *c); /* takes the call back; may be NULL */
    void *arg;
    uint64_t started_ns;
};

struct ncoll_request {
    uint64_t magic; /* REQUEST_MAGIC while it is the user's */
    struct ncoll_group *group;
    struct call call;
    bool persistent, started;
    /* of a persistent one */
    struct call_args args;
    struct plan *plan;          /* NULL: made anew for each start, after an agreement */
    size_t *arrays;             /* what args points to then */
    struct ncoll_request *next; /* of the context's */
};

/* One pass of a schedule over one segment of the data: an epoch of its group. Everything that is
 * needed to go on with it is here. */
struct run {
    struct call *call; /* NULL: over */
    const struct program *program;
    uint64_t epoch;
    uint64_t past;                    /* in the cards of its messages: see card.h */
    unsigned next;                    /* instruction to carry out next */
    unsigned credits;                 /* senders that have been given the credit due at the start */
    unsigned waits_for;               /* slot; NO_SLOT: room to send, or a credit, or looks_at */
    const _Atomic uint64_t *looks_at; /* a neighbour's word that it waits for; NULL: none */
    int waits_for_rank;               /* world rank */
    size_t done;                      /* bytes of each block before this segment */
    struct memory *sources[2]; /* IN and OUT, if this run puts from there what is staged else */
    bool shows_in;             /* puts from IN may be shown there */
    bool lends[2];             /* puts from IN, OUT may be lent */
    unsigned returned;         /* up to this instruction, what was lent has been fetched */
    bool reads_users;          /* memory of other ranks' users, which has been shown */
    unsigned char *base[BASES_NEAR]; /* what the instructions' offsets are relative to */
};
_Static_assert(BASE_IN == 0 && BASE_OUT == 1,
               "index of struct call.memories, run.sources, run.lends");

/* ------------------------------------------------------------------ a group ------------------ */

#define PLANS       64 /* plans kept, by hash of the call */
#define PLAN_PLACES 4  /* where one may stand */
#define LANES       CREDIT_CALLS
#define HISTORY     64 /* runs whose cards are kept: see mismatch.c */
_Static_assert(CREDIT_SETS == EPOCHS, "an epoch is a call to lib/call/credit.h");

/* Peers that all ranks have connected alike, because of the same schedule. */
struct wired {
    const struct algorithm *algorithm;
    enum collective collective;
    unsigned radix;
    int root;
};

/* Connecting peers for the first of the calls to start: see wiring.c. */
struct wiring {
    enum { WIRING_IDLE, WIRING_EXCHANGE, WIRING_CONNECT, WIRING_LOST } state;
    unsigned *peers; /* to connect: ranks of the group, */
    int *ranks;      /* and of the world */
    unsigned n_peers;
    struct call exchange;
    struct offer *offers, *answers; /* [size] */
    int lost;                       /* the first peer that could not be connected, -1: none */
    uint64_t lost_ns;
    char why[96];
};

/*
 * Whom this rank has shown its scratch in the runs of each set, and who has shown it his: bits by
 * rank of the group, until that is over. See show.c.
 */
struct shown {
    unsigned to_any, by_any;           /* bit of each set: there are some */
    uint64_t *to[EPOCHS], *by[EPOCHS]; /* [words]; NULL: no plan so far shows anything */
    unsigned words;
};

/* Loops make a few calls in turn. Of one that makes more, most are found even so, since only now
 * and then another one takes the place of one. */
#define REPEATS      8
#define REPEATS_KEPT 4

/* A blocking call that can be made once more without a detour: see ncoll__call_again(). */
struct repeat {
    struct call_args args; /* as the user gave them; what is in arrays is in the plan's key */
    struct plan *plan;     /* NULL: no call */
};

struct ncoll_group {
    uint64_t magic;
    struct ncoll_context *ctx;
    uint64_t name; /* the same on all members, of no other group that lives; the world's is 0 */
    int rank, size;
    int *members;       /* [size] world ranks; NULL: the world */
    struct nodes nodes; /* which of its ranks share a node; */
    unsigned *nodes_at; /* in this memory */
    int level;          /* of which these are the domains; NO_LEVEL: they are nodes */
    unsigned sync;      /* NCOLL_STRICT_*, of the calls that the user makes */
    struct window *window;
    struct ncoll_group *next;      /* of the context's */
    struct ncoll_group *next_busy; /* of those that may have unfinished calls */
    bool busy;

    /* hot */
    struct credits credits;
    bool shares; /* a call has: neighbours may ask what has finished here */
    struct shown shown;
    bool undrained;                 /* the device may not have read all that was put */
    uint64_t next_epoch;            /* of the next run to start */
    uint64_t past;                  /* what the runs so far come to: see card.h */
    uint64_t calls;                 /* that have started runs */
    struct run runs[LANES];         /* by epoch % LANES */
    struct plan *latest;            /* the plan of the last call: calls come in runs */
    struct call *first, *last;      /* calls that have not ended, in order */
    struct call *starting;          /* the first of them with runs to start */
    struct call blocking;           /* the one started by a call with a time-out */
    struct call_args blocking_args; /* as the user gave them */
    bool unfinished;                /* it has timed out */
    struct call_args checked;       /* the last arguments that were found to be right */
    struct repeat repeats[REPEATS]; /* blocking calls that may be made without a detour */
    struct repeat *again; /* the latest of them, if `blocking` is as that has left it; else NULL */
    unsigned forgotten;   /* calls that found no place among them, or took that of another */

    struct card history[HISTORY]; /* of the latest runs, by epoch % HISTORY */
    uint64_t waited_in;           /* first unfinished epoch at the last look; 0: none */
    struct wiring wiring;
    struct creation *creating; /* of a group from this one, unfinished; or the end of this one */
    struct plan *plans[PLANS];
    unsigned evictions;
    struct wired *wired;
    unsigned n_wired;
    unsigned *near; /* [size] by distance to the right: messages of that peer that were made room
                       for by schedules whose peers lie at the same distances from every rank, so
                       the same on all ranks; 0: none */
    bool paired;    /* connected for the bare exchange */
    struct {
        const struct algorithm *algorithm;
        unsigned radix, lanes;
        size_t segment_bytes;
    } forced[COLLECTIVES];
    unsigned tried[COLLECTIVES];       /* radix that the trial found; 0: not tried */
    struct trial *trials[COLLECTIVES]; /* going on */
};

/* ------------------------------------------------------------------ a context ---------------- */

/* What broke the job for this rank. The first failure stays. */
struct failure {
    enum control_kind kind;
    int rank[2]; /* world; see struct control */
    struct card card[2];
    uint32_t epoch; /* of the run that it breaks, low bits; CONTROL_MISMATCH only */
    uint64_t group; /* name of the group that this is about; the same */
    char why[96];
    ncoll_error own; /* what this rank could not do; its status is NCOLL_OK if others failed */
};

/* A peer that is gone, perhaps because of another one: see lib/failure/blame.c. */
struct suspect {
    bool pending;
    int rank;
    uint64_t since_ns;
    char why[96];
};

struct peer {
    uint64_t node;
    uint32_t domains[NODE_LEVELS]; /* see struct node */
    unsigned char *description;    /* what its transport described */
    size_t description_len;
    bool left;
};

struct op_table {
    ncoll_op_def *defs;
    unsigned count, capacity;
};

/* Memory of the user's that the transport knows, by address; no two overlap. */
struct memory_table {
    struct memory **all;
    unsigned count, capacity;
    size_t bytes, huge_bytes;
};

#define PASSED_ON 64u /* questions remembered */
#define FOUND_MAX 8u  /* by trials, to be kept */

struct ncoll_context {
    uint64_t magic;
    ncoll_params settings; /* resolved; strings owned */
    ncoll_error error;
    struct bootstrap *bootstrap;
    bool may_exchange; /* the last exchange has ended, and the others come to a next one */
    struct transport *transport;
    pid_t pid; /* whose it is: not a child's that has been forked since */
    int rank, ranks;
    struct places places;
    uint64_t machine;         /* see struct node */
    bool one_machine;         /* all ranks are on it */
    struct tune_table tuning; /* what rank 0 has told, for this place; the same on all ranks */
    bool costs_measured;      /* the transport's are the table's */
    struct tune_found found[FOUND_MAX]; /* on rank 0, by trials */
    unsigned n_found;
    struct peer *peers;
    struct op_table ops;
    struct type_table types;
    struct memory_table memories;
    struct failure failure;
    bool failure_spread;
    struct suspect suspect;
    struct ncoll_group *world, *groups; /* all that live; the world is the last of the list */
    struct ncoll_group *busy;
    bool *id_used;             /* [WINDOWS_MAX] */
    struct ncoll_group *spare; /* handles of freed groups, the oldest first */
    unsigned n_spare;
    uint64_t created;               /* groups that this rank has had a part in */
    struct ncoll_request *requests; /* all, in a list: freed with the context */
    uint64_t puts, put_bytes, landed_bytes, shown_bytes, lent_bytes, exchanged_bytes;
    uint64_t next_check_ns; /* when to look after the peers again */
    uint64_t next_tell_ns;  /* when to tell them again what this rank waits in */
    unsigned tells;
    struct passed_on {
        uint64_t question, until_ns;
    } passed_on[PASSED_ON]; /* questions that need not be passed on again yet: see deadlock.c */
    /* While a rank that blocks looks after its peers: what it blocks in. */
    struct ncoll_group *blocked_in;
    struct call *blocked_call;
};

/* ------------------------------------------------------------------ error.c ------------------ */

/* Records an error on the context and logs it. Returns status. remedy NULL: what is usual for such
 * a status. */
int ncoll__fail(struct ncoll_context *ctx, ncoll_status status, int peer, const char *remedy,
                const char *cause, ...) __attribute__((format(printf, 5, 6)));
void ncoll__log(struct ncoll_context *ctx, ncoll_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ------------------------------------------------------------------ memory, time ------------- */

void *ncoll__allocate(struct ncoll_context *ctx, size_t bytes); /* zeroed; NULL if there is none */
void ncoll__release(struct ncoll_context *ctx, void *memory);
uint64_t ncoll__now_ns(struct ncoll_context *ctx);

/* ------------------------------------------------------------------ configure.c -------------- */

/* Resolves params and environment into ctx->settings; strings still belong to others. */
int ncoll__configure_early(struct ncoll_context *ctx, const ncoll_params *params);
/* Makes the strings the context's own, and checks them. */
int ncoll__configure(struct ncoll_context *ctx);
void ncoll__configure_free(struct ncoll_context *ctx);

/* ------------------------------------------------------------------ join.c ------------------- */

#define NCOLL__SPIN_NS                                                                             \
    100000 /* a rank with a core of its own spins this long, then gives it up                      \
            */

/* Opens bootstrap and transport and learns who is where. */
int ncoll__join(struct ncoll_context *ctx, const ncoll_params *params);
/* Makes the world, and connects its base peers. */
int ncoll__meet(struct ncoll_context *ctx);
void ncoll__leave(struct ncoll_context *ctx);
/* exchange.c: the time for the others to appear is over. Returns NCOLL_ERR_BOOTSTRAP. */
int ncoll__nobody_came(struct ncoll_context *ctx);

/* ------------------------------------------------------------------ select.c ----------------- */

/* Fills in the operation; NCOLL_OK or NCOLL_ERR_ARGUMENT with the error recorded. */
int ncoll__op_resolve(struct ncoll_context *ctx, ncoll_op op, ncoll_type type, struct op *out);

struct choice;
/* longest: see ncoll__plan(). */
int ncoll__select(struct ncoll_group *g, const struct call_args *args, const struct op *op,
                  size_t longest, struct choice *out);
/* Whether an algorithm or a radix is asked for, by the call, a setting or a tool. */
bool ncoll__is_asked(const struct ncoll_group *g, const struct call_args *args);

/* ------------------------------------------------------------------ check.c ------------------ */

/* Whether the arguments make sense: NCOLL_OK or an error, recorded. */
int ncoll__check_args(struct ncoll_group *g, const struct call_args *args);
/* Bytes of one element, as messages have it. */
size_t ncoll__element_bytes(const struct ncoll_context *ctx, const struct call_args *args);
/* Bytes from the start of IN to its end, on a rank that has it. */
size_t ncoll__in_bytes(struct ncoll_group *g, const struct call_args *args);

static inline bool ncoll__same_args(const struct call_args *a, const struct call_args *b)
{
    return a->collective == b->collective && a->in == b->in && a->out == b->out &&
           a->count == b->count && a->counts == b->counts && a->displs == b->displs &&
           a->sends == b->sends && a->send_displs == b->send_displs && a->root == b->root &&
           a->type == b->type && a->op == b->op && a->needs_counts == b->needs_counts;
}

/* ------------------------------------------------------------------ executor.c --------------- */

/* Starts the next run of a call whose plan is wired; takes the next epoch. */
void ncoll__run_start(struct ncoll_group *g, struct call *c);
/* Goes on as far as it can, and looks so many times more for messages that have not come.
 * NCOLL_OK: over; NCOLL_TIMEOUT: waits (waits_for); or an error. */
int ncoll__run_advance(struct ncoll_group *g, struct run *run, unsigned looks);
/* Both, for a call of one segment on a group that has no others: its first messages leave before
 * anything is done that can be done while they are on their way. */
int ncoll__run_at_once(struct ncoll_group *g, struct call *c, unsigned looks);

static inline int ncoll__world_rank(const struct ncoll_group *g, unsigned rank)
{
    return g->members != NULL ? g->members[rank] : (int)rank;
}

/* Whether nothing tells that a rank of the group lets this one put to it in a run. */
static inline bool ncoll__lacks_credit(const struct ncoll_group *g, unsigned rank, uint64_t epoch)
{
    return !ncoll__credit_may_put(&g->credits, rank, epoch) &&
           epoch > EPOCHS + atomic_load_explicit(&g->window->credits[rank], memory_order_acquire);
}

static inline struct run *run_of(struct ncoll_group *g, uint64_t epoch)
{
    return &g->runs[epoch % LANES];
}

/* Whether the message that a run waits for has come. */
static inline bool ncoll__run_has_come(const struct ncoll_group *g, const struct run *run)
{
    if (run->waits_for != NO_SLOT)
        return window_raised(g->window, run->epoch, run->waits_for);
    return run->looks_at != NULL &&
           atomic_load_explicit(run->looks_at, memory_order_acquire) >= run->epoch;
}

/* ------------------------------------------------------------------ wiring.c ----------------- */

/* The peers that every group has connected from the start: see wiring.c. Ranks of the group to
 * peers[], at most BASE_PEERS; their number. */
#define BASE_PEERS 64
unsigned ncoll__base_peers(unsigned rank, unsigned size, unsigned peers[BASE_PEERS]);
#define BASE_DEPTH  (3 * EPOCHS)
#define OFFER_WORDS (OFFER_BYTES / sizeof(int64_t))
/* They are connected now. */
void ncoll__base_wired(struct ncoll_group *g);
/* A call of the library's own over the base peers only, for an errand that its messages name. */
struct call_args ncoll__base_call(enum collective collective, const void *in, void *out,
                                  size_t words, struct card errand);

/* Queues the exchange that connecting these peers (ranks of the group) takes; in front of a call,
 * NULL: behind all. */
int ncoll__wiring_start(struct ncoll_group *g, struct call *before, const unsigned *peers,
                        unsigned n_peers, unsigned depth, struct card errand);
/* NCOLL_OK: all connected; NCOLL_TIMEOUT; or an error. Never blocks. */
int ncoll__wiring_test(struct ncoll_group *g);
void ncoll__wiring_free(struct ncoll_group *g);

/* ------------------------------------------------------------------ group.c ------------------ */

/* The group of all ranks, with nobody connected. NCOLL_OK or an error. */
int ncoll__world_create(struct ncoll_context *ctx);
/* Frees all groups, whatever is unfinished. */
void ncoll__groups_free(struct ncoll_context *ctx);

/* ------------------------------------------------------------------ agree.c, trial.c --------- */

/* Queue what has to come before a call, which is to be queued itself then. */
int ncoll__agree_first(struct ncoll_group *g, struct call *c);
int ncoll__trial_first(struct ncoll_group *g, struct call *c);
/* Whether the trial is to find the radix of such a call; and has not yet. */
bool ncoll__trial_is_for(const struct call_args *args);
bool ncoll__trial_wanted(const struct ncoll_group *g, const struct call_args *args);

/* ------------------------------------------------------------------ call.c, queue.c ---------- */

/*
 * The barrier that ends the creation of a context: one-way dissemination, whatever else is chosen
 * or forced later. It connects each rank with O(log P) others, over which deaths are noticed and
 * told while the peers of later schedules are being connected.
 */
int ncoll__first_barrier(struct ncoll_group *g, int64_t timeout_ns);
/* Puts a call at the end of the queue, or in front of another one that has not started. */
void ncoll__call_queue(struct ncoll_group *g, struct call *c);
void ncoll__call_queue_before(struct ncoll_group *g, struct call *c, struct call *before);
/* Ends what is unfinished, without a status. */
void ncoll__calls_free(struct ncoll_group *g);

#endif
