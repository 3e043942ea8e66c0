/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out how long a call takes. The first call of a row does not count, since it may connect
 * ranks. Of the others the shortest counts, since a rank may lose its core during one of them. Rank
 * 0 measures, and tells the others.
 */
#include "tools/bench/measure/measure.h"

#define CALLS      3
#define FIRST_PART 2 /* 1/2: the share of a group's budget for its first batches */

/* Times a call, with what separates calls, and with a barrier, since the call may end on rank 0
 * before it ends on other ranks. */
static int time_call(struct job *job, struct row *row, uint64_t *least_ns)
{
    int status = row->subject->begin != NULL ? row->subject->begin(job, row) : NCOLL_OK;

    *least_ns = UINT64_MAX;
    for (unsigned i = 0; status == NCOLL_OK && i < CALLS; i++) {
        uint64_t start = now_ns();
        status = calls_make(job, row, 1, PURPOSE_WARMUP);
        if (status == NCOLL_OK)
            status = ncoll_barrier(job->world, NCOLL_BLOCK);
        uint64_t took = now_ns() - start;
        if (i > 0 && took < *least_ns)
            *least_ns = took;
    }
    if (status == NCOLL_OK && row->subject->end != NULL)
        status = row->subject->end(job, row);
    return status;
}

/* Returns how many calls of ns each fit into the rest of the budget. */
static unsigned calls_within(const struct job *job, uint64_t ns, unsigned groups)
{
    const struct options *options = job->options;
    uint64_t now = now_ns(), left = job->end_ns > now ? job->end_ns - now : 0;
    double calls = (double)left / FIRST_PART / groups / (double)ns;
    /* the warm-up gets shorter with the batch */
    double timed = calls * job->batch / (job->batch + options->warmup);

    if (timed >= job->batch)
        return job->batch;
    return timed > options->batch_min ? (unsigned)timed : options->batch_min;
}

int trial_make(struct job *job, struct row *rows, unsigned n, unsigned groups)
{
    uint64_t sum = 0, calls = job->batch;
    int status = NCOLL_OK;

    if (job->end_ns == 0 || job->options->batch_min == 0 || job->options->batch_min == job->batch)
        return NCOLL_OK;
    for (unsigned i = 0; status == NCOLL_OK && i < n; i++) {
        uint64_t least;
        status = time_call(job, &rows[i], &least);
        sum += least;
    }
    if (status == NCOLL_OK && job->rank == 0)
        calls = calls_within(job, sum, groups);
    if (status == NCOLL_OK)
        status = ncoll_bcast(job->world, &calls, 1, NCOLL_UINT64, 0, NCOLL_BLOCK);
    for (unsigned i = 0; i < n; i++) {
        rows[i].batch = (unsigned)calls;
        rows[i].warmup = (unsigned)(job->options->warmup * calls / job->batch);
    }
    return status;
}
