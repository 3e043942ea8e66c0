/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Combines the counts of all ranks after the measurement.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/bench/measure/measure.h"
#include "tools/bench/measure/stats.h"

static double us(uint64_t ns)
{
    return (double)ns / 1e3;
}

static int reduce(struct job *job, uint64_t *values, size_t n, ncoll_op op)
{
    return ncoll_allreduce(job->world, values, values, n, NCOLL_UINT64, op, NCOLL_BLOCK);
}

/* Computes means of each rank's own times, which only the columns of OSU's layout need. */
static void fill_in_means(const struct job *job, struct row *row, uint64_t sum, uint64_t most,
                          uint64_t least)
{
    row->mean_us = us(sum) / row->calls / job->ranks;
    row->mean_max_us = us(most) / row->calls;
    row->mean_min_us = us(least) / row->calls;
}

static void fill_in_quantiles(struct row *row, uint64_t *sorted)
{
    struct summary s;

    memcpy(sorted, row->samples_ns, row->calls * sizeof *sorted);
    stats_sort(sorted, row->calls);
    stats_summarise(sorted, row->calls, &s);
    row->p50_us = us(s.p50);
    row->p50_low_us = us(s.p50_low);
    row->p50_high_us = us(s.p50_high);
    row->p90_us = us(s.p90);
    row->p99_us = us(s.p99);
    row->p999_us = us(s.p999);
    row->min_us = us(s.min);
    row->max_us = us(s.max);
}

int summary_of_row(struct job *job, struct row *row, uint64_t *sorted)
{
    uint64_t sums[] = {row->wrong, row->switches, row->sleeps, row->own_sum_ns};
    uint64_t most[] = {row->first_ns, row->own_sum_ns, UINT64_MAX - row->own_sum_ns,
                       row->compute_ns};
    int status = reduce(job, sums, 4, NCOLL_SUM);

    if (status == NCOLL_OK)
        status = reduce(job, most, 4, NCOLL_MAX);
    if (status != NCOLL_OK)
        return status;
    row->wrong = sums[0];
    row->switches = sums[1];
    row->sleeps = sums[2];
    row->first_us = us(most[0]);
    row->compute_us = us(most[3]);
    fill_in_means(job, row, sums[3], most[1], UINT64_MAX - most[2]);
    if (is_back_to_back(job, row)) {
        unsigned batches = row->calls / row->batch;
        stats_sort(row->batch_ns, batches);
        row->loop_us = us(stats_quantile(row->batch_ns, batches, 500)) / row->batch;
    }
    fill_in_quantiles(row, sorted);
    return NCOLL_OK;
}

/* Finds the costs of creation on rank 0, the highest of the others, and their sum. */
static int summary_of_creation(struct job *job)
{
    struct startup_costs costs = ncoll__startup_costs(job->ctx);
    bool is_root = job->rank == 0;
    uint64_t all[2][sizeof costs / sizeof(uint64_t)] = {0};

    memcpy(all[is_root ? 0 : 1], &costs, sizeof costs);
    int status = reduce(job, all[0], sizeof all / sizeof(uint64_t), NCOLL_MAX);
    memcpy(&job->startup.root, all[0], sizeof costs);
    memcpy(&job->startup.others, all[1], sizeof costs);
    memcpy(all[0], &costs, sizeof costs);
    if (status == NCOLL_OK)
        status = reduce(job, all[0], sizeof costs / sizeof(uint64_t), NCOLL_SUM);
    memcpy(&job->startup.sum, all[0], sizeof costs);
    return status;
}

/* Finds the highest startup cost of any rank. */
static int summary_of_startup(struct job *job)
{
    struct startup *s = &job->startup;
    struct ncoll_stats stats = {.size = sizeof stats};
    int status = ncoll_context_stats(job->ctx, &stats);

    uint64_t most[] = {s->create_ns, s->barrier_ns, s->resident_bytes, stats.memory_bytes,
                       stats.user_bytes};
    if (status == NCOLL_OK)
        status = reduce(job, most, 5, NCOLL_MAX);
    *s = (struct startup){most[0], most[1], most[2], most[3], most[4]};
    return status == NCOLL_OK ? summary_of_creation(job) : status;
}

/* Combines the counters of all ranks. They include the few calls that the summary itself makes. */
int summary_of_job(struct job *job)
{
    struct ncoll_stats *sum = &job->sum;

    sum->size = sizeof *sum;
    int status = ncoll_context_stats(job->ctx, sum);
    uint64_t counts[] = {sum->rnr, sum->sleeps, sum->put_bytes, sum->rail_bytes};
    uint64_t most[] = {(uint64_t)sum->connections, job->window != NULL ? job->window->error_ns : 0,
                       job->window != NULL ? (uint64_t)llabs(job->window->clock.last.offset_ns)
                                           : 0};
    if (status == NCOLL_OK)
        status = reduce(job, counts, 4, NCOLL_SUM);
    if (status == NCOLL_OK)
        status = reduce(job, most, 3, NCOLL_MAX);
    sum->rnr = counts[0];
    sum->sleeps = counts[1];
    sum->put_bytes = counts[2];
    sum->rail_bytes = counts[3];
    sum->connections = (int)most[0];
    job->clock_error_us = us(most[1]);
    job->clock_offset_us = us(most[2]);
    if (status == NCOLL_OK)
        status = summary_of_startup(job);
    int32_t cpu = machine_own_cpu();
    if (status == NCOLL_OK)
        status = ncoll_allgather(job->world, &cpu, job->cpus, 1, NCOLL_INT32, NCOLL_BLOCK);
    return status;
}
