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

/* Complain of an argument, and return EINVAL. */
error_t options_wrong_name(struct argp_state *state, const char *what, const char *text,
                           const struct name *table);
/* Sets *out to a number in low..high; else complains. */
error_t options_number(struct argp_state *state, const char *what, const char *text, long low,
                       long high, unsigned *out);

#endif
