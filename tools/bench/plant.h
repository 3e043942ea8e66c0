/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults that this program puts into its own measurement, to show that it finds them (--plant).
 */
#ifndef NCOLL_TOOLS_BENCH_PLANT_H
#define NCOLL_TOOLS_BENCH_PLANT_H

#include "tools/bench/bench.h"

/* The last rank is 200 us late in the first of each hundred calls: inside of its time. */
void plant_straggler(const struct job *job, unsigned call);

/* After the i-th call of a batch: a bit of its result is turned, on one rank; or the rank seems to
 * have left a barrier before others came. */
void plant_wrong(struct job *job, const struct row *row, unsigned i);

#endif
