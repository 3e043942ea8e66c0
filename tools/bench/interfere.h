/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Foreign processes beside the ranks, as on a machine that is not theirs alone (--interfere).
 */
#ifndef NCOLL_TOOLS_BENCH_INTERFERE_H
#define NCOLL_TOOLS_BENCH_INTERFERE_H

#include "tools/bench/options.h"

/* This variable is set for ranks that have such processes beside them. */
#define INTERFERES "NCOLL_BENCH_INTERFERES"

/*
 * Starts options->interfere processes on each processor that this process may use; each is bound to
 * its own. They end with this process, which may become another program (a launcher) meanwhile.
 * Ends the process with a failure if that cannot be done: the times would be those of a quiet
 * machine.
 */
void interfere_start(const struct options *options);

/* Ends them. */
void interfere_stop(void);

#endif
