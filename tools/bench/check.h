/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether results are right. Nothing here shares code with the library's operations.
 */
#ifndef NCOLL_TOOLS_BENCH_CHECK_H
#define NCOLL_TOOLS_BENCH_CHECK_H

#include "tools/bench/bench.h"

/* A rank's input for a call; every (rank, element, serial) gives other values. */
void check_fill(const struct job *job, const struct row *row, int rank, void *in);

/* Elements of job->out that differ from a serial evaluation over all ranks' inputs. */
uint64_t check_result(const struct job *job, const struct row *row);

/* Makes a rank, another one each time, late for the call: a barrier that does not wait for it is
 * then seen by check_barriers(). */
void check_be_late(const struct job *job);

/*
 * Barriers of the last batch that some rank left before another had entered. Collective. On one
 * node all ranks read the same clock; across nodes clock differences are bounded first, by what
 * allreduces prove (see check_clock.c).
 */
int check_barriers(struct job *job, unsigned calls, uint64_t *broken);

/* Bounds, from a clock here to the clock of rank 0: lo <= theirs - ours <= hi. Collective. */
struct clock_bounds {
    int64_t lo, hi;
};
int check_clock(struct job *job, struct clock_bounds *out);

#endif
