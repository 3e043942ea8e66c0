/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "tools/bench/bench.h"

#define QUIET_NS    2000000000u /* a short run needs no progress */
#define INTERVAL_NS 200000000u

void progress_start(struct progress *p, bool wanted, unsigned total)
{
    *p = (struct progress){.wanted = wanted && isatty(STDERR_FILENO), .total = total};
    p->start_ns = p->last_ns = now_ns();
}

void progress_step(struct progress *p)
{
    p->done++;
    if (!p->wanted)
        return;
    uint64_t now = now_ns(), run = now - p->start_ns;
    if (run < QUIET_NS || now - p->last_ns < INTERVAL_NS)
        return;
    p->last_ns = now;
    p->shown = true;
    double left_s = (double)run / 1e9 * (p->total - p->done) / p->done;
    fprintf(stderr, "\r%3u %% measured, about %.0f s left ", 100 * p->done / p->total, left_s);
}

void progress_end(struct progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
}
