/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs under virtual time (test/programs), in jobs that differ in all that a seed can
 * change: ranks, nodes, delays, pauses, narrow queues, and ranks that are killed. A job without
 * kills has to give what the reference says; in one with kills each rank that survives either
 * does, too, or gets an error that names a rank that was killed. None hangs.
 */
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/programs/programs.h"
#include "test/sim/many.h"
#include "test/support/crew.h"
#include "test/support/options.h"
#include "transport/sim/sim.h"

static const char usage[] =
    "usage: ncoll-programs-sim [-P LIST] [--jobs N] [--seed S] [--only I] [--kills] [--many]\n"
    "                          [--twice] [-v]\n"
    "\n"
    "Runs random programs of collectives on many contexts of this process, under virtual time.\n"
    "\n"
    "  -P LIST     numbers of ranks, 1 to 16: 2,3,5 or 1-16 (default)\n"
    "  --jobs N    so many, each of up to 25 programs; default: 40\n"
    "  --seed S    repeats a run; default: NCOLL_TEST_SEED, else a new one\n"
    "  --only I    only job I\n"
    "  --kills     a rank or two of each job are killed\n"
    "  --many      numbers of ranks up to 1000, 8-1000 by default; jobs of one program that knows\n"
    "              its results by formulas, longer ones of fewer ranks\n"
    "  --twice     each job once more, with other addresses: the events have to be the same\n"
    "  -v          a line for each job\n";

struct options {
    struct jobs jobs;
    bool ranks[MANY_RANKS + 1];
    unsigned ranks_max;
    bool kills, twice, many, verbose;
};

/* True if there shall be no job of so many ranks this time: as many jobs have 8 to 16 ranks as have
 * 500 to 1,000. */
static bool is_too_rare(int ranks, struct random *random)
{
    return random_below(random, (uint64_t)ranks) >= 8;
}

static struct sim_config draw(const struct options *o, uint64_t number)
{
    struct random random = random_stream(o->jobs.seed, number);
    struct sim_config config = {.seed = random_next(&random), .stack_bytes = (size_t)1 << 20};

    do
        config.ranks = 1 + (int)random_below(&random, o->ranks_max);
    while (!o->ranks[config.ranks] || (o->many && is_too_rare(config.ranks, &random)));
    config.node_ranks = 1 + (int)random_below(&random, 4);
    config.jitter_ns = random_below(&random, 3) * 10000;
    config.slow_one_in = random_below(&random, 2) == 0 ? 0 : 6;
    config.slow_ns = 50000;
    config.pause_one_in = random_below(&random, 2) == 0 ? 0 : 1000;
    config.pause_ns = 2000000;
    config.refuse_one_in = random_below(&random, 2) == 0 ? 0 : 30;
    config.depth = random_below(&random, 2) == 0 ? 0 : 1 + (unsigned)random_below(&random, 8);
    config.kills = o->kills ? 1 + (unsigned)random_below(&random, 2) : 0;
    /* in creation, early, or at any time */
    uint64_t latest[] = {1000000, 20000000, o->many ? 100000000 : 200000000};
    config.kill_ns = latest[random_below(&random, 3)];
    config.gives_back = random_below(&random, 2) == 0;
    return config;
}

struct total {
    uint64_t jobs, programs, calls, killed, named, wrong;
};

/* The results of a job, which are shared with the process that runs it. */
struct result {
    struct tally tally;
    struct sim_report report;
    uint64_t named; /* errors of survivors that named a rank that was killed */
    bool well;
};

static struct result *here; /* of the job that this process runs */
static bool is_many;        /* it has a program of many.h */

/* The rank itself was killed, or it names one that was; or it has come to its next context, and
 * others have not, because a rank was killed. */
static bool names_killed(const ncoll_error *error)
{
    if (error->peer >= 0 && sim_is_killed(error->peer) && !sim_is_killed(error->rank))
        here->named++;
    return (error->rank >= 0 && sim_is_killed(error->rank)) ||
           (error->peer >= 0 && sim_is_killed(error->peer)) ||
           (error->status == NCOLL_ERR_BOOTSTRAP && sim_is_killed(SIM_ANY));
}

/* A rank that ends early has to have an excuse; programs say what is wrong, and count it. */
static int run_rank(const ncoll_params *params, void *arg)
{
    const struct job *job = arg;
    uint64_t wrong = job->tally->wrong;
    int code = is_many ? many_rank(params, arg) : programs_rank(params, arg);

    return job->excuses != NULL && job->tally->wrong == wrong ? 0 : code;
}

