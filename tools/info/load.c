/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/info/load.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMPLE_NS 100000000

void info_load_read(FILE *stat, struct core_ticks cores[LOAD_CORES])
{
    unsigned core;
    unsigned long long t[8]; /* user nice system idle iowait irq softirq steal */
    char *line = NULL;
    size_t room = 0;

    memset(cores, 0, LOAD_CORES * sizeof *cores);
    while (getline(&line, &room, stat) > 0) {
        int n = sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &core, &t[0], &t[1],
                       &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]);
        if (n != 9 || core >= LOAD_CORES)
            continue;
        cores[core].busy = t[0] + t[1] + t[2] + t[5] + t[6];
        cores[core].stolen = t[7];
        cores[core].all = cores[core].busy + t[7] + t[3] + t[4];
    }
    free(line);
}

bool info_load_between(const struct core_ticks *before, const struct core_ticks *after,
                       const uint64_t mask[LOAD_CORES / 64], struct load *out)
{
    struct core_ticks sum = {0};
    struct load load = {.most = -1};

    for (unsigned c = 0; c < LOAD_CORES; c++) {
        if (!(mask[c / 64] >> c % 64 & 1) || after[c].all <= before[c].all)
            continue;
        uint64_t busy = after[c].busy - before[c].busy, all = after[c].all - before[c].all;
        uint64_t stolen = after[c].stolen - before[c].stolen;
        double here = 100.0 * (double)(busy + stolen) / (double)all;
        if (here > load.most) {
            load.most = here;
            load.most_core = c;
        }
        sum.busy += busy;
        sum.stolen += stolen;
        sum.all += all;
    }
    if (sum.all == 0)
        return false;
    load.used = 100.0 * (double)sum.busy / (double)sum.all;
    load.stolen = 100.0 * (double)sum.stolen / (double)sum.all;
    *out = load;
    return true;
}

static bool read_now(struct core_ticks cores[LOAD_CORES])
{
    FILE *stat = fopen("/proc/stat", "re");

    if (stat == NULL)
        return false;
    info_load_read(stat, cores);
    fclose(stat);
    return true;
}

bool info_load_now(const uint64_t mask[LOAD_CORES / 64], struct load *out)
{
    const struct timespec sample = {.tv_nsec = SAMPLE_NS};
    struct core_ticks before[LOAD_CORES], after[LOAD_CORES];

    if (!read_now(before))
        return false;
    nanosleep(&sample, NULL);
    return read_now(after) && info_load_between(before, after, mask, out);
}
