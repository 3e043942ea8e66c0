/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/sim/jobs.h"

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
#include "test/support/seed.h"
#include "transport/sim/sim.h"

/* True if there shall be no job of so many ranks this time: as many jobs have 8 to 16 ranks as have
 * 500 to 1,000. */
static bool is_too_rare(int ranks, struct random *random)
{
    return random_below(random, (uint64_t)ranks) >= 8;
}

static struct sim_config draw(const struct sim_jobs *o, uint64_t number)
{
    struct random random = random_stream(o->seed, number);
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

static void run_here(const struct sim_jobs *o, struct sim_config config, struct result *result)
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
static bool run_once(const struct sim_jobs *o, struct sim_config config, bool moved,
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

static bool run_again(const struct sim_jobs *o, struct sim_config config,
                      const struct sim_report *first, struct result *again)
{
    bool well = run_once(o, config, true, again);

    if (well && (again->report.hash != first->hash || again->report.end_ns != first->end_ns)) {
        printf("the second time events were others\n");
        well = false;
    }
    return well;
}

bool sim_job(const struct sim_jobs *o, uint64_t number, struct total *total)
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
    total->hung += report.hangs;
    total->violations += report.violations;
    total->failed += !well;
    total->jobs++;
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
               report.hangs ? "; it hangs" : "", o->seed, number, o->kills ? " --kills" : "",
               o->many ? " --many" : "");
    return well;
}

void sim_jobs_prepare(void)
{
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
}
