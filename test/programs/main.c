/* SPDX-License-Identifier: BSD-3-Clause */
#include <getopt.h>
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
    const char *transport;
    bool ranks[RANKS_MAX + 1];
    uint64_t programs, seed, only;
    bool leaves, verbose;
};

static bool parse(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = {
        {"programs", required_argument, NULL, 'n'}, {"seed", required_argument, NULL, 'S'},
        {"only", required_argument, NULL, 'o'},     {"leave", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0}};
    int c;

    *o = (struct options){.programs = 1000, .only = UINT64_MAX};
    option_ranks("1-8", RANKS_MAX, o->ranks);
    while ((c = getopt_long(argc, argv, "t:P:vh", longs, NULL)) != -1) {
        if (c == 't')
            o->transport = optarg;
        else if (c == 'v')
            o->verbose = true;
        else if (c == 'l')
            o->leaves = true;
        else if (c == 'P'   ? !option_ranks(optarg, RANKS_MAX, o->ranks)
                 : c == 'n' ? !option_number(optarg, &o->programs)
                 : c == 'o' ? !option_number(optarg, &o->only)
                 : c == 'S' ? !option_number(optarg, &o->seed)
                            : true)
            return false;
    }
    return optind == argc;
}

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
    ncoll_params params = late_params(o->transport, &job->late);

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
    struct options o;
    uint64_t start_ns = crew_now_ns();
    bool well = true;

    if (!parse(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    struct job job = {.seed = o.seed != 0 ? o.seed : test_seed(),
                      .leaves = o.leaves,
                      .tally = crew_share(sizeof *job.tally)};
    uint64_t first = o.only != UINT64_MAX ? programs_context_of(&job, o.only) : 0;
    uint64_t end = o.only != UINT64_MAX ? o.only + 1 : o.programs;
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
