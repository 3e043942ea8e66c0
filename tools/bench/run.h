/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that need no launcher of their own: forked, or made by a launcher that ncoll knows.
 */
#ifndef NCOLL_TOOLS_BENCH_RUN_H
#define NCOLL_TOOLS_BENCH_RUN_H

#include "tools/bench/bench.h"

/* Whether another process than this one is to complain of the command line. */
bool run_is_quiet(void);

/* Forks options->ranks ranks; without a number, is one rank of those that a launcher made, or forks
 * as many as are the default. Returns an exit status. */
int run_ranks(const struct options *options, const struct subject *const *subjects);

#endif
