/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the operating system, the library and the network device count while calls are timed.
 */
#ifndef NCOLL_TOOLS_BENCH_COUNTERS_H
#define NCOLL_TOOLS_BENCH_COUNTERS_H

#include "tools/bench/bench.h"
#include "tools/bench/hca.h"

struct counters {
    uint64_t switches, sleeps; /* of this process */
    struct hca_counts hca;     /* of rank 0's device */
};

/* Outside of the times. */
void counters_read(const struct job *job, struct counters *out);

/* Adds what came in between to the row. */
void counters_add(const struct job *job, struct row *row, const struct counters *before,
                  const struct counters *after);

#endif
