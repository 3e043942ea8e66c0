/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs of random programs under virtual time. Each differs from others in all that a seed can
 * change: ranks, nodes, delays, pauses, narrow queues, and ranks that are killed.
 */
#ifndef NCOLL_TEST_SIM_JOBS_H
#define NCOLL_TEST_SIM_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "test/sim/many.h"

struct sim_jobs {
    uint64_t seed;
    bool ranks[MANY_RANKS + 1]; /* the numbers of ranks that jobs may have */
    unsigned ranks_max;
    bool kills;   /* a rank or two of each job are killed */
    bool twice;   /* each job once more, with other addresses: the events have to be the same */
    bool many;    /* programs of many.h, else those of test/programs */
    bool verbose; /* a line for each job */
};

struct total {
    uint64_t jobs, programs, calls, killed;
    uint64_t named; /* errors of survivors that named a rank that was killed */
    uint64_t wrong; /* results that are not as the reference says, and errors without an excuse */
    uint64_t hung, violations, failed;
};

/* Call this once, before the first job. Which addresses mmap() gives again depends on where the
 * kernel has put this process, so memory is allocated without it. */
void sim_jobs_prepare(void);

/* Runs the job of this number, which follows from it and the seed alone, and adds it to *total.
 * Returns false, after it has printed how to repeat the job, if it failed. */
bool sim_job(const struct sim_jobs *jobs, uint64_t number, struct total *total);

#endif
