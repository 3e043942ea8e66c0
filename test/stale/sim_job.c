/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/stale/sim_job.h"

#include <stdio.h>

void sim_job_config(const struct job *job, struct sim_config *out)
{
    struct random random = random_stream(job->seed, 78);
    bool rough = random_below(&random, 2) > 0;

    *out = (struct sim_config){
        .ranks = job->ranks,
        .node_ranks = 1 + (int)random_below(&random, 4),
        .seed = job->seed,
        .limit_ns = UINT64_C(10000000000),
        .jitter_ns = random_below(&random, 3) * 3000,
        .slow_one_in = rough ? 8 : 0,
        .slow_ns = 20000,
        .pause_one_in = rough && random_below(&random, 2) > 0 ? 500 : 0,
        .pause_ns = 100000,
        .refuse_one_in = rough && random_below(&random, 2) > 0 ? 20 : 0,
        .depth = random_below(&random, 3) > 0 ? 0 : 2,
    };
}

static int body(const ncoll_params *params, void *arg)
{
    ncoll_context *ctx = NULL;
    ncoll_error error;
    int code = 1;

    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK)
        fprintf(stderr, "%s\n", error.text);
    else
        code = job_rank(arg, ctx, params->rank, params->ranks);
    ncoll_context_destroy(ctx);
    return code;
}

bool sim_job_run(struct job *job)
{
    struct sim_config config;
    struct sim_report report;

    sim_job_config(job, &config);
    job->sleep = sim_sleep;
    return sim_run(&config, NULL, body, job, &report) && !job->failed;
}
