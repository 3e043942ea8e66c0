/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one loop that times all subjects, and what is made of its samples.
 */
#ifndef NCOLL_TOOLS_BENCH_MEASURE_H
#define NCOLL_TOOLS_BENCH_MEASURE_H

#include "tools/bench/bench.h"

/*
 * Measures all rows of the job, taking turns: batch 1 of every row, batch 2 of every row, ... and
 * fills in their statistics, on every rank. Collective. NCOLL_OK, or the first error.
 */
int measure(struct job *job);

#endif
