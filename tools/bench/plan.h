/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rows a run has, and the memory for them.
 */
#ifndef NCOLL_TOOLS_BENCH_PLAN_H
#define NCOLL_TOOLS_BENCH_PLAN_H

#include "tools/bench/bench.h"

/* Fills in rows, buffers and batch size of a job. NCOLL_OK, NCOLL_ERR_MEMORY, or
 * NCOLL_ERR_UNSUPPORTED: ncoll is asked to be compared with a library that does none of this;
 * plan_free() either way. */
int plan_make(struct job *job);
void plan_free(struct job *job);

#endif
