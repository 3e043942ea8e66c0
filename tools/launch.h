/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting the ranks of a tool: a launcher has started them, or they are forked. */
#ifndef NCOLL_TOOLS_LAUNCH_H
#define NCOLL_TOOLS_LAUNCH_H

#include <stdbool.h>

#include "ncoll.h"

/* True if a launcher, or the user for a tcp job, made this process one of several ranks. */
bool launch_is_done(void);

/* Forks ranks that run rank_main. Reports errors that no rank could report, and warns first if
 * there are very many ranks. Returns EXIT_SUCCESS if all ranks did, else EXIT_FAILURE; EXIT_USAGE
 * if this process is one of several that a launcher started. */
int launch_forked(int ranks, const ncoll_params *params,
                  int (*rank_main)(const ncoll_params *params, void *arg), void *arg);

#endif
