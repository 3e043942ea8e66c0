/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random jobs of stale-synchronous and partial allreduces under virtual time.
 *
 *     ncoll-stale-sim [--jobs N] [--seed S] [--verbose]
 *
 * The seed is printed; the job of a failure runs again with `--jobs 1 --seed` and its own seed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/stale/sim_job.h"

static void describe(const struct job *job)
{
    static const char *const names[] = {"auto", "hypercube", "slices", "ring"};

    printf("seed %" PRIu64 ": %d ranks, %s, slack up to %d, %s, %d calls, slices of %zu\n",
           job->seed, job->ranks, job->params.partial ? "partial" : names[job->params.algorithm],
           job->max_slack, job->params.clocks ? "clocks" : "no clocks", job->calls, job->slice);
}

int main(int argc, char **argv)
{
    uint64_t seed = test_seed(), results = 0, stale = 0, early = 0;
    unsigned long jobs = 100;
    bool verbose = false;

    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--jobs") == 0 && i + 1 < argc)
            jobs = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--verbose") == 0)
            verbose = true;
        else
            return 2;
    printf("%lu jobs from seed %" PRIu64 "\n", jobs, seed);
    for (unsigned long i = 0; i < jobs; i++) {
        struct job job;
        job_from_seed(&job, seed + i);
        if (verbose)
            describe(&job);
        fflush(stdout);
        if (!sim_job_run(&job)) {
            describe(&job);
            puts("FAILED");
            return 1;
        }
        results += job.results;
        stale += job.stale;
        early += job.early;
    }
    printf("%" PRIu64 " results checked; %" PRIu64
           " contributions were older than the call, %" PRIu64 " newer\n",
           results, stale, early);
    return (stale > 0 && early > 0) || jobs < 20 ? 0 : 1;
}
