/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long calls take, so that batches of slow ones fit into the budget.
 */
#ifndef NCOLL_TOOLS_BENCH_TRIAL_H
#define NCOLL_TOOLS_BENCH_TRIAL_H

#include "tools/bench/bench.h"

/*
 * Before the first batch of n rows that take turns: a few untimed calls of each, by which they get
 * fewer calls a batch, timed and before those, if so many would overrun their part of the budget;
 * all of them as many. `groups` such groups of rows, this one included, have had no batch yet.
 * Nothing where the number of calls of a batch is fixed. Collective. NCOLL_OK, or the first error.
 */
int trial_make(struct job *job, struct row *rows, unsigned n, unsigned groups);

#endif
