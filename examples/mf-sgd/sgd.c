/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>

#include "../cg/support.h"
#include "mf.h"

/* Exchanges the updates, and notes what that took. */
static int exchange(struct exchange *e, struct problem *p, const struct mf_clock *clock,
                    struct moment *m)
{
    ncoll_stale_result result = {.size = sizeof result};
    uint64_t start_ns = clock->now_ns();
    int status = exchange_updates(e, p, &result);

    m->in_call_ns = clock->now_ns() - start_ns;
    m->waited_ns = result.waited_ns;
    m->behind = result.clock > result.min_clock ? result.clock - result.min_clock : 0;
    return status;
}

/*
 * Makes an iteration. It begins with the error of the model after the previous one, so that this
 * measurement counts as a part of the computation, and delays nothing if its time is given.
 */
static int iterate(const struct mf_options *options, struct problem *p, struct exchange *e,
                   const struct mf_clock *clock, uint64_t iteration, struct run *run)
{
    struct moment *before = &run->moments[iteration - 1];
    uint64_t start_ns = clock->now_ns();

    before->error = (uint64_t)model_error(&p->model, &p->test);
    if (!model_train(&p->model, &p->train, &options->steps, iteration))
        return failure_say(NCOLL_ERR_ARGUMENT,
                           "iteration %" PRIu64 " has diverged: lower --rate or --user-rate",
                           iteration);
    run->overruns += !pace_wait(&options->pace, clock, p->rank, iteration, start_ns);
    int status = exchange(e, p, clock, &run->moments[iteration]);
    if (status == NCOLL_OK)
        model_use(&p->model, e->updates);
    return status;
}

int sgd_run(const struct mf_options *options, struct problem *p, const struct mf_clock *clock,
            struct run *out)
{
    struct run run = {.moments = calloc(options->iterations + 1, sizeof *run.moments)};
    struct exchange e;

    if (run.moments == NULL)
        return failure_no_memory();
    int status = exchange_open(options, p, &e);
    if (status != NCOLL_OK) {
        run_free(&run);
        return status;
    }
    status = failure_of_call(p->ctx, ncoll_barrier(p->world, NCOLL_BLOCK));
    uint64_t start_ns = clock->now_ns();
    for (uint64_t k = 1; k <= options->iterations && status == NCOLL_OK; k++) {
        status = iterate(options, p, &e, clock, k, &run);
        run.moments[k].at_ns = clock->now_ns() - start_ns;
    }
    run.moments[options->iterations].error = (uint64_t)model_error(&p->model, &p->test);
    status = exchange_close(&e, p, status);
    if (status == NCOLL_OK)
        *out = run;
    else
        run_free(&run);
    return status;
}

void run_free(struct run *run)
{
    free(run->moments);
    *run = (struct run){0};
}
