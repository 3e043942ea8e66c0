/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rows are measured when and how often, and what is made of their samples.
 */
#ifndef NCOLL_TOOLS_BENCH_MEASURE_H
#define NCOLL_TOOLS_BENCH_MEASURE_H

#include "tools/bench/bench.h"

/*
 * Measures all rows of the job, taking turns: a batch of each row, in random order, another batch
 * of each, ... until their numbers are reached, their medians are precise or the budget is spent.
 * Fills in their statistics, on every rank. Collective. NCOLL_OK, or the first error.
 */
int measure(struct job *job);

/* Parts of it (summary.c): what is said of a row, whose samples are sorted into `sorted`; of the
 * job. Collective. */
int summary_of_row(struct job *job, struct row *row, uint64_t *sorted);
int summary_of_job(struct job *job);

#endif
