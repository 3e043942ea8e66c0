/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects behind the public handles. A context owns a bootstrap, a transport and its groups; a
 * group owns a window, the plans made for it and the one call that may be unfinished.
 */
#ifndef NCOLL_LIB_INTERNAL_H
#define NCOLL_LIB_INTERNAL_H

#include "algos/schedule.h"
#include "bootstrap/bootstrap.h"
#include "lib/op.h"
#include "lib/places.h"
#include "lib/plan.h"
#include "ncoll.h"
#include "transport/transport.h"

#define CONTEXT_MAGIC UINT64_C(0x6e636f6c6c637478)
#define GROUP_MAGIC   UINT64_C(0x6e636f6c6c677270)
#define REQUEST_MAGIC UINT64_C(0x6e636f6c6c726571)

/* ------------------------------------------------------------------ a call ------------------- */

/* What the user asked for. */
struct call_args {
    enum collective collective;
    const void *in;
    void *out;
    size_t count;
    ncoll_type type;
    ncoll_op op;
};

enum call_state {
    CALL_NONE,
    CALL_WIRING,  /* connecting the peers of the plan; see wiring.c */
    CALL_RUNNING, /* carrying out its program; see executor.c */
};

/* The unfinished collective of a group. Everything a later call needs to go on is here. */
struct call {
    enum call_state state;
    struct call_args args;
    const struct plan *plan;
    const struct program *program; /* of the segment that is running */
    size_t done;                   /* elements of earlier segments */
    unsigned next;                 /* instruction to carry out next */
    unsigned waits_for;            /* slot, SLOTS_MAX: room to send */
    int waits_for_rank;            /* world rank, -1: nobody in particular */
    unsigned char *base[BASES];    /* what the instructions' offsets are relative to */
};

struct ncoll_request {
    uint64_t magic; /* REQUEST_MAGIC while started and not finished */
    struct ncoll_group *group;
};

/* ------------------------------------------------------------------ a group ------------------ */

#define PLANS          64 /* plans kept, by hash of the call */
#define PLAN_PLACES    4  /* where one may stand */
#define ALGORITHMS_MAX 16

struct ncoll_group {
    uint64_t magic;
    struct ncoll_context *ctx;
    int rank, size;
    struct window *window;
    struct plan *plans[PLANS];
    unsigned evictions;
    struct plan *latest; /* the plan of the last call: calls come in runs */
    bool wired[ALGORITHMS_MAX][RADIX_MAX + 1];
    unsigned *near; /* [size] by distance to the right: messages of that peer that were made room
                       for by schedules with SAME_DISTANCES, so the same on all ranks; 0: none */
    bool paired;    /* connected for the bare exchange */
    struct {
        const struct algorithm *algorithm;
        unsigned radix;
    } forced[COLL_ALLREDUCE + 1];
    unsigned tried[COLL_ALLREDUCE + 1]; /* radix that the trial found; 0: not tried */
    struct trial *trial;
    struct call call;
    bool unasked; /* a blocking call was finished by ncoll_progress(), and has not come back */
    struct ncoll_request request;
};

/* ------------------------------------------------------------------ a context ---------------- */

/* What broke the job for this rank. The first failure stays. */
struct failure {
    enum control_kind kind;
    int rank[2]; /* world; see struct control */
    uint64_t card[2];
    uint32_t epoch; /* of the call that it breaks, low bits; CONTROL_MISMATCH only */
    char why[96];
    ncoll_error own; /* what this rank could not do; its status is NCOLL_OK if others failed */
};

struct peer {
    uint64_t node;
    unsigned char *description; /* what its transport described */
    size_t description_len;
    bool left;
    uint64_t called, called_epoch; /* its card in that epoch, if it has told: CONTROL_CALLED */
};

struct op_table {
    ncoll_op_def *defs;
    unsigned count, capacity;
};

struct wiring {
    enum { WIRING_IDLE, WIRING_EXCHANGE, WIRING_ACCEPT, WIRING_CONNECT, WIRING_LOST } state;
    int *peers; /* world ranks to connect; WIRING_ACCEPT: those not accepted yet */
    unsigned n_peers;
    uint64_t card;
    uint64_t tell_ns; /* when to tell the others what they are waited for with */
    int lost;         /* the first peer that could not be connected, -1: none */
    uint64_t lost_ns;
    char why[96];
};

struct ncoll_context {
    uint64_t magic;
    ncoll_params settings; /* resolved; strings owned */
    ncoll_error error;
    struct bootstrap *bootstrap;
    struct transport *transport;
    int rank, ranks;
    struct places places;
    struct peer *peers;
    struct op_table ops;
    struct wiring wiring;
    struct failure failure;
    bool failure_spread;
    uint64_t called_epoch; /* the latest that a peer has told its call of */
    struct ncoll_group *world;
    uint64_t puts, put_bytes, exchanged_bytes;
    uint64_t next_check_ns; /* when to look after the peers again */
};

