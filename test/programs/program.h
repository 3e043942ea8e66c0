/* SPDX-License-Identifier: BSD-3-Clause */
/* A program under way, on one rank. */
#ifndef NCOLL_TEST_PROGRAM_H
#define NCOLL_TEST_PROGRAM_H

#include "ncoll_eventual.h"
#include "programs.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define BYTES_MAX  ((size_t)256 << 10)
#define OPEN_MAX   16u /* requests that are unfinished at once */
#define PERSISTENT 3u
#define SPECS_KEPT 8u
#define CIRCLES    4u
#define HANG_NS    (HANG_FACTOR * INT64_C(60000000000))
#define MS         INT64_C(1000000)

/* A call that has been made and not ended. */
struct pending {
    struct exercise exercise;
    struct circle *circle;
    ncoll_request *request; /* NULL: a blocking call */
    bool persistent, open;  /* open: started and not ended */
    unsigned sync;          /* NCOLL_STRICT_* */
    unsigned step;
};

/* The object of a circle for stale-synchronous or partial allreduces. */
struct eventual {
    ncoll_stale *object; /* NULL: none */
    bool partial;
    int max_slack;
    int64_t clock, restart; /* of the last call; of the last one with slack 0 */
    /* partial: of each rank, the contributions used so far, and the sum of their clocks */
    int64_t used[RANKS_MAX], sum[RANKS_MAX];
};

/*
 * A place for groups. The first is the world's; into the others groups are made and freed, on all
 * ranks in the same steps. The ranks may be in different groups of one place, or in none.
 */
struct circle {
    bool exists; /* the same on all ranks */
    ncoll_group *group;
    int rank, size, leader; /* leader: the world rank of its rank 0 */
    struct random common;   /* the same on all ranks of the group */
    struct pending *persistent[PERSISTENT];
    struct exercise_spec specs[SPECS_KEPT];
    unsigned n_specs;
    struct eventual eventual;
};

struct program {
    struct actor *actor;
    uint64_t number;
    struct random common, own;
    struct circle circles[CIRCLES];
    struct pending *open[OPEN_MAX]; /* requests */
    unsigned n_open;
    struct pending *unfinished; /* the blocking call that has timed out */
    bool leaves;                /* the context ends with the program */
    unsigned step;
    int leader[STEPS_MAX]; /* of the group that each step's call was made on */
};

/* Goes on with the blocking call that has timed out until it ends. */
bool program_resume(struct program *p);
/* Says what was wrong, unless the error is excused. Returns false. */
bool program_say(const struct program *p, const char *what, int rc);
/* Ends what is open on the circle's group, and frees its persistent requests and its object. */
bool program_leave_circle(struct program *p, struct circle *c);

/* circles.c: makes a group from another circle's, some way; frees it. */
bool circle_make(struct program *p, struct circle *c);
bool circle_free(struct program *p, struct circle *c);

/* eventual.c: makes the circle's object, makes a call on it, or frees it; frees it if there is one. */
bool eventual_step(struct program *p, struct circle *c);
bool eventual_free(struct program *p, struct circle *c);

#endif
