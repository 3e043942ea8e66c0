/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The campaign: jobs of all kinds in turn, until so many collectives have been made. A job that
 * fails does not end it. A line each minute says how far it is, and the end says how many jobs there
 * were, and what they found.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "test/programs/programs.h"
#include "test/sim/jobs.h"
#include "test/support/crew.h"
#include "test/support/options.h"

#define EVERY_NS UINT64_C(60000000000) /* between two lines */

static const char usage[] =
    "usage: ncoll-campaign-sim [--collectives N] [--seed S]\n"
    "\n"
    "Runs random programs under virtual time, on up to 1,000 ranks that stall and are killed, "
    "until\n"
    "they have made N collectives; default: 1000000.\n"
    "\n"
    "  --seed S    repeats a run; default: NCOLL_TEST_SEED, else a new one\n";

/* So many jobs of a kind follow each other. With kills a job is short: it ends soon after them. */
static struct kind {
    const char *name;
    unsigned in_turn;
    struct sim_jobs jobs;
    struct total total;
} kinds[] = {
    {.name = "1 to 16 ranks, kills", .in_turn = 4, .jobs = {.kills = true}},
    {.name = "1 to 16 ranks", .in_turn = 2},
    {.name = "8 to 1,000 ranks, kills", .in_turn = 1, .jobs = {.many = true, .kills = true}},
    {.name = "8 to 1,000 ranks", .in_turn = 1, .jobs = {.many = true}},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static struct total sum(void)
{
    struct total all = {0};

    for (unsigned k = 0; k < KINDS; k++) {
        const struct total *t = &kinds[k].total;
        all.jobs += t->jobs;
        all.calls += t->calls;
        all.killed += t->killed;
        all.named += t->named;
        all.wrong += t->wrong;
        all.hung += t->hung;
        all.violations += t->violations;
        all.failed += t->failed;
    }
    return all;
}

static void say(const char *name, const struct total *t)
{
    printf("%-24s %8" PRIu64 " collectives, %6" PRIu64 " jobs, %5" PRIu64
           " ranks killed, named by %" PRIu64 "; %" PRIu64 " wrong, %" PRIu64 " hung, %" PRIu64
           " violations, %" PRIu64 " jobs failed\n",
           name, t->calls, t->jobs, t->killed, t->named, t->wrong, t->hung, t->violations,
           t->failed);
    fflush(stdout);
}

static void say_progress(uint64_t start_ns)
{
    static uint64_t said_ns;
    uint64_t now_ns = crew_now_ns();
    char after[24];

    if (now_ns - (said_ns > 0 ? said_ns : start_ns) < EVERY_NS)
        return;
    said_ns = now_ns;
    struct total all = sum();
    snprintf(after, sizeof after, "after %" PRIu64 " s", (now_ns - start_ns) / 1000000000);
    say(after, &all);
}

/* Each kind goes on with its own numbers, so that `ncoll-programs-sim` can repeat a job. */
static void run_in_turn(uint64_t collectives, uint64_t start_ns)
{
    for (unsigned k = 0; k < KINDS; k++)
        for (unsigned i = 0; i < kinds[k].in_turn && sum().calls < collectives; i++) {
            sim_job(&kinds[k].jobs, kinds[k].total.jobs, &kinds[k].total);
            say_progress(start_ns);
        }
}

/* Jobs run in processes of their own, which are gone. */
static double processor_s(void)
{
    struct rusage used;

    getrusage(RUSAGE_CHILDREN, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    struct jobs asked = {.count = 1000000};
    const struct flag flags[] = {{NULL, NULL}};
    uint64_t start_ns = crew_now_ns();

    if (!option_jobs(argc, argv, "collectives", flags, &asked) || asked.transport != NULL ||
        asked.list != NULL || asked.only != UINT64_MAX) {
        fputs(usage, stderr);
        return 2;
    }
    printf("--seed %" PRIu64 "\n", asked.seed);
    for (unsigned k = 0; k < KINDS; k++) {
        struct sim_jobs *jobs = &kinds[k].jobs;
        jobs->seed = asked.seed;
        jobs->ranks_max = jobs->many ? MANY_RANKS : RANKS_MAX;
        option_ranks(jobs->many ? "8-1000" : "1-16", jobs->ranks_max, jobs->ranks);
    }
    sim_jobs_prepare();
    while (sum().calls < asked.count)
        run_in_turn(asked.count, start_ns);
    for (unsigned k = 0; k < KINDS; k++)
        say(kinds[k].name, &kinds[k].total);
    struct total all = sum();
    say("all", &all);
    printf("%.0f s; processor %.0f s (--seed %" PRIu64 ")%s\n",
           (double)(crew_now_ns() - start_ns) / 1e9, processor_s(), asked.seed,
           all.failed == 0 ? "" : ": FAILED");
    return all.failed == 0 ? 0 : 1;
}
