/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "tools/bench/bench.h"

#define QUIET_NS    2000000000u /* a short run needs no progress */
#define INTERVAL_NS 200000000u
#define BAR         30

void progress_start(struct progress *p, bool wanted)
{
    *p = (struct progress){.wanted = wanted && isatty(STDERR_FILENO)};
    p->start_ns = p->last_ns = now_ns();
}

void progress_step(struct progress *p, double done)
{
    if (!p->wanted || done <= 0)
        return;
    uint64_t now = now_ns(), run = now - p->start_ns;
    if (run < QUIET_NS || now - p->last_ns < INTERVAL_NS)
        return;
    double part = done < 1 ? done : 1;
    int full = (int)(part * BAR);
    p->last_ns = now;
    p->shown = true;
    fprintf(stderr, "\r[%.*s%*s] %3.0f %%, about %.0f s left ", full,
            "##############################", BAR - full, "", 100 * part,
            (double)run / 1e9 * (1 - part) / part);
}

void progress_end(struct progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
}
