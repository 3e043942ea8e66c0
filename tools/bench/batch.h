/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One batch of one row.
 */
#ifndef NCOLL_TOOLS_BENCH_BATCH_H
#define NCOLL_TOOLS_BENCH_BATCH_H

#include "tools/bench/bench.h"

/*
 * Untimed calls, then row->batch timed ones, whose samples are added to the row: the maximum over
 * ranks of each call. *spent becomes true on all ranks if by then the budget is spent on rank 0.
 * Collective. NCOLL_OK, or the first error.
 */
int batch_make(struct job *job, struct row *row, bool *spent);

#endif
