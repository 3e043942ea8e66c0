/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/startup.h"

#include <stdio.h>
#include <unistd.h>

#include "tools/bench/bench.h"

uint64_t startup_resident(void)
{
    unsigned long long pages = 0;
    FILE *in = fopen("/proc/self/statm", "re");

    if (in == NULL)
        return 0;
    if (fscanf(in, "%*u %llu", &pages) != 1)
        pages = 0;
    fclose(in);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

int startup_first_call(struct job *job)
{
    uint64_t start = now_ns();
    int status = ncoll_barrier(job->world, NCOLL_BLOCK);

    job->startup.barrier_ns = now_ns() - start;
    return status;
}

int startup_summary(struct job *job)
{
    struct startup *s = &job->startup;
    struct ncoll_stats stats = {.size = sizeof stats};
    int status = ncoll_context_stats(job->ctx, &stats);

    uint64_t most[] = {s->create_ns, s->barrier_ns, s->resident_bytes, stats.memory_bytes,
                       stats.user_bytes};
    if (status == NCOLL_OK)
        status = ncoll_allreduce(job->world, most, most, 5, NCOLL_UINT64, NCOLL_MAX, NCOLL_BLOCK);
    *s = (struct startup){most[0], most[1], most[2], most[3], most[4]};
    return status;
}
