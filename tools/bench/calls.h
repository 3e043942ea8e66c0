/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one loop that times all subjects.
 */
#ifndef NCOLL_TOOLS_BENCH_CALLS_H
#define NCOLL_TOOLS_BENCH_CALLS_H

#include "tools/bench/bench.h"

/* What the calls are made for. */
enum purpose {
    PURPOSE_DATA,   /* one call with data of its own, which stays for those that follow */
    PURPOSE_WARMUP, /* with --check one rank, drawn at random, is late */
    PURPOSE_TIMES,
};

/*
 * Calls of a row with once. Fills in job->own_ns, ->entry_ns and ->exit_ns; a call whose window was
 * missed has MISSED in own_ns. NCOLL_OK, or what a call has returned.
 */
int calls_make(struct job *job, struct row *row, unsigned calls, enum purpose purpose);

#define MISSED UINT64_MAX

#endif
