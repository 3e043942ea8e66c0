/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/cores.h"

#include "tools/bench/bench.h"
#include "tools/bench/stats.h"

/* The clock is too coarse for one exchange. */
#define GROUPS     9
#define EACH_GROUP 8
#define EXCHANGES  (1 + GROUPS * EACH_GROUP) /* the first begins when the later rank comes */

int cores_look(struct job *job, uint64_t *exchange_ns)
{
    uint64_t samples_ns[EXCHANGES], groups_ns[GROUPS] = {0};

    *exchange_ns = 0;
    if (!job->sees_cores)
        return NCOLL_OK;
    int status = ncoll__raw_exchange(job->world, 1, 0, EXCHANGES, samples_ns);
    if (status != NCOLL_OK)
        return status;
    for (unsigned i = 0; i < GROUPS * EACH_GROUP; i++)
        groups_ns[i / EACH_GROUP] += samples_ns[1 + i];
    stats_sort(groups_ns, GROUPS);
    *exchange_ns = stats_quantile(groups_ns, GROUPS, 500) / EACH_GROUP;
    return NCOLL_OK;
}
