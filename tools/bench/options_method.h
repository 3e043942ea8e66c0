/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of the command line that says how to measure: how often, from when on, under which
 * conditions, and what is checked.
 */
#ifndef NCOLL_TOOLS_BENCH_OPTIONS_METHOD_H
#define NCOLL_TOOLS_BENCH_OPTIONS_METHOD_H

#include <argp.h>

#include "tools/bench/names.h"
#include "tools/bench/options.h"

/* Its input is the struct options. */
extern const struct argp options_method;

#endif
