/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/cores.h"

#include "tools/bench/bench.h"
#include "tools/bench/stats.h"

#define EXCHANGES 64

int cores_look(struct job *job, uint64_t *exchange_ns)
{
    uint64_t samples_ns[EXCHANGES];

    *exchange_ns = 0;
    if (!job->sees_cores)
        return NCOLL_OK;
    int status = ncoll__raw_exchange(job->world, 1, 0, EXCHANGES, samples_ns);

    if (status == NCOLL_OK) {
        stats_sort(samples_ns, EXCHANGES);
        *exchange_ns = stats_quantile(samples_ns, EXCHANGES, 500);
    }
    return status;
}
