/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can only be said once all options are known.
 */
#ifndef NCOLL_TOOLS_BENCH_OPTIONS_CHECK_H
#define NCOLL_TOOLS_BENCH_OPTIONS_CHECK_H

#include <argp.h>

#include "tools/bench/options.h"

/* Complains of options that cannot be done, or that would be done without a word of what they ask
 * for, and returns EINVAL; else 0. Collectives and sizes are those of the run. */
error_t options_check(const struct argp_state *state, const struct options *options);

#endif
