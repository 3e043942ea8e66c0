/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "../cg/support.h"
#include "mf.h"

/* True if the stragglers are ranks of the job. */
static bool check_stragglers(const struct pace *pace, int ranks)
{
    for (unsigned i = 0; i < pace->n_stragglers; i++)
        if (pace->stragglers[i].rank >= ranks) {
            failure_say(NCOLL_ERR_ARGUMENT, "--straggler: there is no rank %d among %d ranks",
                        pace->stragglers[i].rank, ranks);
            return false;
        }
    return true;
}

static int run_all(const struct mf_options *options, ncoll_context *ctx,
                   const struct mf_clock *clock, bool *written)
{
    struct problem problem;
    struct run run;

    if (!check_stragglers(&options->pace, ncoll_group_size(ncoll_world(ctx))))
        return NCOLL_ERR_ARGUMENT;
    int status = problem_make(options, ctx, &problem);
    if (status != NCOLL_OK)
        return status;
    status = sgd_run(options, &problem, clock, &run);
    if (status == NCOLL_OK) {
        status = mf_report(options, &problem, &run, written);
        run_free(&run);
    }
    /* If a rank left with a failure now, the launcher might kill all ranks before rank 0 has
     * written. */
    if (status == NCOLL_OK)
        status = failure_of_call(ctx, ncoll_barrier(problem.world, NCOLL_BLOCK));
    problem_free(&problem);
    return status;
}

int mf_rank(const ncoll_params *params, const struct mf_options *options,
            const struct mf_clock *clock)
{
    ncoll_params own = *params;
    ncoll_context *ctx;
    ncoll_error error;
    bool written = true;

    own.log = failure_log;
    int status = ncoll_context_create(&own, &ctx, &error);
    if (status != NCOLL_OK) {
        failure_report(&error);
        return EXIT_FAILURE;
    }
    status = run_all(options, ctx, clock, &written);
    ncoll_context_destroy(ctx);
    return status == NCOLL_OK && written ? EXIT_SUCCESS : EXIT_FAILURE;
}
