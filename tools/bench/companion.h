/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-bench --mpi, --beside: becomes the program beside it that was built with another library;
 * with an MPI, under the launcher of that MPI.
 */
#ifndef NCOLL_TOOLS_BENCH_COMPANION_H
#define NCOLL_TOOLS_BENCH_COMPANION_H

#include "tools/bench/options.h"

/* Returns only if it cannot, and has then said why: an exit status. Under an MPI's launcher (its
 * variables are in the environment) the process becomes one rank, else the launcher of
 * options->ranks. Of a library that has no launcher the program finds or forks its ranks itself. */
int companion_exec(const struct options *options);

#endif
