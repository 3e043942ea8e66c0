/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random programs under virtual time (test/programs), in jobs that differ in all that a seed can
 * change: ranks, nodes, delays, pauses, narrow queues, and ranks that are killed. A job without
 * kills has to give what the reference says; in one with kills each rank that survives either
 * does, too, or gets an error that names a rank that was killed. None hangs.
 */
#include <inttypes.h>
#include <stdio.h>

#include "test/programs/programs.h"
#include "test/sim/jobs.h"
#include "test/support/crew.h"
#include "test/support/options.h"

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

int main(int argc, char **argv)
{
    uint64_t start_ns = crew_now_ns();
    struct total total = {0};
    struct jobs asked = {.count = 40};
    struct sim_jobs o = {0};
    const struct flag flags[] = {{"kills", &o.kills},
                                 {"many", &o.many},
                                 {"twice", &o.twice},
                                 {"v", &o.verbose},
                                 {NULL, NULL}};
    bool well = true;

    bool good = option_jobs(argc, argv, "jobs", flags, &asked) && asked.transport == NULL;
    const char *all = o.many ? "8-1000" : "1-16";
    o.ranks_max = o.many ? MANY_RANKS : RANKS_MAX;
    if (!good || !option_ranks(asked.list != NULL ? asked.list : all, o.ranks_max, o.ranks)) {
        fputs(usage, stderr);
        return 2;
    }
    o.seed = asked.seed;
    sim_jobs_prepare();
    uint64_t number = asked.only != UINT64_MAX ? asked.only : 0;
    uint64_t end = asked.only != UINT64_MAX ? asked.only + 1 : asked.count;
    for (; well && number < end; number++)
        well = sim_job(&o, number, &total);
    printf("%" PRIu64 " jobs, %" PRIu64 " programs, %" PRIu64 " calls, %" PRIu64
           " ranks killed, named by %" PRIu64 ", %" PRIu64 " wrong, %.0f s (--seed %" PRIu64
           ")%s\n",
           total.jobs, total.programs, total.calls, total.killed, total.named, total.wrong,
           (double)(crew_now_ns() - start_ns) / 1e9, o.seed, well ? "" : ": FAILED");
    return well ? 0 : 1;
}
