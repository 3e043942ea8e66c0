/* SPDX-License-Identifier: BSD-3-Clause */
/* A collective that has been started. */
#ifndef NCOLL_LIB_BASE_CALL_H
#define NCOLL_LIB_BASE_CALL_H

#include "lib/base/arguments.h"
#include "lib/base/known_calls.h"

#define REQUEST_MAGIC UINT64_C(0x6e636f6c6c726571)

struct hooked;
struct ncoll_group;
struct memory;
struct plan;

enum call_state {
    CALL_NONE,
    CALL_QUEUED,  /* not all runs of the call have started */
    CALL_WIRING,  /* the same, and the peers of the call are being connected (wiring.c) */
    CALL_RUNNING, /* all runs of the call have started */
    CALL_ENDED,   /* the call has ended; .status is its result */
};

/* A collective that has been started by the user, or by the library for a purpose of its own. */
struct call {
    enum call_state state;
    int status;
    struct call_args args;
    struct plan *plan;          /* the plan; NULL: prepare() will make it */
    uint64_t started, finished; /* number of runs that have started, and that have finished */
    /* for a stale-synchronous call: its clock, which is the number of the iteration, and the oldest
     * clock of a contribution that it may use */
    uint64_t clock, floor;
    /* number of the call, in the order in which calls of the group start their first run; the same
     * on all ranks */
    uint64_t number;
    struct call *next;   /* the call started after this one on the group */
    void *copy;          /* memory that the library uses in place of IN or OUT; NULL: none */
    const void *user_in; /* the user's IN, copied to `copy` when the call begins */
    size_t user_in_bytes;
    /* the user's OUT, to which the result is copied at the end; NULL: the result is already
     * there */
    void *user_out;
    size_t user_out_count; /* number of elements to copy */
    /* the regions of registered memory that contain IN and OUT; NULL: the buffer is in none */
    struct memory *memories[2];
    bool in_place; /* IN and OUT overlap */
    /* a put was sent straight from IN or OUT, and the device may still be reading it */
    bool sends_own;

    /* for calls of the library's own, and calls of the user's that consist of several */
    bool alone; /* starts when all earlier calls have ended */
    bool last;  /* the last call of the group: it gives no credits, as nobody will use them */
    /* the collective that the user called, if `args` are those of a call that ends it: an exit
     * barrier, or the last step of a compressed call; 0: `args` are those of the user's call */
    uint16_t called;
    /* Called before the first run, and again as long as it returns NCOLL_TIMEOUT; makes the plan if
     * there is none yet. Returns NCOLL_OK: the runs may start; NCOLL_ERR_UNSUPPORTED on all ranks
     * alike: the call ends with this status; or another error, which is a failure of the job. May
     * be NULL. */
    int (*prepare)(struct ncoll_group *g, struct call *c);
    /* called when the call has ended, and may free it; NULL: nothing is to be done */
    void (*ended)(struct ncoll_group *g, struct call *c);
    void *arg;
    uint64_t started_ns;
    uint64_t begun_ns; /* with a trace: when the first run began */
    /* the record for hooks, which are told of the end of the call; NULL: none */
    struct hooked *hooked;
    /* this memory is for calls of the user's, not for the library's own; never cleared */
    bool users;
};

struct ncoll_request {
    uint64_t magic; /* REQUEST_MAGIC as long as the user may use the handle */
    struct ncoll_group *group;
    struct call call;
    bool persistent, started;
    bool listed; /* set while several.c checks a list of requests that contains this one */
    /* for persistent requests only: */
    struct known_call known;
    size_t *arrays; /* copies of the user's arrays of counts, if the known call has no plan */
    struct ncoll_request *next; /* next request of the context */
    struct ncoll_request *next_idle;
};

#endif
