/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-bench: on ranks that it forks itself, or that a launcher made.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/bench/companion.h"
#include "tools/bench/failure.h"
#include "tools/bench/placement.h"
#include "tools/launch.h"
#include "tools/output.h"
#include "tools/plot/plot.h"

#define DEFAULT_RANKS 4

static const struct subject *const subjects[] = {&subject_raw,
                                                 &subject_flags,
                                                 &subject_copy,
                                                 &subject_pull,
                                                 &subject_combine,
                                                 &subject_rate,
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

static int run_forked(const ncoll_params *params, const struct options *options)
{
    struct launch launch = {options, placement_plan(options)};

    failure_share();
    int status = launch_forked(options->ranks, params, forked_rank, &launch);
    placement_free(&launch.placement);
    return status;
}

int main(int argc, char **argv)
{
    output_open();
    if (argc > 1 && strcmp(argv[1], "plot") == 0)
        return plot_main(argc - 1, argv + 1);

    struct options options;
    bool launched = launch_is_done();
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
