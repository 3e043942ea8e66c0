/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far a long run has come: a bar on a terminal, else a line now and then.
 */
#ifndef NCOLL_TOOLS_BENCH_MEASURE_PROGRESS_H
#define NCOLL_TOOLS_BENCH_MEASURE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool wanted, is_terminal;
    bool shown; /* there is a bar on the terminal */
    uint64_t start_ns, last_ns, interval_ns;
};

/* wanted: by this rank. Where stderr is no terminal there is a line every line_ns; 0: none. */
void progress_start(struct progress *p, bool wanted, uint64_t line_ns);
void progress_step(struct progress *p, double done); /* of 1 */
void progress_end(struct progress *p);               /* clears the bar */

#endif
