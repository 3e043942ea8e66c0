/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock of another rank as a linear function of this rank's clock: an offset and a drift, with
 * a bound for the error. Nothing here reads a clock.
 *
 * A probe is a message to the other rank and its answer. The other clock was read between `sent`
 * and `got`. So the offset at the middle of these is known with an error of at most half of the
 * time between them, however long each way took (F. Cristian, "Probabilistic clock
 * synchronization", Distributed Computing 3, 1989). Of several probes the one that took the
 * shortest time is kept. Two such points at different times give the drift, as in S. Hunold and A.
 * Carpen-Amarie, "Hierarchical Clock Synchronization in MPI", CLUSTER 2018.
 */
#ifndef NCOLL_TOOLS_BENCH_MEASURE_CLOCK_MODEL_H
#define NCOLL_TOOLS_BENCH_MEASURE_CLOCK_MODEL_H

#include <stdint.h>

struct probe {
    uint64_t sent, got; /* by this rank's clock */
    uint64_t theirs;    /* read in between */
    uint64_t error_ns;  /* error of `theirs`, if that is an estimate */
};

/* A measurement of the other clock at one moment. */
struct clock_point {
    uint64_t at;       /* by this rank's clock */
    int64_t offset_ns; /* theirs - own */
    uint64_t error_ns; /* of the offset, at most */
};

/* Returns the point that n >= 1 probes give. */
struct clock_point clock_point_of(const struct probe *probes, unsigned n);

/* The shortest time between the points that give the drift. */
#define CLOCK_SPACING_NS 200000000u
#define CLOCK_POINTS     16

struct clock_line {
    struct clock_point first[CLOCK_POINTS]; /* a ring; the drift is computed from the oldest one */
    unsigned oldest, points;
    struct clock_point last;
    double drift, drift_error; /* ns per ns */
};

/* Adds a point; points come in the order of their times. A point is ignored if its error is larger
 * than that of the line, since its messages took long. A line of zeros describes this rank's own
 * clock. */
void clock_line_add(struct clock_line *line, const struct clock_point *point);

uint64_t clock_theirs(const struct clock_line *line, uint64_t own);
uint64_t clock_own(const struct clock_line *line, uint64_t theirs);
/* Returns the largest error of clock_theirs(own), if both clocks run evenly. */
uint64_t clock_error_ns(const struct clock_line *line, uint64_t own);

#endif
