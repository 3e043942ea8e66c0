/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-bench --mpi, --beside: becomes the program beside it that was built with another library;
 * with an MPI, under the launcher of that MPI.
 */
#ifndef NCOLL_TOOLS_BENCH_COMPARE_COMPANION_H
#define NCOLL_TOOLS_BENCH_COMPARE_COMPANION_H

#include "tools/bench/options.h"

/* Ends the program if it cannot, and says why. Under an MPI's launcher (its variables are in the
 * environment) the process becomes one rank, else the launcher of options->ranks. Of a library that
 * has no launcher the program finds or forks its ranks itself. */
_Noreturn void companion_exec(const struct options *options);

/* ncoll-bench plot: becomes ncoll-bench-plot, the Python program beside this one; argv[0] is
 * "plot". Ends the program if it cannot, and says why. */
_Noreturn void companion_plot(int argc, char **argv);

#endif
