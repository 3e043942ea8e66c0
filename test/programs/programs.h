/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs: sequences of collectives of all kinds on the world and on groups that come and
 * go, as requests that stay unfinished while others come and go, some of them persistent, and as
 * blocking calls in between, with time-outs, taken up again, by ranks that are late now and then.
 * Stale-synchronous and partial allreduces come between them, on objects that come and go as well.
 *
 * A program that no other one follows in its context may end as soon as its last call has: then the
 * ranks leave without waiting for each other.
 *
 * What is called, in which order, is drawn from the seed and the program's number, the same on all
 * ranks; how a rank drives its calls, from these and its rank.
 */
#ifndef NCOLL_TEST_PROGRAMS_H
#define NCOLL_TEST_PROGRAMS_H

#include <stdatomic.h>

#include "test/support/exercise.h"

#define RANKS_MAX 16
#define STEPS_MAX 60
#define BATCH     25 /* programs that one group of processes runs, one after the other */

/* Shared by the ranks. */
struct tally {
    _Atomic uint64_t programs, calls, resumed, contexts, wrong;
    /* Hashes of results that must have the same bits on all ranks, 0: none. Two sets, used in turn:
     * a rank is at most one program ahead of one that still compares. */
    uint64_t hashes[2][STEPS_MAX][RANKS_MAX];
};

struct job {
    uint64_t seed, first, end; /* programs */
    bool verbose;
    bool leaves; /* each program has a context of its own, is short, and ends with its last call */
    bool late;   /* with the transport of test/support/late.h */
    struct tally *tally;
    void (*pause)(uint64_t ns); /* of a rank that is late; NULL: it sleeps */
    /* An error after which a rank may end its programs, because a rank has been killed. NULL: there
     * is none. */
    bool (*excuses)(const ncoll_error *error);
};

static inline bool programs_excused(const struct job *job, const ncoll_error *error)
{
    return job->excuses != NULL && job->excuses(error);
}

struct actor {
    const struct job *job;
    struct tally *tally;
    ncoll_params params; /* as the process got them */
    ncoll_context *ctx;  /* NULL: to be created */
    ncoll_group *world;
    int rank, ranks;
    bool any_order; /* of the context */
    bool accused;   /* of calls that other ranks did not make */
    struct repertoire repertoire;
};

/* Runs one program on all ranks. False, once it has been said, if anything was wrong. */
bool program_run(struct actor *actor, uint64_t number);

/* The program with which the context begins that this one runs in. */
uint64_t programs_context_of(const struct job *job, uint64_t number);

/* True if the context ends with this program. */
bool programs_context_ends(const struct job *job, uint64_t number);

/* Runs one rank; arg is the struct job. */
int programs_rank(const ncoll_params *params, void *arg);

#endif
