/* SPDX-License-Identifier: BSD-3-Clause */
/* This file tells who has the cores, by the accounts of the kernel, which count ticks of 10 ms. */
#ifndef NCOLL_TOOLS_INFO_LOAD_H
#define NCOLL_TOOLS_INFO_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Cores that can be told apart. */
#define LOAD_CORES 1024u

/* The time of a core since the boot, in ticks. */
struct core_ticks {
    uint64_t busy, stolen, all; /* stolen: the hypervisor gave them to others */
};

/* Between two moments, in percent: of the time of all cores, and of the core that was used most. */
struct load {
    double used, stolen;
    double most; /* both together */
    unsigned most_core;
};

/* Reads the lines of cores in /proc/stat; cores without a line are zeroed. */
void info_load_read(FILE *stat, struct core_ticks cores[LOAD_CORES]);

/* Compares two such moments, for the cores whose bits are set. Returns false if no time has passed
 * there. */
bool info_load_between(const struct core_ticks *before, const struct core_ticks *after,
                       const uint64_t mask[LOAD_CORES / 64], struct load *out);

/* Measures for 100 ms, in which this process sleeps: all that is used is used by others. */
bool info_load_now(const uint64_t mask[LOAD_CORES / 64], struct load *out);

#endif
