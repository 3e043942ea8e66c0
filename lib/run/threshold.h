/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bcast or a reduce with a threshold (include/ncoll_eventual.h) is an ordinary call on what is in:
 *
 *   data       on the first elements, in the user's buffers; any algorithm may carry it out
 *   heaviest   on packed copies of the chosen elements. In a bcast the receivers do not know the
 *              weights, so the message also says which elements they are (heaviest.h). It is a bcast
 *              of bytes
 *   ranks      on the whole vector, by an algorithm that TAKES PLACES (algos/threshold.c); if all
 *              ranks are in, by any algorithm
 *
 * Signatures have the user's arguments (struct threshold_key), so that ranks that make different
 * calls are told so in the terms of these.
 */
#ifndef NCOLL_LIB_RUN_THRESHOLD_H
#define NCOLL_LIB_RUN_THRESHOLD_H

#include "lib/base/group.h"
#include "lib/run/heaviest.h"
#include "ncoll_eventual.h"

/* The arguments that the user gave. */
struct threshold_call {
    enum collective collective; /* bcast: in == out */
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
    unsigned users; /* the function that has made it, a call, a persistent request */
    struct threshold_call user;
    struct call_args args; /* of the call that is made for it */
    size_t elements;       /* elements that are in when it has ended; of ranks: `count` */
    size_t delivered;      /* elements that this call delivers */
    int ranks;             /* ranks that are in when it has ended */
    size_t *rank_at;       /* [P] if ranks are listed, else NULL */
    struct heaviest heaviest;
    /* of the heaviest: a copy of after->element_in, since the status of this call may be `after`, and
     * a persistent request chooses again; NULL: nothing is in */
    uint8_t *before;
};

/* Makes the threshold of a call whose arguments were checked, for one user. Returns NCOLL_OK or an
 * error. */
int ncoll__threshold_make(struct ncoll_group *g, const struct threshold_call *user,
                          struct threshold **out);
/* Takes one user from it. NULL is allowed. */
void ncoll__threshold_leave(struct ncoll_group *g, struct threshold *t);
/* Returns true if the user makes the same call again. */
bool ncoll__threshold_is_of(const struct threshold *t, const struct threshold_call *user);

/* Makes the threshold of a call part of it, if it has one: packs data when the call begins, and says
 * what is in when it has ended. */
void ncoll__threshold_begin(struct call *c);

#endif
