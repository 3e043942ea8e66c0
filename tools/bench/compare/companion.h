/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options --mpi and --beside of ncoll-bench: this process becomes a companion, a program in the
 * same folder that was built with another library. With an MPI it runs under the launcher of that
 * MPI.
 */
#ifndef NCOLL_TOOLS_BENCH_COMPARE_COMPANION_H
#define NCOLL_TOOLS_BENCH_COMPARE_COMPANION_H

#include "tools/bench/options.h"

/* Becomes the companion; if that fails, prints why and ends the program. If an MPI's launcher has
 * started this process (its variables are in the environment), the process becomes one rank;
 * otherwise it becomes the launcher of options->ranks ranks. If the library has no launcher, the
 * companion itself finds or forks its ranks. */
_Noreturn void companion_exec(const struct options *options);

/* The command `ncoll-bench plot`: becomes ncoll-bench-plot, the Python program in the same folder.
 * argv[0] is "plot". If that fails, prints why and ends the program. */
_Noreturn void companion_plot(int argc, char **argv);

#endif
