/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computation between start and wait of a persistent request: how much of a collective goes on
 * meanwhile. As long is computed as the collective takes by itself on this rank, which is found out
 * in the row's first batch. Of the medians of the collective by itself (persistent row), of the
 * computation and of both together
 *
 *     overlap = (itself + computation - both) / min(itself, computation)
 *
 * in percent, from 0 to 100, as in the Intel MPI Benchmarks; since both take as long, that is the
 * overlap of the OSU benchmarks, 1 - (both - computation) / itself, as well.
 */

#include "tools/bench/bench.h"
#include "tools/bench/measure/stats.h"

#define CALIBRATION 51     /* calls */
#define TURNS       20000u /* of the loop, to measure the time of one */
#define TRIALS      5

/* Nothing that a compiler, or a core, could do at once: each turn waits for the one before. */
static void turn(uint64_t turns)
{
    uint64_t x = 1;

    for (uint64_t i = 0; i < turns; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
}

/* The shortest of a few trials: the others were disturbed. */
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

/* In the first batch: how long it takes alone, and so many turns. */
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
