/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks learn the clock of rank 0 in a binomial tree: in step k each rank r < 2^k, which knows it
 * already, answers rank r + 2^k. The pairs of a step work at the same time. Errors add up along the
 * tree, log2(P) of them. On one node all ranks read the same clock. The offset is measured there as
 * well, and has to be 0 within its error.
 */
#include "tools/bench/measure/measure.h"

#include <sched.h>
#include <stdlib.h>

#define PROBES 20
#define LEAD   50000u /* time before the first window of a batch, in addition to two windows */

/* Answers probes with this side's estimate of the clock of rank 0. */
static int answer(const struct job *job, ncoll_group *pair)
{
    const struct clock_line *clock = &job->window->clock;
    int status = NCOLL_OK;

    for (unsigned i = 0; status == NCOLL_OK && i < PROBES; i++) {
        uint64_t told[2] = {0, 0};
        status = ncoll_bcast(pair, told, 2, NCOLL_UINT64, 1, NCOLL_BLOCK);
        uint64_t now = now_ns();
        told[0] = clock_theirs(clock, now);
        told[1] = clock_error_ns(clock, now);
        if (status == NCOLL_OK)
            status = ncoll_bcast(pair, told, 2, NCOLL_UINT64, 0, NCOLL_BLOCK);
    }
    return status;
}

static int ask(struct job *job, ncoll_group *pair)
{
    struct probe probes[PROBES];
    int status = NCOLL_OK;

    for (unsigned i = 0; i < PROBES; i++) {
        uint64_t told[2] = {0, 0};
        probes[i].sent = now_ns();
        if (status == NCOLL_OK)
            status = ncoll_bcast(pair, told, 2, NCOLL_UINT64, 1, NCOLL_BLOCK);
        if (status == NCOLL_OK)
            status = ncoll_bcast(pair, told, 2, NCOLL_UINT64, 0, NCOLL_BLOCK);
        probes[i].got = now_ns();
        probes[i].theirs = told[0];
        probes[i].error_ns = told[1];
    }
    if (status != NCOLL_OK)
        return status;
    struct clock_point point = clock_point_of(probes, PROBES);
    clock_line_add(&job->window->clock, &point);
    return NCOLL_OK;
}

static int look_at_clocks(struct job *job)
{
    struct call_window *w = job->window;
    int status = NCOLL_OK;

    for (unsigned k = 0; status == NCOLL_OK && k < w->steps; k++)
        if (w->pairs[k] != NULL)
            status =
                (unsigned)job->rank < 1u << k ? answer(job, w->pairs[k]) : ask(job, w->pairs[k]);
    uint64_t error = clock_error_ns(&w->clock, now_ns());
    w->error_ns = error > w->error_ns ? error : w->error_ns;
    return status;
}

/* Returns the pair of this rank in step k, identified by the rank that answers. */
static int pair_of(const struct job *job, unsigned k)
{
    int half = 1 << k;

    if (job->rank >= 2 * half || (job->rank < half && job->rank + half >= job->ranks))
        return NCOLL_NO_GROUP;
    return job->rank % half;
}

int window_open(struct job *job)
{
    int status = NCOLL_OK;

    job->window = calloc(1, sizeof *job->window);
    if (job->window == NULL)
        return NCOLL_ERR_MEMORY;
    while (status == NCOLL_OK && 1 << job->window->steps < job->ranks) {
        unsigned k = job->window->steps++;
        status = ncoll_group_split(job->world, pair_of(job, k), job->rank, &job->window->pairs[k],
                                   NCOLL_BLOCK);
    }
    return status == NCOLL_OK ? look_at_clocks(job) : status;
}

int window_close(struct job *job)
{
    int status = NCOLL_OK;

    for (unsigned k = 0; job->window != NULL && k < job->window->steps; k++)
        if (status == NCOLL_OK && job->window->pairs[k] != NULL)
            status = ncoll_group_free(&job->window->pairs[k], NCOLL_BLOCK);
    free(job->window);
    job->window = NULL;
    return status;
}

int window_begin(struct job *job, const struct row *row)
{
    struct call_window *w = job->window;
    int status = look_at_clocks(job);

    w->begin_ns = clock_theirs(&w->clock, now_ns()) + LEAD + 2 * row->window_ns;
    return status == NCOLL_OK
               ? ncoll_bcast(job->world, &w->begin_ns, 1, NCOLL_UINT64, 0, NCOLL_BLOCK)
               : status;
}

bool window_wait(const struct job *job, const struct row *row, unsigned call, uint64_t *from_ns)
{
    uint64_t begin = job->window->begin_ns + call * row->window_ns;
    uint64_t own = clock_own(&job->window->clock, begin);

    *from_ns = own;
    if (now_ns() > own)
        return false;
    while (now_ns() < own)
        if (job->oversubscribed)
            sched_yield();
    return true;
}