/* ------------------------------------------------------------------ error.c ------------------ */

/* Records an error on the context and logs it. Returns status. The remedy may be NULL. */
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
void ncoll__leave(struct ncoll_context *ctx);
/* The time for the others to appear is over. Returns NCOLL_ERR_BOOTSTRAP. */
int ncoll__nobody_came(struct ncoll_context *ctx);

/* ------------------------------------------------------------------ select.c ----------------- */

/* Fills in the operation; NCOLL_OK or NCOLL_ERR_ARGUMENT with the error recorded. */
int ncoll__op_resolve(struct ncoll_context *ctx, ncoll_op op, ncoll_type type, struct op *out);

struct choice;
int ncoll__select(struct ncoll_group *g, const struct call_args *args, const struct op *op,
                  struct choice *out);

/* ------------------------------------------------------------------ executor.c --------------- */

/* Prepares the call to run its plan from the start; takes the next epoch. */
void ncoll__execute_begin(struct ncoll_group *g);
/* Goes on as far as it can. NCOLL_OK: done; NCOLL_TIMEOUT: waits (call.waits_for); or an error. */
int ncoll__execute(struct ncoll_group *g);

/* ------------------------------------------------------------------ wiring.c ----------------- */

int ncoll__wiring_start(struct ncoll_group *g, const int *peers, unsigned n_peers, unsigned depth,
                        uint64_t card);
/* NCOLL_OK: all connected; NCOLL_TIMEOUT; or an error. Never blocks. */
int ncoll__wiring_test(struct ncoll_group *g);

/* ------------------------------------------------------------------ failure.c ---------------- */

/* Callbacks for the transport. */
void ncoll__on_peer_gone(void *ctx, int rank, enum control_kind how, const char *why);
void ncoll__on_control(void *ctx, int from_rank, const struct control *message);
/* The job is broken for this rank; the first failure stays. */
void ncoll__broken(struct ncoll_context *ctx, const struct failure *failure);
/* What ncoll__fail() recorded last, as a failure of the job. */
struct failure ncoll__failure_of_error(const struct ncoll_context *ctx);
/* `rank` called `card`, which is not what this rank called. Returns NCOLL_ERR_MISMATCH. */
int ncoll__mismatch(struct ncoll_group *g, int rank, uint64_t card);
/* The same for the message in a slot, whose sender is found out. */
int ncoll__mismatch_in_slot(struct ncoll_group *g, uint64_t epoch, unsigned slot);
/* Tells all connected peers what this rank has called, and waits with. */
void ncoll__tell_call(struct ncoll_group *g);
/* A rank that is needed has left. */
int ncoll__peer_left(struct ncoll_context *ctx, int rank);
/* Records a failure that the bootstrap knows of. */
void ncoll__ask_bootstrap(struct ncoll_context *ctx);
/* A put to a rank was refused. */
int ncoll__peer_unreachable(struct ncoll_context *ctx, int rank);
/* Whether there is a failure that breaks the group's running call: a mismatch in the next one does
 * not. */
bool ncoll__is_broken(const struct ncoll_group *g);
/* The failure, if there is one, as a status with the error recorded, and told to all peers once. */
int ncoll__failure(struct ncoll_context *ctx);
/* Looks after peers, bootstrap and slots: every now and then, from a rank that waits. */
void ncoll__check(struct ncoll_group *g, uint64_t now_ns);

/* ------------------------------------------------------------------ trial.c ------------------ */

/* Starts the trial that precedes the group's first call of a kind; launches its first run. */
int ncoll__trial_start(struct ncoll_group *g, const struct call_args *args);
/* A run of the trial has ended: launches the next one, or in the end the call that waits. */
int ncoll__trial_next(struct ncoll_group *g);
/* The radix of the run that is to be planned, while there is a trial. */
unsigned ncoll__trial_radix(const struct ncoll_group *g);
/* Whether the run to be planned is the trial's own, to which forced algorithms do not apply. */
bool ncoll__trial_agrees(const struct ncoll_group *g);
/* The call that waits for the trial to end. */
const struct call_args *ncoll__trial_args(const struct ncoll_group *g);
void ncoll__trial_free(struct ncoll_group *g);

/* ------------------------------------------------------------------ call.c ------------------- */

/*
 * The barrier that ends the creation of a context: one-way dissemination, whatever else is chosen
 * or forced later. It connects each rank with O(log P) others, over which deaths are noticed and
 * told while the peers of later schedules are being connected.
 */
int ncoll__first_barrier(struct ncoll_group *g, int64_t timeout_ns);
/* Makes args the group's call: plans it and starts its wiring or its run. */
int ncoll__call_launch(struct ncoll_group *g, const struct call_args *args);

#endif
