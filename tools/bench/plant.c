/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/plant.h"

#include "tools/bench/mix.h"

#define EVERY    100
#define LATE_NS  200000u
#define EARLY_NS 1000000000u

void plant_straggler(const struct job *job, unsigned call)
{
    if (job->rank != job->ranks - 1 || call % EVERY != 0)
        return;
    for (uint64_t start = now_ns(); now_ns() - start < LATE_NS;)
        ;
}

void plant_wrong(struct job *job, const struct row *row, unsigned i)
{
    bool at_root = row->collective == COLL_REDUCE || row->collective == COLL_GATHER;
    size_t bytes =
        elements_of(job, row, out_form(row->collective)) * ncoll_type_size(job->options->type);
    unsigned char *out = job->out;

    if (job->rank != (at_root ? BENCH_ROOT : job->ranks - 1))
        return;
    if (row->collective == COLL_BARRIER)
        job->exit_ns[i] -= EARLY_NS;
    else if (bytes > 0)
        out[mix(job->seed + i) % bytes] ^= 1;
}
