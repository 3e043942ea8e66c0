/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "tools/bench/failure.h"
#include "tools/cg/cg.h"

/* Libraries take turns, so that what else goes on in the machine hits them alike. */
static int solve_all(struct problem *p, const struct cg_options *options, struct run *runs,
                     unsigned n_runs)
{
    int status = NCOLL_OK;

    for (unsigned repeat = 0; repeat < options->repeats; repeat++)
        for (unsigned i = 0; i < n_runs && status == NCOLL_OK; i++)
            status = solve(p, options, &runs[(i + repeat) % n_runs]);
    return status;
}

static int run_all(struct problem *p, const struct cg_options *options,
                   const struct comm *const *libraries, bool *written)
{
    struct run runs[CG_LIBRARIES] = {0};
    unsigned n_runs = 0, opened = 0;
    int status = NCOLL_OK;

    for (unsigned i = 0; i < CG_LIBRARIES; i++)
        if (options->with[i])
            runs[n_runs++].comm = libraries[i];
    while (opened < n_runs && status == NCOLL_OK) {
        status = runs[opened].comm->open(p, &runs[opened].state);
        opened += status == NCOLL_OK;
    }
    if (status == NCOLL_OK)
        status = solve_all(p, options, runs, n_runs);
    if (status == NCOLL_OK)
        status = cg_report(p, options, runs, n_runs, written);
    while (opened-- > 0) {
        runs[opened].comm->close(runs[opened].state);
        run_free(&runs[opened]);
    }
    return status;
}

int cg_rank(const ncoll_params *params, const struct cg_options *options,
            const struct comm *const *libraries)
{
    ncoll_params own = *params;
    ncoll_context *ctx;
    ncoll_error error;
    struct problem problem;
    bool written = true;

    own.log = failure_log;
    if (ncoll_context_create(&own, &ctx, &error) != NCOLL_OK) {
        failure_report(&error);
        return EXIT_FAILURE;
    }
    int status = problem_make(options, ctx, &problem);
    if (status == NCOLL_OK) {
        status = run_all(&problem, options, libraries, &written);
        problem_free(&problem);
    }
    /* A rank that left with a failure might have all of them killed before rank 0 has written. */
    if (status == NCOLL_OK)
        status = cg_say(ctx, ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK));
    ncoll_context_destroy(ctx);
    return status == NCOLL_OK && written ? EXIT_SUCCESS : EXIT_FAILURE;
}
