/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the ranks of a tool come to be: made by a launcher, or forked.
 */
#ifndef NCOLL_TOOLS_LAUNCH_H
#define NCOLL_TOOLS_LAUNCH_H

#include <stdbool.h>

#include "ncoll.h"

/* Whether a launcher, or the user for a tcp job, made this process one of several ranks. */
bool launch_is_done(void);

/* Forks ranks that run rank_main; says on stderr what no rank could say, and first if they are very
 * many. Returns EXIT_SUCCESS if all of them did, else EXIT_FAILURE; EXIT_USAGE, where this process
 * is itself one of several that a launcher made. */
int launch_forked(int ranks, const ncoll_params *params,
                  int (*rank_main)(const ncoll_params *params, void *arg), void *arg);

#endif
