/* SPDX-License-Identifier: BSD-3-Clause */
/* Random jobs of stale-synchronous and partial allreduces in real time, on forked ranks or on threads. */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "test/stale/job.h"
#include "test/support/crew.h"
#include "test/support/late.h"
#include "test/support/options.h"

#define RANKS_MAX  16
#define CALLS      120
#define LIMIT_S    60u
#define LONG_SLICE 3000 /* elements: their messages do not fit into slots */

static const char usage[] =
    "usage: ncoll-stale [-t TRANSPORT] [-P LIST] [--jobs N] [--seed S] [--only I] [--threads] "
    "[-v]\n"
    "\n"
    "Runs random jobs of stale-synchronous and partial allreduces, and checks each result.\n"
    "\n"
    "  -t TRANSPORT    shm, verbs, or late: shm that sends as a device does; default: as the "
    "library\n"
    "                  chooses\n"
    "  -P LIST         numbers of ranks, 1 to 16: 2,3,5 or 1-5 (default); drawn for each job\n"
    "  --jobs N        so many; default: 20\n"
    "  --seed S        repeats a run; default: NCOLL_TEST_SEED, else a new one\n"
    "  --only I        only job I, as a report says\n"
    "  --threads       ranks are threads of this process\n"
    "  -v              a line for each job\n";

struct forked {
    struct job job;
    bool late;
};

static void nap(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / 1000000000),
                            .tv_nsec = (long)(ns % 1000000000)};

    if (ns > 2000)
        nanosleep(&time, NULL);
}

static int body(struct rank *r)
{
    struct forked *f = r->shared;

    if (f->late)
        late_install(r->ctx, f->job.seed + (uint64_t)r->rank);
    return job_rank(&f->job, r->ctx, r->rank, r->ranks);
}

static void draw(struct job *job, uint64_t seed, const bool wanted[])
{
    struct random random = random_stream(seed, 5);

    job_from_seed(job, seed);
    do
        job->ranks = 1 + (int)random_below(&random, RANKS_MAX);
    while (!wanted[job->ranks]);
    job->slice = (size_t)(2 * job->ranks) + (random_below(&random, 3) == 0 ? LONG_SLICE : 10);
    job->calls = CALLS;
    job->pause_ns = 200000;
    job->sleep = nap;
}

/* Returns true if all results were as they should be. */
static bool run(struct forked *f, const struct jobs *o, const bool wanted[], enum crew_kind kind,
                uint64_t number, bool verbose)
{
    struct job *job = &f->job;
    ncoll_params params = late_params(o->transport, &f->late);

    draw(job, o->seed + number, wanted);
    int failed = crew_run(kind, job->ranks, &params, LIMIT_S, body, f);
    bool well = failed == 0 && job->results == (uint64_t)(job->calls * job->ranks);
    if (verbose || !well)
        printf("job %" PRIu64 ": %d ranks, algorithm %d%s, slack up to %d, slices of %zu: %" PRIu64
               " contributions older than the call, %" PRIu64 " newer%s\n",
               number, job->ranks, (int)job->params.algorithm,
               job->params.partial ? ", partial" : "", job->max_slack, job->slice, job->stale,
               job->early, well ? "" : ": FAILED");
    if (!well)
        printf("    repeat: -P %d --seed %" PRIu64 " --only %" PRIu64 "\n", job->ranks, o->seed,
               number);
    return well;
}

int main(int argc, char **argv)
{
    struct jobs o = {.list = "1-5", .count = 20};
    bool verbose = false, threads = false, wanted[RANKS_MAX + 1], well = true;
    const struct flag flags[] = {{"v", &verbose}, {"threads", &threads}, {NULL, NULL}};
    uint64_t results = 0, stale = 0;

    if (!option_jobs(argc, argv, "jobs", flags, &o) || !option_ranks(o.list, RANKS_MAX, wanted)) {
        fputs(usage, stderr);
        return 2;
    }
    struct forked *f = crew_share(sizeof *f);
    uint64_t first = o.only != UINT64_MAX ? o.only : 0;
    uint64_t end = o.only != UINT64_MAX ? o.only + 1 : o.count;
    for (uint64_t i = first; well && i < end; i++) {
        fflush(stdout);
        well = run(f, &o, wanted, threads ? CREW_THREADS : CREW_PROCESSES, i, verbose);
        results += f->job.results;
        stale += f->job.stale;
    }
    printf("%" PRIu64 " results checked, %" PRIu64
           " contributions were older than the call (--seed %" PRIu64 ")%s\n",
           results, stale, o.seed, well ? "" : ": FAILED");
    crew_unshare(f, sizeof *f);
    return well ? 0 : 1;
}
