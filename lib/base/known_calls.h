/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group's memory of calls. Programs repeat their calls, so a group remembers how it made them.
 *
 * Contents: a known call is the arguments of a call, which have been checked, and the
 * plan that carries it out. The group keeps the recent known calls, and behind them a table of
 * plans. A persistent request holds a known call of its own. Every call of the user's begins from a
 * known call (lib/run/begin.c): a persistent request has it already, and a blocking call or another
 * request looks it up.
 *
 * Look-up: first comes the call that followed the latest call the last time: in a
 * loop this is the right one. The other recent calls come next. If none of them has the same
 * arguments, the arguments are checked, and the plan is taken from the table or made.
 *
 * Lifetime: a recent call stays until another call takes its place. A plan stays
 * as long as it has users, which are known calls and calls that have not ended. A plan without
 * users stays until its place, or its bytes, are needed for a new plan; the plan that was looked up
 * least recently goes first.
 *
 * Invalidation: the choice of algorithms may change: some rank has refused the connections
 * of an algorithm, or a tool forces an algorithm. This ends an era. All recent calls and all plans
 * in the table are forgotten. A persistent request, and a call that is still queued, get a plan of
 * the new era when they begin. So all ranks change their choice at the same call of the group.
 */
#ifndef NCOLL_LIB_BASE_KNOWN_CALLS_H
#define NCOLL_LIB_BASE_KNOWN_CALLS_H

#include "lib/base/arguments.h"

struct plan;

/* A loop of up to RECENT_CALLS calls finds all of them among the recent calls. A longer loop still
 * finds most of them: only every RECENT_KEPT-th call that is not found replaces a recent call. The
 * other calls that are not found share the last place. */
#define RECENT_CALLS  8
#define RECENT_KEPT   4
#define RECENT_PLACES (RECENT_CALLS + 1)

#define PLANS       64 /* number of places in the table; the hash of a call selects one */
#define PLAN_PLACES 4  /* places where one plan may be kept */
#define PLANS_BYTES ((size_t)64 << 20) /* most bytes of all plans; the newest alone may have more */

struct known_call {
    /* as the user gave them; a persistent request has copies of the arrays */
    struct call_args args;
    struct plan *plan; /* NULL: the plan is made whenever the call begins */
    /* The call is carried out by one run, which may start at once: it is one segment and loose, its
     * peers are connected, and the library needs no copy of its data. */
    bool plain;
    struct known_call *then; /* the blocking call that came after this one the last time */
};

struct known_calls {
    struct known_call recent[RECENT_PLACES]; /* a place without a plan is free */
    struct known_call start;                 /* stands for the call before the first one */
    struct known_call *latest; /* the latest blocking call that returned NCOLL_OK, or `start` */
    /* the plain call that group.blocking is set up for; NULL: it is not set up for one */
    struct known_call *blocking;
    struct known_call *unfinished; /* the blocking call that has timed out; NULL: none */
    uint64_t begun;  /* number of blocking calls that have begun, except those of the short path */
    unsigned misses; /* number of calls that were not found in `recent` */
    unsigned era;    /* number of the present era: 1, 2, .. */
    struct plan *plans[PLANS]; /* the table of plans */
    size_t plans_bytes;        /* bytes of the plans in the table */
    size_t plans_bytes_most;   /* the most that plans_bytes may be: PLANS_BYTES */
    uint64_t lookups;          /* number of look-ups in the table */
};

#endif
