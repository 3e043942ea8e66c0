/* SPDX-License-Identifier: BSD-3-Clause */
/* The points of a comparison with MPIs: what compare-table and ratios-agree read. */
#ifndef NCOLL_TEST_MEASURE_POINTS_H
#define NCOLL_TEST_MEASURE_POINTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define POINTS_MAX 4096

/* Where and beside what: a table of its own. */
struct shape {
    char mpi[64], transport[16];
    int nodes, ranks;
};

struct point {
    struct shape shape;
    char what[24], distribution[16];
    size_t bytes;
    double us;               /* ncoll's median */
    double ratio, low, high; /* ncoll's median / the MPI's, and its 95 % interval */
};

struct points {
    struct point of[POINTS_MAX];
    unsigned n;
    json_t *environment; /* of the last file; NULL: none was read */
};

/* Adds the rows of ncoll in a file of ncoll-bench --mpi. False: it cannot be read, is no such file
 * or has a point that is there already; has been said on stderr. */
bool points_read(struct points *p, const char *file);

/* By shape, collective and size, as they stand in tables. */
void points_sort(struct points *p);

bool same_shape(const struct point *a, const struct point *b);
/* The same place in two runs. */
bool same_point(const struct point *a, const struct point *b);

#endif
