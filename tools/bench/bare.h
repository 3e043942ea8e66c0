/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What limits ranks that share memory, without any library: a barrier of flags, and a copy.
 */
#ifndef NCOLL_TOOLS_BENCH_BARE_H
#define NCOLL_TOOLS_BENCH_BARE_H

#include "tools/bench/bench.h"

/*
 * Makes the memory of the flags and shares it between all ranks. Collective. job->flags stays NULL
 * where ranks share no memory: on several nodes, where the transport is another than shm, or where
 * /proc does not let ranks at each other's files, which rank 0 says. NCOLL_OK, or what a collective
 * has returned.
 */
int bare_flags_open(struct job *job);
void bare_flags_close(struct job *job);

#endif
