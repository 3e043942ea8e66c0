/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random job of stale-synchronous or partial allreduces. From each result alone
 * it is seen which contributions have gone into it:
 *
 * Vectors are made of P slices of at least 2 P elements. In each slice, element q < P of rank q is the
 * clock, element P + q is 1, and all other ranks have 0 there; the elements after these are the clock
 * times a number that depends on rank and place. So a sum tells of each rank how often it contributed,
 * and the clock; and all elements have to agree.
 */
#ifndef NCOLL_TEST_STALE_JOB_H
#define NCOLL_TEST_STALE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ncoll.h"
#include "ncoll_eventual.h"
#include "test/support/seed.h"

#define JOB_RANKS_MAX 64

struct job {
    uint64_t seed;
    int ranks, calls, max_slack;
    ncoll_stale_params params;
    size_t slice;      /* elements of a slice */
    uint64_t pause_ns; /* most time between two calls of a rank */
    void (*sleep)(uint64_t ns);
    _Atomic int begun[JOB_RANKS_MAX]; /* calls that each rank has begun */
    /* results checked; contributions that were older than the call, and newer */
    _Atomic uint64_t results, stale, early;
    _Atomic bool failed;
};

/* Makes a job from a seed, all but `sleep`. */
void job_from_seed(struct job *job, uint64_t seed);
/* Makes the calls of one rank. Returns 0 if all is as it should be. */
int job_rank(struct job *job, ncoll_context *ctx, int rank, int size);

#endif
