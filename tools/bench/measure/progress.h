/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shows the progress of a long run: by a bar on a terminal, otherwise by a line from time to time.
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

/* wanted: this rank shows progress. If stderr is not a terminal, a line is printed every line_ns;
 * 0: never. */
void progress_start(struct progress *p, bool wanted, uint64_t line_ns);
void progress_step(struct progress *p, double done); /* done: from 0 to 1 */
void progress_end(struct progress *p);               /* clears the bar */

#endif
