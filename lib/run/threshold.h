/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bcast or a reduce with a threshold (include/ncoll_eventual.h) is carried out by an ordinary
 * call on the elements or ranks that are in. The kinds of thresholds:
 *
 *   data       on the first elements, in the user's buffers; any algorithm may carry it out
 *   heaviest   on packed copies of the chosen elements. In a bcast the receivers do not know the
 *              weights, so the message also says which elements they are (heaviest.h). It is a
 *              bcast of bytes
 *   ranks      on the whole vector, by an algorithm that TAKES PLACES (algos/threshold.c); if all
 *              ranks are in, by any algorithm
 *
 * The signatures of messages have the user's arguments (struct threshold_key). So if ranks make
 * different calls, the error describes the calls of the user, not the ordinary ones.
 */
#ifndef NCOLL_LIB_RUN_THRESHOLD_H
#define NCOLL_LIB_RUN_THRESHOLD_H

#include "lib/base/group.h"
#include "lib/run/heaviest.h"
#include "ncoll_eventual.h"

/* The arguments that the user gave. */
struct threshold_call {
    enum collective collective; /* in a bcast in == out */
    const void *in;
    void *out;
    size_t count;
    ncoll_type type;
    ncoll_op op;
    int root;
    ncoll_threshold threshold;
    ncoll_threshold_status *status;
};

struct threshold {
    unsigned users; /* number of users: the function that made it, calls, a persistent request */
    struct threshold_call user;
    struct call_args args; /* arguments of the ordinary call */
    /* elements that are in after the call; with a threshold of ranks all of them */
    size_t elements;
    size_t delivered; /* elements that this call delivers */
    int ranks;        /* ranks that are in after the call */
    size_t *rank_at;  /* [P] if ranks are listed, else NULL */
    struct heaviest heaviest;
    /* With a threshold of the heaviest elements: a copy of after->element_in. It is needed since
     * the status of this call may be `after` itself, and a persistent request chooses again
     * whenever it is started. NULL: no element was in before the call, or this rank need not know
     * which. */
    uint8_t *before;
};

/* Makes the threshold of a call whose arguments were checked. *out has one user, the caller.
 * Returns NCOLL_OK or an error. */
int ncoll__threshold_make(struct ncoll_group *g, const struct threshold_call *user,
                          struct threshold **out);
/* Drops one user of a threshold, which is freed with its last user. t may be NULL. */
void ncoll__threshold_leave(struct ncoll_group *g, struct threshold *t);
/* Returns true if the threshold was made for a call with exactly these arguments. */
bool ncoll__threshold_is_of(const struct threshold *t, const struct threshold_call *user);

/* Attaches its threshold, if it has one, to a call: elements are packed when the call begins, and
 * the user's status is filled in when it has ended. */
void ncoll__threshold_begin(struct call *c);

#endif
