/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TEST_MEASURE_NODE_TABLE_H
#define NCOLL_TEST_MEASURE_NODE_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define RUNS_MAX    16
#define FIGURES_MAX 512

/* What a figure is of. */
struct key {
    int nodes, ranks;
    bool fresh;
    size_t bytes;
    char memory[16], what[24], distribution[16];
};

/* The same of each run. */
struct series {
    double values[RUNS_MAX];
    unsigned n;
};

enum subject { NCOLL, MPI, RAW, FLAGS, COPY, PULL, SUBJECTS };

struct measured {
    struct series p50_us, loop_us, switches;
};

struct figure {
    struct key key;
    struct measured by[SUBJECTS];
};

struct table {
    struct figure figures[FIGURES_MAX];
    unsigned n_figures;
    json_t *environment; /* of a run beside the MPI; NULL: none */
};

/* The least of the time that the call can take: us, by loop where the call has a loop. 0: not
 * known. */
double limit_us(const struct table *t, const struct key *key, bool loop);

/* 0: there is none. */
double median_of(const struct series *s);
double least_of(const struct series *s);
double most_of(const struct series *s);

/* Median of a / b, run by run. */
double ratio_of(const struct series *a, const struct series *b);

/* Sorts the figures. */
void print_tables(struct table *t);

#endif
