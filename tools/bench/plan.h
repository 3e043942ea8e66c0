/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rows a run has, and the memory for them.
 */
#ifndef NCOLL_TOOLS_BENCH_PLAN_H
#define NCOLL_TOOLS_BENCH_PLAN_H

#include "tools/bench/bench.h"

/* Fills in rows, buffers and batch size of a job. NCOLL_OK or NCOLL_ERR_MEMORY; plan_free() either
 * way. */
int plan_make(struct job *job);
void plan_free(struct job *job);

#endif
