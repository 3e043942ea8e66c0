/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/launch.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/bootstrap.h"
#include "lib/inspect.h"
#include "tools/arguments.h"
#include "tools/bench/failure.h"

#define MANY 32 /* ranks a core */

bool launch_is_done(void)
{
    const char *bootstrap = getenv("NCOLL_BOOTSTRAP");

    if (bootstrap != NULL && strcmp(bootstrap, "auto") != 0)
        return strcmp(bootstrap, "fork") != 0;
    return ncoll__pmix_launched() || getenv("NCOLL_RANK") != NULL || getenv("NCOLL_SIZE") != NULL ||
           getenv("NCOLL_ROOT") != NULL;
}

/* Ranks that end by themselves have said why; a killed one could not. */
static void say_killed(const int *exit_codes, int ranks)
{
    for (int rank = 0; rank < ranks; rank++)
        if (exit_codes[rank] > 128)
            fprintf(stderr, "%s: rank %d was ended by signal %d (%s)\n",
                    program_invocation_short_name, rank, exit_codes[rank] - 128,
                    strsignal(exit_codes[rank] - 128));
}

/* Each process of a launcher's would start a job of its own, all on the same cores. */
static bool forks_in_a_job(void)
{
    int rank = launch_is_done() ? failure_launcher_rank() : -1;

    if (rank == 1)
        fprintf(stderr, "%s: a launcher has made several ranks: leave out -n\n",
                program_invocation_short_name);
    return rank > 0;
}

/* It takes as long as all of them need to find each other, on the cores that there are. */
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
            fprintf(stderr,
                    "%s: starting %d ranks on %d core%s; they have %s s to find each other (%s)\n",
                    program_invocation_short_name, ranks, cores, cores == 1 ? "" : "s",
                    timeout.value, timeout.variable);
}

int launch_forked(int ranks, const ncoll_params *params,
                  int (*rank_main)(const ncoll_params *params, void *arg), void *arg)
{
    int status = NCOLL_ERR_MEMORY;

    if (forks_in_a_job())
        return EXIT_USAGE;
    say_many(ranks, params);
    int *exit_codes = calloc((size_t)ranks, sizeof *exit_codes);
    if (exit_codes != NULL)
        status = ncoll_fork_ranks(ranks, params, rank_main, arg, exit_codes);
    if (status == NCOLL_ERR_PEER)
        say_killed(exit_codes, ranks);
    else if (status != NCOLL_OK)
        fprintf(stderr, "%s: cannot fork %d ranks: %s\n", program_invocation_short_name, ranks,
                ncoll_status_text(status));
    free(exit_codes);
    return status == NCOLL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
