/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock of another as a line over one's own: an offset and a drift, with a bound of the error.
 * No time is read here.
 *
 * A probe is a message there and back. The other's clock was read between `sent` and `got`, so that
 * at their middle its offset is known to half of the time between them, whatever the two ways took
 * (F. Cristian, "Probabilistic clock synchronization", Distributed Computing 3, 1989). Of several
 * probes that with the shortest way is kept. Two such points some time apart give the drift, as in
 * S. Hunold and A. Carpen-Amarie, "Hierarchical Clock Synchronization in MPI", CLUSTER 2018.
 */
#ifndef NCOLL_TOOLS_BENCH_MEASURE_CLOCK_MODEL_H
#define NCOLL_TOOLS_BENCH_MEASURE_CLOCK_MODEL_H

#include <stdint.h>

struct probe {
    uint64_t sent, got; /* by the own clock */
    uint64_t theirs;    /* read in between */
    uint64_t error_ns;  /* of theirs, if it is an estimate itself */
};

/* A measurement of the other clock at one moment. */
struct clock_point {
    uint64_t at;       /* own clock */
    int64_t offset_ns; /* theirs - own */
    uint64_t error_ns; /* of the offset, at most */
};

/* Returns the point that n >= 1 probes give. */
struct clock_point clock_point_of(const struct probe *probes, unsigned n);

/* The points that a line is made of lie at least so far apart. */
#define CLOCK_SPACING_NS 200000000u
#define CLOCK_POINTS     16

struct clock_line {
    struct clock_point first[CLOCK_POINTS]; /* a ring; the oldest one tells the drift */
    unsigned oldest, points;
    struct clock_point last;
    double drift, drift_error; /* ns per ns */
};

/* Points come in the order of their times. One that says less than the line does, as its messages
 * took long, is left out. All zero: the line of one's own clock. */
void clock_line_add(struct clock_line *line, const struct clock_point *point);

uint64_t clock_theirs(const struct clock_line *line, uint64_t own);
uint64_t clock_own(const struct clock_line *line, uint64_t theirs);
/* How far clock_theirs(own) may be off, if both clocks run evenly. */
uint64_t clock_error_ns(const struct clock_line *line, uint64_t own);

#endif
