/* SPDX-License-Identifier: BSD-3-Clause */
/* The stale-synchronous allreduce, with slack 0, 1 and 4. */
#include "ncoll_eventual.h"
#include "tools/bench/bench.h"

#define MOST_SLACK 4

static int make(struct job *job, const struct row *row)
{
    const ncoll_stale_params params = {.size = sizeof params, .max_slack = MOST_SLACK};

    return ncoll_stale_create(job->world, &params, row->count, job->options->type, job->options->op,
                              &job->stale, NCOLL_BLOCK);
}

static int drop(struct job *job, const struct row *row)
{
    (void)row;
    return ncoll_stale_free(&job->stale, NCOLL_BLOCK);
}

/* Ranks get different results, of different calls. */
static bool is_unknown(const struct job *job, const struct row *row)
{
    (void)job, (void)row;
    return false;
}

#define SLACK(number)                                                                              \
    static int once_##number(struct job *job, const struct row *row)                               \
    {                                                                                              \
        return ncoll_allreduce_ssp(job->stale, job->in, job->out, row->count, job->options->type,  \
                                   job->options->op, number, NULL, NCOLL_BLOCK);                   \
    }                                                                                              \
    const struct subject subject_slack##number = {                                                 \
        .name = "slack" #number,                                                                   \
        .label = "slack " #number,                                                                 \
        .codes = 1u << COLL_ALLREDUCE,                                                             \
        .any = once_##number,                                                                      \
        .begin = make,                                                                             \
        .end = drop,                                                                               \
        .expect = (number) > 0 ? is_unknown : NULL,                                                \
    }

SLACK(0);
SLACK(1);
SLACK(4);
