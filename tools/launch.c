/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/launch.h"

#include <err.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/launcher.h"
#include "examples/cg/support.h"
#include "tools/inside.h"
#include "tools/arguments.h"

#define MANY 32 /* ranks for each core */

bool launch_is_done(void)
{
    const char *bootstrap = getenv("NCOLL_BOOTSTRAP");

    if (bootstrap != NULL && strcmp(bootstrap, "auto") != 0)
        return strcmp(bootstrap, "fork") != 0;
    struct launched_task task;
    return ncoll__pmix_launched() || getenv("NCOLL_RANK") != NULL || getenv("NCOLL_SIZE") != NULL ||
           getenv("NCOLL_ROOT") != NULL || ncoll__launched_as_task(&task);
}

/* True on all ranks of a launcher but rank 0. If each of them forked a job of its own, all jobs
 * would use the same cores. */
static bool forks_in_a_job(void)
{
    int rank = launch_is_done() ? failure_launcher_rank() : -1;

    if (rank == 1)
        warnx("a launcher has made several ranks: leave out -n; or set NCOLL_BOOTSTRAP=fork, if "
              "each of them is meant to fork ranks of its own");
    return rank > 0;
}

/* Warns if there are very many ranks: until all of them have found each other on so few cores,
 * creation takes long. */
static void say_many(int ranks, const ncoll_params *params)
{
    cpu_set_t allowed;
    int cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
    struct setting_view timeout;
    unsigned i = 0;

    if (ranks <= MANY * cores)
        return;
    while (ncoll__setting_view(params, i++, &timeout))
        if (strcmp(timeout.variable, "NCOLL_BOOTSTRAP_TIMEOUT") == 0)
            warnx("starting %d ranks on %d core%s; they have %s s to find each other (%s)", ranks,
                  cores, cores == 1 ? "" : "s", timeout.value, timeout.variable);
}

int launch_forked(int ranks, const ncoll_params *params,
                  int (*rank_main)(const ncoll_params *params, void *arg), void *arg)
{
    if (forks_in_a_job())
        return EXIT_USAGE;
    say_many(ranks, params);
    return fork_ranks(ranks, false, params, rank_main, arg);
}
