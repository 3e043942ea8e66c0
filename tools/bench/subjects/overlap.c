/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computation between start and wait of a persistent request: how much of the collective is done
 * during the computation. The computation takes as long as the collective by itself on this rank,
 * which the row's first batch measures. From the medians of the collective by itself (persistent
 * row), of the computation and of both together follows
 *
 *     overlap = (itself + computation - both) / min(itself, computation)
 *
 * in percent, from 0 to 100, as in the Intel MPI Benchmarks. Since both take equally long, it is
 * also the overlap of the OSU benchmarks, 1 - (both - computation) / itself.
 */

#include "tools/bench/bench.h"
#include "tools/bench/measure/stats.h"

#define CALIBRATION 51     /* calls */
#define TURNS       20000u /* turns of the loop, to measure the time of one turn */
#define TRIALS      5

/* Computes. Each turn depends on the one before, so that neither the compiler nor the core can
 * shorten the loop. */
static void turn(uint64_t turns)
{
    uint64_t x = 1;

    for (uint64_t i = 0; i < turns; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
}

/* Returns turns per ns, from the shortest of a few trials, since the others may have been
 * disturbed. */
static double turns_per_ns(void)
{
    uint64_t best = UINT64_MAX;

    for (unsigned i = 0; i < TRIALS; i++) {
        uint64_t start = now_ns();
        turn(TURNS);
        uint64_t took = now_ns() - start;
        best = took < best ? took : best;
    }
    return (double)TURNS / (double)(best > 0 ? best : 1);
}

static int begin(struct job *job, const struct row *row)
{
    return subject_persistent.begin(job, row);
}

static int end(struct job *job, const struct row *row)
{
    return subject_persistent.end(job, row);
}

/* Called in the first batch: measures how long the collective takes alone, and computes the number
 * of turns that take as long. */
static int calibrate(struct job *job, struct row *row)
{
    uint64_t took[CALIBRATION];
    int status = subject_persistent.describe(job, row);

    for (unsigned i = 0; status == NCOLL_OK && i < CALIBRATION; i++) {
        uint64_t start = now_ns();
        status = subject_persistent.any(job, row);
        took[i] = now_ns() - start;
    }
    if (status != NCOLL_OK)
        return status;
    stats_sort(took, CALIBRATION);
    row->compute_ns = took[CALIBRATION / 2];
    row->turns = (uint64_t)(turns_per_ns() * (double)row->compute_ns);
    return NCOLL_OK;
}

static int call(struct job *job, const struct row *row)
{
    int status = ncoll_start(job->request);

    turn(row->turns);
    return status == NCOLL_OK ? ncoll_wait(&job->request, NCOLL_BLOCK) : status;
}

double overlap_percent(const struct job *job, const struct row *row)
{
    const struct row *itself = row_of(job, &subject_persistent, row);

    if (row->subject != &subject_overlap || itself == NULL || itself->p50_us <= 0 ||
        row->compute_us <= 0)
        return -1;
    double least = itself->p50_us < row->compute_us ? itself->p50_us : row->compute_us;
    double hidden = (itself->p50_us + row->compute_us - row->p50_us) / least;
    return hidden < 0 ? 0 : hidden > 1 ? 100 : 100 * hidden;
}

const struct subject subject_overlap = {
    .name = "overlap",
    .label = "overlap",
    .codes = ALL_CODES,
    .any = call,
    .begin = begin,
    .end = end,
    .describe = calibrate,
};
