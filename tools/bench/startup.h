/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What it costs to have a context: time and memory, of the rank that has most of each.
 */
#ifndef NCOLL_TOOLS_BENCH_STARTUP_H
#define NCOLL_TOOLS_BENCH_STARTUP_H

#include <stdint.h>

struct job;

struct startup {
    uint64_t create_ns;        /* ncoll_context_create() */
    uint64_t barrier_ns;       /* the first call: it connects the ranks that it needs */
    uint64_t resident_bytes;   /* growth of resident memory by both; what ranks share counts at
                                  each that has touched it */
    uint64_t window_bytes;     /* windows and scratch space, after all was measured */
    uint64_t registered_bytes; /* from ncoll_alloc() and in ncoll_mem_register(), likewise */
};

/* Resident memory of this process, in bytes; 0: not known. */
uint64_t startup_resident(void);

/* The first barrier of the world. NCOLL_OK, or what it has returned. */
int startup_first_call(struct job *job);

/* The most of any rank, once all is measured. Collective. */
int startup_summary(struct job *job);

#endif
