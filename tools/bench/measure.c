/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls follow each other without a pause and the end of one is the start of the next, so that
 * nothing is hidden between them and the clock is read once a call (its cost is in the sample, and
 * in the report). Only with --check and --fresh, and where ranks may run ahead of each other, is
 * there work between calls, outside of their times.
 *
 * Where there is none, a batch has a time as a whole as well (loop). Ranks that share cores end a
 * call one after the other, so that the maximum over ranks of each call counts much of the next
 * call twice; the batch does not.
 *
 * Ranks keep their samples to themselves until all is measured; then the maximum over ranks of each
 * call is taken, with an allreduce.
 */
#include "tools/bench/measure.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tools/bench/check.h"
#include "tools/bench/progress.h"

#define LINE_BYTES 64

/* The barrier keeps the checking of other ranks out of this one's time. */
static int before_checked_call(struct job *job, const struct row *row, bool late)
{
    int status = NCOLL_OK;

    job->serial++;
    if (row->collective != COLL_BARRIER) {
        check_fill(job, row, job->rank, job->in);
        status = ncoll_barrier(job->world, NCOLL_BLOCK);
    }
    if (late)
        check_be_late(job);
    return status;
}

/* Writes what is there already, to each line of IN: it is this core's own then, as an application
 * leaves it. Else the lines stay where they were read last, as nobody writes there. */
static int write_anew(struct job *job, const struct row *row)
{
    size_t elements = elements_of(job, row, in_form(row->collective));
    size_t bytes = elements * ncoll_type_size(job->options->type);
    volatile unsigned char *in = job->in;

    for (size_t i = 0; i < bytes; i += LINE_BYTES)
        in[i] = in[i];
    return ncoll_barrier(job->world, NCOLL_BLOCK);
}

static int timed_calls(struct job *job, struct row *row, unsigned calls, bool late)
{
    int (*once)(struct job *, const struct row *) = row->subject->once[row_code(row)];
    bool check = job->options->check, apart = !is_back_to_back(job, row);
    bool fresh = job->options->fresh && row->collective != COLL_BARRIER;
    int status = NCOLL_OK;
    uint64_t at = now_ns();

    for (unsigned i = 0; i < calls; i++) {
        if (check)
            status = before_checked_call(job, row, late);
        else if (fresh)
            status = write_anew(job, row);
        else if (apart)
            status = ncoll_barrier(job->world, NCOLL_BLOCK);
        if (apart)
            at = now_ns();
        if (status == NCOLL_OK)
            status = once(job, row);
        uint64_t end = now_ns();
        if (status != NCOLL_OK)
            return status;
        job->entry_ns[i] = at;
        job->exit_ns[i] = end;
        if (check && row->collective != COLL_BARRIER)
            row->wrong += check_result(job, row);
        at = end;
    }
    return NCOLL_OK;
}

/* What the operating system and the library have counted for this process. */
struct counters {
    uint64_t switches, sleeps;
};

static struct counters counters_now(const struct job *job)
{
    struct ncoll_stats stats = {.size = sizeof stats};
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    ncoll_context_stats(job->ctx, &stats);
    return (struct counters){(uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw), stats.sleeps};
}

/* The timed calls of a batch. samples_ns NULL: they are not timed. */
static int calls_counted(struct job *job, struct row *row, unsigned calls, uint64_t *samples_ns)
{
    const struct subject *subject = row->subject;
    bool timed = samples_ns != NULL && is_back_to_back(job, row);
    struct counters before = counters_now(job);
    uint64_t start = now_ns();
    int status =
        subject->batch == NULL
            ? timed_calls(job, row, calls, samples_ns == NULL)
            : subject->batch(job, row, calls, samples_ns != NULL ? samples_ns : job->exit_ns);
    uint64_t end = now_ns();
    struct counters after = counters_now(job);

    if (timed) {
        row->batch_ns[row->batches++] = end - start;
        row->switches += after.switches - before.switches;
        row->sleeps += after.sleeps - before.sleeps;
    }
    return status;
}

