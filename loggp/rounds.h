/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounds in the form that the simulator needs: only the steps that take time. */
#ifndef NCOLL_LOGGP_ROUNDS_H
#define NCOLL_LOGGP_ROUNDS_H

#include "loggp/loggp.h"

enum action_kind {
    ACTION_PUT = LOGGP_PUT,
    ACTION_WAIT = LOGGP_WAIT,
    ACTION_LOOK = LOGGP_LOOK,
    ACTION_WORK = LOGGP_WORK
};

struct action {
    enum action_kind kind;
    unsigned peer; /* of a put: the receiver; otherwise the sender */
    unsigned slot;
    unsigned at;    /* of a look: the receiver */
    unsigned steps; /* of work: number of local steps */
    bool stays;     /* of a put: receivers may read the data where it is */
    double amount;  /* bytes; of work: time in ns */
};

struct rounds {
    const struct algorithm *algorithm;
    double element_bytes, step_ns, local_byte_ns;
    struct step *steps;     /* room for the longest round so far */
    struct action *actions; /* the latest round: `count` actions */
    unsigned capacity, count;
};

enum round_status { ROUND_MADE, ROUND_NONE, ROUND_NO_MEMORY };

/* Makes a round for the shape's rank, in r->actions. Returns ROUND_NONE past the last round. */
enum round_status loggp_rounds_make(struct rounds *r, const struct shape *shape, unsigned round);
void loggp_rounds_free(struct rounds *r);

#endif
