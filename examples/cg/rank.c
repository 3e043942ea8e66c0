/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "cg.h"

/* One context has the tuning of the job; with --untuned a second one has no tuning table. */
struct job {
    ncoll_context *ctx[2];
    struct problem problems[2];
    unsigned n_ctx, n_problems;
};

/* Lets the runs take turns, so that other work on the machine affects all of them alike. */
static int solve_all(const struct cg_options *options, struct run *runs, unsigned n_runs)
{
    int status = NCOLL_OK;

    for (unsigned repeat = 0; repeat < options->repeats; repeat++)
        for (unsigned i = 0; i < n_runs && status == NCOLL_OK; i++)
            status = solve(options, &runs[(i + repeat) % n_runs]);
    return status;
}

static unsigned runs_of(struct job *job, const struct cg_options *options,
                        const struct comm *const *libraries, struct run *runs)
{
    static const char *const names[CG_LIBRARIES] = {"ncoll", "mpi"};
    unsigned n = 0;

    for (unsigned i = 0; i < CG_LIBRARIES; i++)
        if (options->with[i])
            runs[n++] =
                (struct run){.name = names[i], .comm = libraries[i], .problem = &job->problems[0]};
    if (options->untuned)
        runs[n++] =
            (struct run){.name = "untuned", .comm = libraries[0], .problem = &job->problems[1]};
    return n;
}

static int run_all(struct job *job, const struct cg_options *options,
                   const struct comm *const *libraries, bool *written)
{
    struct run runs[CG_RUNS] = {0};
    unsigned n_runs = runs_of(job, options, libraries, runs), opened = 0;
    int status = NCOLL_OK;

    while (opened < n_runs && status == NCOLL_OK) {
        status = runs[opened].comm->open(runs[opened].problem, &runs[opened].state);
        opened += status == NCOLL_OK;
    }
    if (status == NCOLL_OK)
        status = solve_all(options, runs, n_runs);
    if (status == NCOLL_OK)
        status = cg_report(options, runs, n_runs, written);
    while (opened-- > 0) {
        runs[opened].comm->close(runs[opened].state);
        run_free(&runs[opened]);
    }
    return status;
}

/* Joins the job. The untuned context has its own choice of algorithms; variables of the environment
 * take precedence over it. */
static int join(const ncoll_params *params, bool untuned, ncoll_context **out)
{
    const char *said = getenv("NCOLL_TUNE");
    char *before = said != NULL ? strdup(said) : NULL;
    ncoll_params own = *params;
    ncoll_error error;

    own.log = failure_log;
    if (untuned)
        setenv("NCOLL_TUNE", "off", 1);
    int status = ncoll_context_create(&own, out, &error);
    if (untuned && before != NULL)
        setenv("NCOLL_TUNE", before, 1);
    else if (untuned)
        unsetenv("NCOLL_TUNE");
    free(before);
    if (status != NCOLL_OK)
        failure_report(&error);
    return status;
}

static int prepare(struct job *job, const ncoll_params params[2], const struct cg_options *options)
{
    unsigned wanted = options->untuned ? 2 : 1;
    int status = NCOLL_OK;

    while (job->n_ctx < wanted && status == NCOLL_OK) {
        status = join(&params[job->n_ctx], job->n_ctx > 0, &job->ctx[job->n_ctx]);
        job->n_ctx += status == NCOLL_OK;
    }
    while (job->n_problems < wanted && status == NCOLL_OK) {
        status = problem_make(options, job->ctx[job->n_problems], &job->problems[job->n_problems]);
        job->n_problems += status == NCOLL_OK;
    }
    return status;
}

int cg_rank(const ncoll_params params[2], const struct cg_options *options,
            const struct comm *const *libraries)
{
    struct job job = {0};
    bool written = true;
    int status = prepare(&job, params, options);

    if (status == NCOLL_OK)
        status = run_all(&job, options, libraries, &written);
    while (job.n_problems > 0)
        problem_free(&job.problems[--job.n_problems]);
    /* If a rank left with a failure now, the launcher might kill all ranks before rank 0 has
     * written. */
    if (status == NCOLL_OK)
        status = failure_of_call(job.ctx[0], ncoll_barrier(ncoll_world(job.ctx[0]), NCOLL_BLOCK));
    while (job.n_ctx > 0)
        ncoll_context_destroy(job.ctx[--job.n_ctx]);
    return status == NCOLL_OK && written ? EXIT_SUCCESS : EXIT_FAILURE;
}