/* Calls of one row with nothing else between them. samples_ns NULL: they are not kept. */
static int calls_of(struct job *job, struct row *row, unsigned calls, uint64_t *samples_ns)
{
    const struct subject *subject = row->subject;
    uint64_t broken = 0;

    int status = subject->begin != NULL ? subject->begin(job, row) : NCOLL_OK;
    if (status == NCOLL_OK && row->algorithm == NULL && subject->describe != NULL)
        status = subject->describe(job, row);
    if (status == NCOLL_OK)
        status = calls_counted(job, row, calls, samples_ns);
    if (subject->batch != NULL)
        return status;
    if (status == NCOLL_OK && subject->end != NULL)
        status = subject->end(job, row);
    if (status != NCOLL_OK)
        return status;
    for (unsigned i = 0; samples_ns != NULL && i < calls; i++)
        samples_ns[i] = job->exit_ns[i] - job->entry_ns[i];
    if (job->options->check && row->collective == COLL_BARRIER) {
        status = check_barriers(job, calls, &broken);
        row->wrong += job->rank == 0 ? broken : 0; /* all ranks found the same */
    }
    return status;
}

static int one_batch(struct job *job, struct row *row)
{
    int status = ncoll_barrier(job->world, NCOLL_BLOCK);

    if (status == NCOLL_OK && job->options->warmup > 0)
        status = calls_of(job, row, job->options->warmup, NULL);
    if (status == NCOLL_OK)
        status = calls_of(job, row, job->batch, row->samples_ns + row->calls);
    row->calls += job->batch;
    return status;
}

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* The smallest sample that at least `percent` of all do not exceed. */
static double percentile_us(const uint64_t *sorted, unsigned count, unsigned percent)
{
    size_t rank = ((size_t)count * percent + 99) / 100;

    return (double)sorted[rank - 1] / 1e3;
}

static int statistics(struct job *job, struct row *row)
{
    int status = ncoll_allreduce(job->world, row->samples_ns, row->samples_ns, row->calls,
                                 NCOLL_UINT64, NCOLL_MAX, NCOLL_BLOCK);
    if (status == NCOLL_OK && row->batches > 0)
        status = ncoll_allreduce(job->world, row->batch_ns, row->batch_ns, row->batches,
                                 NCOLL_UINT64, NCOLL_MAX, NCOLL_BLOCK);
    uint64_t sums[] = {row->wrong, row->switches, row->sleeps};
    if (status == NCOLL_OK)
        status = ncoll_allreduce(job->world, sums, sums, 3, NCOLL_UINT64, NCOLL_SUM, NCOLL_BLOCK);
    if (status != NCOLL_OK)
        return status;
    row->wrong = sums[0];
    row->switches = sums[1];
    row->sleeps = sums[2];
    if (row->batches > 0) {
        qsort(row->batch_ns, row->batches, sizeof *row->batch_ns, by_value);
        row->loop_us = percentile_us(row->batch_ns, row->batches, 50) / job->batch;
    }
    qsort(row->samples_ns, row->calls, sizeof *row->samples_ns, by_value);
    row->p50_us = percentile_us(row->samples_ns, row->calls, 50);
    row->p99_us = percentile_us(row->samples_ns, row->calls, 99);
    row->min_us = (double)row->samples_ns[0] / 1e3;
    row->max_us = (double)row->samples_ns[row->calls - 1] / 1e3;
    return NCOLL_OK;
}

/* Counters over all ranks. What the statistics themselves cost is in them: a few calls. */
static int sum_counters(struct job *job)
{
    struct ncoll_stats *sum = &job->sum;

    sum->size = sizeof *sum;
    int status = ncoll_context_stats(job->ctx, sum);
    uint64_t counts[] = {sum->rnr, sum->sleeps};
    uint64_t most = (uint64_t)sum->connections;
    if (status == NCOLL_OK)
        status =
            ncoll_allreduce(job->world, counts, counts, 2, NCOLL_UINT64, NCOLL_SUM, NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_allreduce(job->world, &most, &most, 1, NCOLL_UINT64, NCOLL_MAX, NCOLL_BLOCK);
    sum->rnr = counts[0];
    sum->sleeps = counts[1];
    sum->connections = (int)most;
    return status;
}

int measure(struct job *job)
{
    struct progress progress;
    int status = NCOLL_OK;

    if (!job->options->check)
        for (unsigned i = 0; i < job->n_rows; i++)
            if (job->rows[i].collective > COLL_BARRIER)
                check_fill(job, &job->rows[i], job->rank, job->in);
    progress_start(&progress, job->rank == 0, job->options->repeats * job->n_rows);
    for (unsigned r = 0; r < job->options->repeats; r++)
        for (unsigned i = 0; status == NCOLL_OK && i < job->n_rows; i++) {
            status = one_batch(job, &job->rows[i]);
            progress_step(&progress);
        }
    progress_end(&progress);
    if (status == NCOLL_OK)
        status = sum_counters(job);
    for (unsigned i = 0; status == NCOLL_OK && i < job->n_rows; i++)
        status = statistics(job, &job->rows[i]);
    return status;
}
