/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The outline of a schedule: what matters between its runs, where values do not. Of each rank, in
 * order: whom it puts to, and whether it passes on a message or sends scratch; whom it waits for;
 * and where it writes scratch for the first time. Slots are gone: a put names the receiver's wait
 * by its place among the waits there, so that schedules that only number their slots differently
 * have the same outline.
 *
 * Many schedules have: with other counts, for another root (its ranks renumbered), of another
 * radix. And most of those that synchronise are symmetric: each rank does what rank 0 does, with
 * peers at the same distances. Where they differ in what they pass on only, or where they begin to
 * write scratch, because some messages have no elements, the HULL is what one rank does that asks
 * as much as any of them.
 */
#ifndef NCOLL_TEST_VERIFY_OUTLINE_H
#define NCOLL_TEST_VERIFY_OUTLINE_H

#include "test/verify/schedules.h"

enum event_kind { EVENT_PUT, EVENT_WAIT, EVENT_SCRATCH, EVENT_LOOK };
enum origin { FROM_ELSEWHERE, FROM_ARRIVED, FROM_SCRATCH };

struct event {
    uint8_t kind;        /* enum event_kind */
    uint8_t from;        /* of a put of elements: enum origin */
    uint16_t number;     /* of the wait, among the receiver's */
    unsigned peer;       /* of a look: the receiver */
    unsigned mate, back; /* the peer among this rank's peers; this rank among the peer's */
};

struct outline {
    unsigned P, root, waits;      /* the most of a rank */
    bool synchronises, symmetric; /* it has a hull */
    bool looking;                 /* ranks look at slots of others */
    struct event *events;
    struct event *hull; /* of rank 0 */
    unsigned n_hull;
    unsigned *first;      /* [P + 1]: of each rank's events */
    unsigned *first_mate; /* [P + 1]: of each rank's peers, counted over all ranks */

    unsigned *lookers;      /* who looks at slots of each rank; */
    unsigned *first_looker; /* [P + 1]: of each rank's */
    unsigned *looks;        /* of each event, a put: looks at its message; else 0 */

    struct program room; /* of one rank */
    unsigned *wait_in;   /* P x slots: the event */
    unsigned *mate_of;   /* of each rank, for one: its place among the peers, or none */
    size_t events_allocated, P_allocated, wait_in_allocated, hull_allocated, lookers_allocated;
};

/* Makes the outline of a schedule that the model has found right: each put has its wait. */
void outline_of(const struct schedule *schedule, struct outline *out);
void outline_free(struct outline *c);

/*
 * True if a, with its ranks counted from `by`, is b but for what it does not ask: the same puts and
 * waits in the same order, of which some may not pass anything on, and scratch written no earlier.
 * What is known where follows from puts and waits, and only grows in the course of a run: if it is
 * enough for b it is so for a.
 */
bool outline_follows(const struct outline *a, const struct outline *b, unsigned by);

/* Looks for the hull. False: there is none. */
bool outline_fold(struct outline *c);

static inline const struct event *outline_begin(const struct outline *c, unsigned rank)
{
    return c->events + c->first[rank];
}

static inline const struct event *outline_end(const struct outline *c, unsigned rank)
{
    return c->events + c->first[rank + 1];
}

#endif
