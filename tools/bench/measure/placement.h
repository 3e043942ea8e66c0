/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forked ranks on cores of their own.
 */
#ifndef NCOLL_TOOLS_BENCH_MEASURE_PLACEMENT_H
#define NCOLL_TOOLS_BENCH_MEASURE_PLACEMENT_H

#include <stdbool.h>

#include "tools/bench/options.h"

/* Processors that this process may run on. */
int placement_cores(void);

struct placement {
    int ranks; /* 0: ranks are not bound */
    int *cpus; /* of each rank */
};

/*
 * Plans the processor of each rank: as far from each other as the machine allows (hyperthreads of
 * one core come last), round-robin when ranks outnumber processors. Empty if options do not want
 * it.
 */
struct placement placement_plan(const struct options *options);
void placement_free(struct placement *p);

/* Binds the calling process, as that rank. false: it cannot be, or placement is empty. */
bool placement_apply(const struct placement *p, int rank);

#endif
