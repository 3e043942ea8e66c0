/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One line on a terminal that says how far a long run has come.
 */
#ifndef NCOLL_TOOLS_BENCH_PROGRESS_H
#define NCOLL_TOOLS_BENCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool wanted; /* this rank shows it, and stderr is a terminal */
    bool shown;
    uint64_t start_ns, last_ns;
};

void progress_start(struct progress *p, bool wanted);
void progress_step(struct progress *p, double done); /* of 1 */
void progress_end(struct progress *p);               /* clears the line */

#endif
