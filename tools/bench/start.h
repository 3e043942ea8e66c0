/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happens before a call that is kept apart from the one before, outside of its time.
 */
#ifndef NCOLL_TOOLS_BENCH_START_H
#define NCOLL_TOOLS_BENCH_START_H

#include "tools/bench/calls.h"

struct start {
    uint64_t from_ns;  /* the call's time counts from here */
    uint64_t entry_ns; /* not later than this rank enters it */
    bool missed;       /* its window had begun already */
};

/*
 * Data, caches, then what brings ranks together: a barrier or a window; then the rank's lateness
 * (--skew). Times count from when the last rank was to enter: all are late by draws that each rank
 * can repeat. Collective.
 */
int start_call(struct job *job, struct row *row, unsigned call, enum purpose purpose,
               struct start *out);

/* How late a rank is for the serial-th call that is late, in ns (--skew); from the seed. */
uint64_t start_lateness(const struct options *options, uint64_t seed, uint64_t serial, int rank,
                        int ranks);

/* Empties the caches of this core, and of whoever shares them. false: no memory for that. */
bool start_cold_open(struct job *job);
void start_cold_close(struct job *job);

#endif
