/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/room.h"

#include <stdio.h>

#include "tools/bench/failure.h"

#define GIB ((double)(1 << 30))

/* What can be had without swapping; 0: not known. */
static double available_bytes(void)
{
    char line[256];
    unsigned long long kib = 0;
    FILE *in = fopen("/proc/meminfo", "re");

    while (in != NULL && kib == 0 && fgets(line, sizeof line, in) != NULL)
        if (sscanf(line, "MemAvailable: %llu kB", &kib) != 1)
            kib = 0;
    if (in != NULL)
        fclose(in);
    return (double)kib * 1024;
}

bool room_for_buffers(const struct ncoll_stats *stats, unsigned buffers, size_t blocks,
                      size_t bytes)
{
    double each = (double)blocks * (double)bytes, available = available_bytes();
    double all = each * buffers * stats->node_ranks;
    char text[256];

    if (available == 0 || all <= available)
        return true;
    snprintf(text, sizeof text,
             "the %d ranks of this node need %u buffers each, of %.1f GiB: %.1f GiB in all, and "
             "%.1f GiB are free: take shorter sizes (-m), or fewer ranks",
             stats->node_ranks, buffers, each / GIB, all / GIB, available / GIB);
    failure_say(NCOLL_ERR_MEMORY, text);
    return false;
}
