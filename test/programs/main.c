/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "programs.h"
#include "test/support/crew.h"
#include "test/support/late.h"
#include "test/support/options.h"

static const char usage[] =
    "usage: ncoll-programs [-t TRANSPORT] [-P LIST] [--programs N] [--seed S] [--only I]\n"
    "                      [--leave] [-v]\n"
    "\n"
    "Runs random programs of collectives on forked ranks, and compares with a serial reference.\n"
    "\n"
    "  -t TRANSPORT    shm, verbs, shm+verbs, or late: shm that sends as a device does;\n"
    "                  default: as the library chooses\n"
    "  -P LIST         numbers of ranks, 1 to 16: 2,3,5 or 1-8 (default); drawn for each 25 "
    "programs\n"
    "  --programs N    so many; default: 1000\n"
    "  --seed S        repeats a run; default: NCOLL_TEST_SEED, else a new one\n"
    "  --only I        only program I, as a report says, and those that its context had run "
    "before\n"
    "  --leave         short programs, each in a context of its own, whose ranks leave as soon as\n"
    "                  they have the results\n"
    "  -v              a line for each group of processes\n";

struct options {
    struct jobs jobs;
    bool ranks[RANKS_MAX + 1];
    bool leaves, verbose;
};

static int draw_ranks(const struct options *o, const struct job *job)
{
    struct random random = random_stream(job->seed, job->first / BATCH);
    unsigned ranks;

    do
        ranks = 1 + (unsigned)random_below(&random, RANKS_MAX);
    while (!o->ranks[ranks]);
    return (int)ranks;
}

/* True if all ranks ended well. */
static bool run(struct job *job, const struct options *o)
{
    uint64_t start_ns = crew_now_ns(), calls = job->tally->calls, done = job->tally->programs;
    int ranks = draw_ranks(o, job), codes[RANKS_MAX] = {0};
    ncoll_params params = late_params(o->jobs.transport, &job->late);

    int rc = ncoll_fork_ranks(ranks, &params, programs_rank, job, codes);
    for (int r = 0; r < ranks; r++)
        if (codes[r] != 0)
            fprintf(stderr,
                    "rank %d of %d ended with %d\n    repeat:%s -P %d --seed %" PRIu64
                    " --only %" PRIu64 "\n",
                    r, ranks, codes[r], job->leaves ? " --leave" : "", ranks, job->seed,
                    job->first + job->tally->programs - done);
    if (o->verbose)
        printf("P = %d, programs %" PRIu64 "-%" PRIu64 ": %" PRIu64 " calls, %.1f s%s\n", ranks,
               job->first, job->end - 1, job->tally->calls - calls,
               (double)(crew_now_ns() - start_ns) / 1e9, rc == NCOLL_OK ? "" : ": ended early");
    return rc == NCOLL_OK;
}

int main(int argc, char **argv)
{
    struct options o = {.jobs = {.list = "1-8", .count = 1000}};
    const struct flag flags[] = {{"leave", &o.leaves}, {"v", &o.verbose}, {NULL, NULL}};
    uint64_t start_ns = crew_now_ns();
    bool well = true;

    if (!option_jobs(argc, argv, "programs", flags, &o.jobs) ||
        !option_ranks(o.jobs.list, RANKS_MAX, o.ranks)) {
        fputs(usage, stderr);
        return 2;
    }
    uint64_t only = o.jobs.only;
    struct job job = {
        .seed = o.jobs.seed, .leaves = o.leaves, .tally = crew_share(sizeof *job.tally)};
    uint64_t first = only != UINT64_MAX ? programs_context_of(&job, only) : 0;
    uint64_t end = only != UINT64_MAX ? only + 1 : o.jobs.count;
    for (; well && first < end; first = job.end) {
        job.first = first;
        job.end = first + BATCH < end ? first + BATCH : end;
        well = run(&job, &o);
    }
    well = well && job.tally->wrong == 0;
    printf("%" PRIu64 " programs, %" PRIu64 " calls, %" PRIu64 " resumed, %" PRIu64
           " contexts, %" PRIu64 " wrong, %.0f s (--seed %" PRIu64 ")%s\n",
           job.tally->programs, job.tally->calls, job.tally->resumed, job.tally->contexts,
           job.tally->wrong, (double)(crew_now_ns() - start_ns) / 1e9, job.seed,
           well ? "" : ": FAILED");
    return well ? 0 : 1;
}
