/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/measure/progress.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "tools/bench/bench.h"

#define QUIET_NS    2000000000u /* short runs, up to this time, show no progress */
#define INTERVAL_NS 200000000u
#define BAR         30

void progress_start(struct progress *p, bool wanted, uint64_t line_ns)
{
    bool is_terminal = isatty(STDERR_FILENO) == 1;

    *p = (struct progress){.wanted = wanted && (is_terminal || line_ns > 0),
                           .interval_ns = is_terminal ? INTERVAL_NS : line_ns,
                           .is_terminal = is_terminal};
    p->start_ns = p->last_ns = now_ns();
}

void progress_step(struct progress *p, double done)
{
    if (!p->wanted || done <= 0)
        return;
    uint64_t now = now_ns(), run = now - p->start_ns;
    if ((p->is_terminal && run < QUIET_NS) || now - p->last_ns < p->interval_ns)
        return;
    double part = done < 1 ? done : 1, percent = 100 * part;
    double left_s = (double)run / 1e9 * (1 - part) / part;
    int full = (int)(part * BAR);
    p->last_ns = now;
    p->shown = p->is_terminal;
    if (p->is_terminal)
        fprintf(stderr, "\r[%.*s%*s] %3.0f %%, about %.0f s left ", full,
                "##############################", BAR - full, "", percent, left_s);
    else
        fprintf(stderr, "%s: %.0f %%, about %.0f s left\n", program_invocation_short_name, percent,
                left_s);
}

void progress_end(struct progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}
