/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forked ranks on cores of their own.
 */
#ifndef NCOLL_TOOLS_BENCH_MEASURE_PLACEMENT_H
#define NCOLL_TOOLS_BENCH_MEASURE_PLACEMENT_H

#include <stdbool.h>

#include "tools/bench/options.h"

/* Returns the number of processors on which this process may run. */
int placement_cores(void);

struct placement {
    int ranks; /* 0: ranks are not bound */
    int *cpus; /* of each rank */
};

/*
 * Plans the processor of each rank: as far from each other as the machine allows (a second hardware
 * thread of a core comes last), and round-robin if ranks outnumber processors. The plan is empty if
 * the options ask for no binding.
 */
struct placement placement_plan(const struct options *options);
void placement_free(struct placement *p);

/* Binds the calling process to the processor of that rank. Returns false if that fails or the plan
 * is empty. */
bool placement_apply(const struct placement *p, int rank);

#endif
