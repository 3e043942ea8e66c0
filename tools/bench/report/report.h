/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reports that rank 0 makes of the measured rows: a table for people, JSON for programs.
 */
#ifndef NCOLL_TOOLS_BENCH_REPORT_REPORT_H
#define NCOLL_TOOLS_BENCH_REPORT_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "tools/bench/bench.h"
#include "tools/bench/compare/ratio.h"

/* Both, as the options want them. 0, or -1 with the reason on stderr. */
int report(const struct job *job);

/* The table. With --json - it gives way to stderr. */
int report_table(const struct job *job, FILE *out);

/* Print the lines above the table, and below (words.c). */
void report_head(const struct job *job, FILE *out);
void report_foot(const struct job *job, FILE *out);

/* Instead of the table, with --osu: ncoll's rows in the layout of the OSU benchmarks. 0, or -1. */
int report_osu(const struct job *job, FILE *out);

/* {"environment": {...}, "versions": {...}, ..., "rows": [...]}, a row a line, to a file that
 * appears whole or not at all; "-": stdout. */
int report_json(const struct job *job, const char *file);

/* Returns what the numbers depend on. NULL: out of memory. */
json_t *report_environment(const struct job *job);
json_t *report_versions(const struct job *job);

/* One row, with its samples. */
json_t *report_row(const struct job *job, const struct row *row);

/* Median of the row over the median of the same with another subject; 0: there is none. */
double report_ratio(const struct job *job, const struct row *row, const struct subject *to);
/* Gives that ratio with a 95 % interval. False: there is none, or the other subject is a limit. */
bool report_ratio_interval(const struct job *job, const struct row *row, const struct subject *to,
                           struct ratio *out);
/* Returns the ratio of the loops' times. */
double report_loop_ratio(const struct job *job, const struct row *row, const struct subject *to);

/* Two rows measure the same, but for the size. */
bool report_same_group(const struct row *a, const struct row *b);

/* True if no row before it measures the same. */
bool report_is_first(const struct job *job, unsigned row);

/* "allgatherv", "exchange": what the row measures. */
const char *report_name(const struct row *row);

/* Returns how much of a count over all ranks falls to one call of one rank. */
double report_per_call(const struct job *job, const struct row *row, uint64_t counted);
/* True if it is ncoll that waits. */
bool report_can_sleep(const struct row *row);

#endif
