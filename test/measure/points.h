/* SPDX-License-Identifier: BSD-3-Clause */
/* The points of a comparison with MPIs: what compare-table and ratios-agree read. */
#ifndef NCOLL_TEST_MEASURE_POINTS_H
#define NCOLL_TEST_MEASURE_POINTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define POINTS_MAX 4096
#define JOBS_MAX   32
#define JOBS_LEAST 6 /* for an interval of at least 95 % */

/* Where and beside what: a table of its own. */
struct shape {
    char mpi[64], transport[16];
    int nodes, ranks;
    int cores; /* how far apart: their kind (tools/bench/cores.h); -1: not known */
};

/* Of one job: ncoll's median / the MPI's, and its 95 % interval; ncoll's median. */
struct job_ratio {
    double ratio, low, high, us;
    double cores_us; /* 0: not known */
};

struct point {
    struct shape shape;
    char what[24], distribution[16];
    size_t bytes;

    struct job_ratio jobs[JOBS_MAX];
    unsigned n_jobs;

    /* Of all (points_settle()). */
    double ratio, low, high, us, cores_us;
};

struct points {
    struct point of[POINTS_MAX];
    unsigned n;
    /* Of jobs that know how far apart their cores are: rounds in which ncoll and the MPI each had a
     * batch; those that are in no point, as the cores moved meanwhile, or as the row had too few
     * on cores of a kind. */
    unsigned rounds, left_out;
    json_t *environment; /* of the last file; NULL: none was read */
};

/*
 * Adds the rows of ncoll in a file of ncoll-bench --mpi, which is of one job. Where the job has
 * seen how far apart its cores are, rounds on cores of one kind make a point, and those on cores of
 * another kind another, of three rounds or more. False: the file cannot be read or is no such file,
 * or there is no room; has been said on stderr.
 */
bool points_read(struct points *p, const char *file);

/*
 * Once all are read: sorts points by shape, collective and size, and fills in their ratio. What
 * memory a job has got, and where its ranks were put, is its luck, so that a ratio is the median
 * over jobs, as is the time. The ratio's interval is that of the median, of at least 95 % whatever
 * the distribution, from six jobs on: of six, from the least to the most. Of fewer jobs it spans
 * the intervals of all, which promises less. A point that fewer than six jobs have seen goes, where
 * six or more have seen the same on cores of another kind.
 */
void points_settle(struct points *p);

bool same_shape(const struct point *a, const struct point *b);
/* The same place in two runs. */
bool same_point(const struct point *a, const struct point *b);

#endif