static void run_here(const struct options *o, struct sim_config config, struct result *result)
{
    struct job job = {.seed = config.seed,
                      .end = 1 + config.seed % BATCH,
                      .leaves = config.seed % 8 == 0,
                      .tally = &result->tally,
                      .pause = sim_sleep,
                      .excuses = o->kills ? names_killed : NULL};
    ncoll_params base;

    ncoll_params_init(&base, sizeof base);
    base.zero_copy_bytes = 1;
    base.log_level = NCOLL_LOG_NONE;
    here = result;
    is_many = o->many;
    result->well =
        sim_run(&config, &base, run_rank, &job, &result->report) && result->tally.wrong == 0;
}

/* Moved memory keeps its alignment up to this, or aligned blocks would leave other gaps in the heap. */
#define MOVE        ((size_t)1 << 20)
#define MALLOC_HEAD 16u /* what glibc adds to a block, at most */

/* Runs a job in a process of its own, so that all jobs find the same heap: the library may tell from
 * an address that a call is the same as a recent one. moved: all that is allocated is elsewhere. */
static bool run_once(const struct options *o, struct sim_config config, bool moved,
                     struct result *result)
{
    int status;

    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        abort();
    if (child == 0) {
        if (moved && malloc(MOVE - MALLOC_HEAD) == NULL)
            abort();
        run_here(o, config, result);
        fflush(NULL);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0) {
        printf("the process ended with status %#x\n", (unsigned)status);
        return false;
    }
    return result->well;
}

static bool run_again(const struct options *o, struct sim_config config,
                      const struct sim_report *first, struct result *again)
{
    bool well = run_once(o, config, true, again);

    if (well && (again->report.hash != first->hash || again->report.end_ns != first->end_ns)) {
        printf("the second time events were others\n");
        well = false;
    }
    return well;
}

static bool run(const struct options *o, uint64_t number, struct total *total)
{
    struct sim_config config = draw(o, number);
    uint64_t start_ns = crew_now_ns();
    /* Both are there in both runs: a page more would change which addresses mmap() gives again. */
    struct result *result = crew_share(sizeof *result), *again = crew_share(sizeof *again);

    bool well = run_once(o, config, false, result);
    if (well && o->twice)
        well = run_again(o, config, &result->report, again);
    struct sim_report report = result->report;
    total->programs += result->tally.programs;
    total->calls += result->tally.calls;
    total->wrong += result->tally.wrong;
    total->named += result->named;
    total->killed += (uint64_t)report.killed;
    crew_unshare(result, sizeof *result);
    crew_unshare(again, sizeof *again);
    if (!well || o->verbose)
        printf("job %" PRIu64 ": %d ranks, %d killed: %.6f s in %.3f s, %" PRIu64
               " events, hash %016" PRIx64 "\n",
               number, config.ranks, report.killed, (double)report.end_ns / 1e9,
               (double)(crew_now_ns() - start_ns) / 1e9, report.events, report.hash);
    if (!well)
        printf("FAILED: %d ranks, the first is %d; %u violations%s\n    repeat: --seed %" PRIu64
               " --only %" PRIu64 "%s%s\n",
               report.failed, report.first_failed, report.violations,
               report.hangs ? "; it hangs" : "", o->jobs.seed, number, o->kills ? " --kills" : "",
               o->many ? " --many" : "");
    return well;
}

int main(int argc, char **argv)
{
    uint64_t start_ns = crew_now_ns();
    struct total total = {0};
    struct options o = {.jobs = {.count = 40}};
    const struct flag flags[] = {{"kills", &o.kills},
                                 {"many", &o.many},
                                 {"twice", &o.twice},
                                 {"v", &o.verbose},
                                 {NULL, NULL}};
    bool well = true;

    bool good = option_jobs(argc, argv, "jobs", flags, &o.jobs) && o.jobs.transport == NULL;
    const char *all = o.many ? "8-1000" : "1-16";
    o.ranks_max = o.many ? MANY_RANKS : RANKS_MAX;
    if (!good || !option_ranks(o.jobs.list != NULL ? o.jobs.list : all, o.ranks_max, o.ranks)) {
        fputs(usage, stderr);
        return 2;
    }
    /* Which addresses mmap() gives again depends on where the kernel has put this process. */
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    uint64_t number = o.jobs.only != UINT64_MAX ? o.jobs.only : 0;
    uint64_t end = o.jobs.only != UINT64_MAX ? o.jobs.only + 1 : o.jobs.count;
    for (; well && number < end; number++, total.jobs++)
        well = run(&o, number, &total);
    printf("%" PRIu64 " jobs, %" PRIu64 " programs, %" PRIu64 " calls, %" PRIu64
           " ranks killed, named by %" PRIu64 ", %" PRIu64 " wrong, %.0f s (--seed %" PRIu64
           ")%s\n",
           total.jobs, total.programs, total.calls, total.killed, total.named, total.wrong,
           (double)(crew_now_ns() - start_ns) / 1e9, o.jobs.seed, well ? "" : ": FAILED");
    return well ? 0 : 1;
}
