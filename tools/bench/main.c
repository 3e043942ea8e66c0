/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-bench: on ranks that it forks itself, or that a launcher made.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/bootstrap.h"
#include "tools/bench/bench.h"
#include "tools/bench/companion.h"
#include "tools/bench/failure.h"
#include "tools/bench/placement.h"
#include "tools/plot/plot.h"

#define DEFAULT_RANKS 4

static const struct subject *const subjects[] = {&subject_raw,
                                                 &subject_flags,
                                                 &subject_copy,
                                                 &subject_pull,
                                                 &subject_ncoll,
                                                 &subject_persistent,
                                                 &subject_overlap,
                                                 &subject_entry,
                                                 &subject_exit,
                                                 &subject_strict,
                                                 NULL};

struct launch {
    const struct options *options;
    struct placement placement;
};

static int forked_rank(const ncoll_params *params, void *arg)
{
    const struct launch *launch = arg;
    bool bound = placement_apply(&launch->placement, params->rank);

    return bench_rank(params, launch->options, subjects, bound);
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

static int run_forked(const ncoll_params *params, const struct options *options)
{
    struct launch launch = {options, placement_plan(options)};
    int *exit_codes = calloc((size_t)options->ranks, sizeof *exit_codes);
    int status = NCOLL_ERR_MEMORY;

    failure_share();
    if (exit_codes != NULL)
        status = ncoll_fork_ranks(options->ranks, params, forked_rank, &launch, exit_codes);
    if (status == NCOLL_ERR_PEER)
        say_killed(exit_codes, options->ranks);
    else if (status != NCOLL_OK)
        fprintf(stderr, "%s: cannot fork %d ranks: %s\n", program_invocation_short_name,
                options->ranks, ncoll_status_text(status));
    free(exit_codes);
    placement_free(&launch.placement);
    return status == NCOLL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Whether a launcher, or the user for a tcp job, made this process one of several ranks. */
static bool is_launched(void)
{
    const char *bootstrap = getenv("NCOLL_BOOTSTRAP");

    if (bootstrap != NULL && strcmp(bootstrap, "auto") != 0)
        return strcmp(bootstrap, "fork") != 0;
    return ncoll__pmix_launched() || getenv("NCOLL_RANK") != NULL || getenv("NCOLL_SIZE") != NULL ||
           getenv("NCOLL_ROOT") != NULL;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "plot") == 0)
        return plot_main(argc - 1, argv + 1);

    struct options options;
    bool launched = is_launched();
    int rank = launched ? failure_launcher_rank() : -1;

    ncoll_params params;
    ncoll_params_init(&params, sizeof params);
    options_parse(argc, argv, rank > 0, &options);
    /* What is asked for on the command line is nearer than what the environment says. */
    if (options.transport != NULL)
        setenv("NCOLL_TRANSPORT", options.transport, 1);
    if (options.companion != COMPANION_NONE) {
        options.ranks = options.ranks == 0 ? DEFAULT_RANKS : options.ranks;
        return companion_exec(&options);
    }
    if (options.ranks == 0 && launched) {
        failure_launched(rank);
        return bench_rank(&params, &options, subjects, false);
    }
    if (options.ranks == 0)
        options.ranks = DEFAULT_RANKS;
    return run_forked(&params, &options);
}
