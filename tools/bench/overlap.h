/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TOOLS_BENCH_OVERLAP_H
#define NCOLL_TOOLS_BENCH_OVERLAP_H

#include "tools/bench/bench.h"

/* See subject_overlap.c. -1: the row measures none. */
double overlap_percent(const struct job *job, const struct row *row);

#endif
