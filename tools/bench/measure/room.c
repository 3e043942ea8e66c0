/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/measure/room.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "examples/cg/support.h"
#include "tools/json.h"

#define GIB ((double)(1 << 30))

double room_available(void)
{
    json_t *line = json_line_of("/proc/meminfo", "MemAvailable");
    double kib = json_is_string(line) ? strtod(json_string_value(line), NULL) : 0;
    struct rlimit limit;

    json_decref(line);
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur / 1024.0 < kib)
        return (double)limit.rlim_cur;
    return kib * 1024;
}

bool room_for_buffers(const struct ncoll_stats *stats, unsigned buffers, size_t blocks,
                      size_t bytes)
{
    double each = (double)blocks * (double)bytes, available = room_available();
    double all = each * buffers * stats->node_ranks;

    if (available == 0 || all <= available)
        return true;
    failure_say(NCOLL_ERR_MEMORY,
                "the %d ranks of this node need %u buffers each, of %.1f GiB: %.1f GiB in all, and "
                "%.1f GiB are free: take shorter sizes (-m), or fewer ranks",
                stats->node_ranks, buffers, each / GIB, all / GIB, available / GIB);
    return false;
}
