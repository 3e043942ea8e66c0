/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the machine of rank 0 is, and how much of it may be used.
 */
#ifndef NCOLL_TOOLS_BENCH_MACHINE_H
#define NCOLL_TOOLS_BENCH_MACHINE_H

#include <jansson.h>

#include "tools/bench/options.h"

/* host, kernel, cpu_model, governor, limits of control groups, ... into an object. */
void machine_describe(json_t *out, const struct options *options);

/* The first line of a file; null if there is none, or it is empty. */
json_t *machine_line_of(const char *path);

/* The processor that this process is bound to; -1: to none, or to several. */
int machine_own_cpu(void);

#endif
