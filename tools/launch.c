/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/bootstrap.h"

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

int launch_forked(int ranks, const ncoll_params *params,
                  int (*rank_main)(const ncoll_params *params, void *arg), void *arg)
{
    int *exit_codes = calloc((size_t)ranks, sizeof *exit_codes);
    int status = NCOLL_ERR_MEMORY;

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
