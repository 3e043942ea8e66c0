/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What rank 0 makes of the measured rows: a table for people, JSON for programs.
 */
#ifndef NCOLL_TOOLS_BENCH_REPORT_H
#define NCOLL_TOOLS_BENCH_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "tools/bench/bench.h"

/* Both, as the options want them. 0, or -1 with the reason on stderr. */
int report(const struct job *job);

/* The table. With --json - it gives way to stderr. */
int report_table(const struct job *job, FILE *out);

/* {"environment": {...}, "rows": [...]} to a file that appears whole or not at all; "-": stdout. */
int report_json(const struct job *job, const char *file);

/* What the numbers depend on. NULL: out of memory. */
json_t *report_environment(const struct job *job);

/* Median of the row over the median of the same with another subject; 0: there is none. */
double report_ratio(const struct job *job, const struct row *row, const struct subject *to);
/* The same of the loops' times. */
double report_loop_ratio(const struct job *job, const struct row *row, const struct subject *to);

/* "allgatherv", "exchange": what the row measures. */
const char *report_name(const struct row *row);

/* What was counted over all ranks, in one call of one rank. */
double report_per_call(const struct job *job, const struct row *row, uint64_t counted);
/* Whether it is ncoll that waits. */
bool report_can_sleep(const struct row *row);

#endif
