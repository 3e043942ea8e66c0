/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/counters.h"

#include <sys/resource.h>

void counters_read(const struct job *job, struct counters *out)
{
    struct ncoll_stats stats = {.size = sizeof stats};
    struct rusage usage;

    hca_read(job->hca, &out->hca);
    getrusage(RUSAGE_SELF, &usage);
    ncoll_context_stats(job->ctx, &stats);
    out->switches = (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
    out->sleeps = stats.sleeps;
}

void counters_add(const struct job *job, struct row *row, const struct counters *before,
                  const struct counters *after)
{
    row->switches += after->switches - before->switches;
    row->sleeps += after->sleeps - before->sleeps;
    hca_add(job->hca, row->hca, &before->hca, &after->hca);
}
