/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/run.h"

#include <stdlib.h>

#include "tools/bench/failure.h"
#include "tools/bench/placement.h"
#include "tools/launch.h"

struct launch {
    const struct options *options;
    const struct subject *const *subjects;
    struct placement placement;
};

static int forked_rank(const ncoll_params *params, void *arg)
{
    const struct launch *launch = arg;
    bool bound = placement_apply(&launch->placement, params->rank);

    return bench_rank(params, launch->options, launch->subjects, bound);
}

static int run_forked(const ncoll_params *params, const struct options *options,
                      const struct subject *const *subjects)
{
    struct launch launch = {options, subjects, placement_plan(options)};

    failure_share();
    int status = launch_forked(options->ranks, params, forked_rank, &launch);
    placement_free(&launch.placement);
    return status;
}

bool run_is_quiet(void)
{
    return launch_is_done() && failure_launcher_rank() > 0;
}

int run_ranks(const struct options *options, const struct subject *const *subjects)
{
    struct options local = *options;
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    /* What is asked for on the command line is nearer than what the environment says. */
    if (local.transport != NULL)
        setenv("NCOLL_TRANSPORT", local.transport, 1);
    if (local.ranks == 0 && launch_is_done()) {
        failure_launched(failure_launcher_rank());
        return bench_rank(&params, &local, subjects, false);
    }
    if (local.ranks == 0)
        local.ranks = DEFAULT_RANKS;
    return run_forked(&params, &local, subjects);
}
