/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of the same collective, size and distribution are compared with each other, and are
 * neighbours in the plan: a group. In each round the members of a group have their batches one
 * after the other, in random order; the groups are in random order as well. All members have the
 * same number of batches, so those of one round can be compared.
 */
#include "tools/bench/measure/measure.h"

#include <stdlib.h>
#include <string.h>

#include "tools/bench/measure/mix.h"
#include "tools/bench/measure/progress.h"
#include "tools/bench/measure/stats.h"

/* Whenever the number of samples has grown by this part, they are sorted to check whether they are
 * enough. */
#define LOOK_AGAIN 8 /* 1/8 */

/* Rows first..first+n-1. */
struct group {
    unsigned first, n;
    unsigned look_at; /* number of batches at the next look */
    bool ended;
};

struct rounds {
    struct group *groups;
    unsigned n, ended;
    unsigned *order, *members; /* random orders: of groups, of the rows in a group */
    uint64_t *sorted;          /* of one row */
    uint64_t stream;           /* of draws */
    unsigned begun;            /* number of groups that have had a batch */
    uint64_t start_ns;
    bool spent; /* the budget is spent; the same on all ranks */
};

static bool are_alike(const struct row *a, const struct row *b)
{
    return a->collective == b->collective && a->bytes == b->bytes &&
           a->distribution == b->distribution && a->collective != 0;
}

static bool rounds_open(struct rounds *r, struct job *job)
{
    *r = (struct rounds){.stream = mix(job->seed), .start_ns = now_ns()};
    job->end_ns = 0;
    if (job->options->budget_s > 0)
        job->end_ns = r->start_ns + (uint64_t)(job->options->budget_s * 1e9);
    r->groups = calloc(job->n_rows + 1, sizeof *r->groups);
    r->order = calloc(job->n_rows + 1, sizeof *r->order);
    r->members = calloc(job->n_rows + 1, sizeof *r->members);
    r->sorted = calloc(job->options->iterations, sizeof *r->sorted);
    if (r->groups == NULL || r->order == NULL || r->members == NULL || r->sorted == NULL)
        return false;
    for (unsigned i = 0; i < job->n_rows; i++) {
        if (i == 0 || !are_alike(&job->rows[i - 1], &job->rows[i]))
            r->groups[r->n++].first = i;
        r->groups[r->n - 1].n++;
    }
    return true;
}

static void rounds_close(struct rounds *r)
{
    free(r->sorted);
    free(r->members);
    free(r->order);
    free(r->groups);
}

static bool is_precise(struct rounds *r, const struct options *options, const struct row *row)
{
    struct summary summary;

    memcpy(r->sorted, row->samples_ns, row->calls * sizeof *r->sorted);
    stats_sort(r->sorted, row->calls);
    stats_summarise(r->sorted, row->calls, &summary);
    return stats_is_precise(&summary, options->precision);
}

/* Called after each member of a group has had a batch. */
static void look_at_group(struct rounds *r, const struct job *job, struct group *g)
{
    const struct options *options = job->options;
    struct row *rows = &job->rows[g->first];
    unsigned batches = rows[0].calls / rows[0].batch;
    enum stop why = STOP_CALLS;

    g->ended = rows[0].calls + rows[0].batch > options->iterations;
    if (!g->ended && options->precision > 0 && batches >= options->repeats &&
        batches >= g->look_at) {
        bool precise = true;
        for (unsigned i = 0; precise && i < g->n; i++)
            precise = is_precise(r, options, &rows[i]);
        g->ended = precise;
        why = STOP_PRECISION;
        g->look_at = batches + 1 + batches / LOOK_AGAIN;
    }
    if (!g->ended && r->spent) {
        g->ended = true;
        why = STOP_BUDGET;
    }
    for (unsigned i = 0; i < g->n; i++)
        rows[i].stopped = why;
    r->ended += g->ended;
}

static int one_group(struct rounds *r, struct job *job, struct group *g)
{
    int status = NCOLL_OK;

    if (job->rows[g->first].calls == 0)
        status = trial_make(job, &job->rows[g->first], g->n, r->n - r->begun++);
    mix_shuffle(&r->stream, r->members, g->n);
    for (unsigned i = 0; status == NCOLL_OK && i < g->n; i++) {
        bool spent = false;
        status = batch_make(job, &job->rows[g->first + r->members[i]], &spent);
        r->spent |= spent;
    }
    look_at_group(r, job, g);
    return status;
}

/* Returns how much is done, from 0 to 1: of the calls, or of the budget if that ends first. Each
 * group has its first batch in any case. */
static double part_done(const struct rounds *r, const struct job *job)
{
    const struct options *options = job->options;
    double calls = 0, begun = 0, time = 0;

    for (unsigned i = 0; i < r->n; i++) {
        unsigned made = job->rows[r->groups[i].first].calls;
        calls += r->groups[i].ended ? 1.0 : (double)made / options->iterations;
        begun += made > 0;
    }
    if (options->budget_s > 0)
        time = (double)(now_ns() - r->start_ns) / 1e9 / options->budget_s;
    time = time < begun / r->n ? time : begun / r->n;
    return calls / r->n > time ? calls / r->n : time;
}

static int all_rounds(struct rounds *r, struct job *job)
{
    struct progress progress;
    int status = NCOLL_OK;

    progress_start(&progress, job->rank == 0, 0);
    for (bool first = true; status == NCOLL_OK && r->ended < r->n; first = false) {
        mix_shuffle(&r->stream, r->order, r->n);
        for (unsigned i = 0; status == NCOLL_OK && i < r->n; i++) {
            struct group *g = &r->groups[r->order[i]];
            if (g->ended)
                continue;
            if (r->spent && !first)
                look_at_group(r, job, g);
            else
                status = one_group(r, job, g);
            progress_step(&progress, part_done(r, job));
        }
    }
    progress_end(&progress);
    return status;
}

/* Makes all ranks use the same seed. */
static int agree_on_seed(struct job *job)
{
    job->seed = job->options->has_seed ? job->options->seed : mix(now_ns()) >> 32;
    return ncoll_bcast(job->world, &job->seed, 1, NCOLL_UINT64, 0, NCOLL_BLOCK);
}

/* Fills the buffers once, for calls that do not get new data each time. */
static void fill_once(struct job *job)
{
    for (unsigned i = 0; i < job->n_rows; i++)
        if (job->rows[i].collective > COLL_BARRIER)
            check_fill(job, &job->rows[i], job->rank, job->in);
}

int measure(struct job *job)
{
    struct rounds rounds = {0};
    int status = agree_on_seed(job);

    fill_once(job);
    if (status == NCOLL_OK && job->options->start == START_WINDOW)
        status = window_open(job);
    if (status == NCOLL_OK && !rounds_open(&rounds, job))
        status = NCOLL_ERR_MEMORY;
    if (status == NCOLL_OK)
        status = all_rounds(&rounds, job);
    for (unsigned i = 0; status == NCOLL_OK && i < job->n_rows; i++)
        status = summary_of_row(job, &job->rows[i], rounds.sorted);
    rounds_close(&rounds);
    if (status == NCOLL_OK)
        status = summary_of_job(job);
    return status == NCOLL_OK ? window_close(job) : status;
}
