/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "examples/cg/support.h"
#include "tools/bench/bench.h"
#include "tools/bench/measure/placement.h"
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

bool run_is_quiet(void)
{
    return launch_is_done() && failure_launcher_rank() > 0;
}

int run_ranks(const struct options *options, const struct subject *const *subjects)
{
    struct options local = *options;
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    /* The command line takes precedence over the environment. */
    if (local.transport != NULL)
        setenv("NCOLL_TRANSPORT", local.transport, 1);
    if (local.ranks == 0 && launch_is_done()) {
        failure_launched(failure_launcher_rank());
        return bench_rank(&params, &local, subjects, false);
    }
    if (local.ranks == 0)
        local.ranks = DEFAULT_RANKS;
    struct launch launch = {&local, subjects, placement_plan(&local)};
    int status = launch_forked(local.ranks, &params, forked_rank, &launch);
    placement_free(&launch.placement);
    return status;
}
