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
    CALL_QUEUED,  /* not all of its runs have started */
    CALL_WIRING,  /* not all of its runs have started; its peers are being connected (wiring.c) */
    CALL_RUNNING, /* all of its runs have started */
    CALL_ENDED,   /* its result is in .status */
};

/* A collective that has been started by the user, or by the library for a purpose of its own. */
struct call {
    enum call_state state;
    int status;
    struct call_args args;
    struct plan *plan;          /* NULL: prepare() makes it */
    uint64_t started, finished; /* numbers of runs */
    uint64_t clock,
        floor;           /* on an object of lib/stale: its clock, and the oldest that it may use */
    uint64_t number;     /* number in the order of first runs on the group; the same on all ranks */
    struct call *next;   /* the call started after this one on the group */
    void *copy;          /* memory that the library uses in place of the user's; NULL: none */
    const void *user_in; /* user's data, copied to `copy` when the call begins */
    size_t user_in_bytes;
    /* the result is copied to this place in the end; NULL: it is there already */
    void *user_out;
    size_t user_out_count; /* number of elements to copy */
    /* the registered regions that contain IN and OUT; NULL: in no region */
    struct memory *memories[2];
    bool in_place;  /* IN and OUT overlap */
    bool sends_own; /* a put has left from IN or OUT; the device may still be reading it */

    /* for calls of the library's own */
    bool alone; /* starts when all earlier calls have ended */
    bool last;  /* the last call of the group: it gives no credits, as nobody will use them */
    /* the collective that the user called, if the arguments are those of another call in its place: a
     * barrier, or a step; 0: they are those of the user's call */
    uint16_t called;
    /* Called before the first run until it is done; makes the plan if there is none yet. Returns
     * NCOLL_OK; NCOLL_TIMEOUT: call again; NCOLL_ERR_UNSUPPORTED on all ranks alike: the call ends
     * with it; or another error, which is a failure of the job. May be NULL. */
    int (*prepare)(struct ncoll_group *g, struct call *c);
    void (*ended)(struct ncoll_group *g, struct call *c); /* frees the call; may be NULL */
    void *arg;
    uint64_t started_ns;
    uint64_t begun_ns;     /* with a trace: when its first run began */
    struct hooked *hooked; /* what its end has to be told to hooks for; NULL: nothing */
    bool users;            /* it stands for a call of the user's, as long as its memory lives */
};

struct ncoll_request {
    uint64_t magic; /* REQUEST_MAGIC as long as the user may use the handle */
    struct ncoll_group *group;
    struct call call;
    bool persistent, started;
    bool listed; /* while several.c checks a list: it is in there */
    /* for persistent requests only: */
    struct known_call known;
    size_t *arrays;             /* the arrays of counts of a known call without a plan */
    struct ncoll_request *next; /* next request of the context */
    struct ncoll_request *next_idle;
};

#endif
