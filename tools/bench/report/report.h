/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reports that rank 0 writes about the measured rows: a table for people, JSON for programs.
 */
#ifndef NCOLL_TOOLS_BENCH_REPORT_REPORT_H
#define NCOLL_TOOLS_BENCH_REPORT_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "tools/bench/bench.h"
#include "tools/bench/compare/ratio.h"

/* Writes the reports that the options ask for. Returns 0, or -1 after printing the reason on
 * stderr. */
int report(const struct job *job);

/* Prints the table. With --json - it goes to stderr. */
int report_table(const struct job *job, FILE *out);

/* Print the lines above and below the table (words.c). */
void report_head(const struct job *job, FILE *out);
void report_foot(const struct job *job, FILE *out);

/* Prints ncoll's rows in the layout of the OSU benchmarks (--osu), in place of the table. Returns 0
 * or -1. */
int report_osu(const struct job *job, FILE *out);

/* Writes {"environment": {...}, "versions": {...}, ..., "rows": [...]}, with one line for each row.
 * The file appears whole or not at all; "-": stdout. */
int report_json(const struct job *job, const char *file);

/* Returns a description of the machine and the method. NULL: out of memory. */
json_t *report_environment(const struct job *job);
json_t *report_versions(const struct job *job);

/* Returns one row, with its samples. */
json_t *report_row(const struct job *job, const struct row *row);

/* Returns the time of a row with a threshold, divided by that of the same collective of all data and
 * ranks; 0: it has no threshold. */
double report_ratio_to_whole(const struct job *job, const struct row *row);

/* Returns the median of the row divided by the median of the same call with another subject; 0:
 * there is none. */
double report_ratio(const struct job *job, const struct row *row, const struct subject *to);
/* Gives that ratio with a 95 % interval. Returns false if there is none, or if the other subject is
 * a limit. */
bool report_ratio_interval(const struct job *job, const struct row *row, const struct subject *to,
                           struct ratio *out);
/* Returns the ratio of the loops' times. */
double report_loop_ratio(const struct job *job, const struct row *row, const struct subject *to);

/* True if two rows measure the same, except for the size. */
bool report_same_group(const struct row *a, const struct row *b);

/* True if no row before it measures the same. */
bool report_is_first(const struct job *job, unsigned row);

/* Returns what the row measures, such as "allgatherv" or "exchange". */
const char *report_name(const struct row *row);

/* Returns a count over all ranks, divided by the number of calls and ranks. */
double report_per_call(const struct job *job, const struct row *row, uint64_t counted);
/* True if the calls of the row wait inside ncoll. */
bool report_can_sleep(const struct row *row);

#endif
