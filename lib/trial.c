/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first-call trial (End et al., INFOCOMP 2015, section V): before the first call of a kind, run
 * it 15 times with each n = 1..7, time it, and keep the n with the lowest mean for all later calls.
 *
 * The paper leaves open how the ranks agree: here they take, for each n, the largest mean of any
 * rank (an allreduce of the seven numbers) and then the least of these. One run more comes before
 * each 15, not timed, in which the peers of that n are connected. The runs read the caller's vector
 * and write to a buffer of their own, so the call may be in place; an n that does not exist for
 * this algorithm and size is passed over.
 */
#include <string.h>

#include "lib/inspect.h"
#include "lib/internal.h"

#define TRIAL_RADIX 7u
#define TRIAL_RUNS  15u

struct trial {
    struct call_args args; /* the call that waits */
    unsigned char *out;    /* where the runs put their results */
    unsigned radix;        /* of the run that is going on; 1 while agreeing */
    unsigned run;          /* 0: not timed */
    bool agreeing;
    uint64_t started_ns;
    double mean_ns[TRIAL_RADIX], agreed_ns[TRIAL_RADIX]; /* of n = index + 1 */
};

unsigned ncoll__trial_radix(const struct ncoll_group *g)
{
    return g->trial->radix;
}

bool ncoll__trial_agrees(const struct ncoll_group *g)
{
    return g->trial != NULL && g->trial->agreeing;
}

const struct call_args *ncoll__trial_args(const struct ncoll_group *g)
{
    return &g->trial->args;
}

void ncoll__trial_free(struct ncoll_group *g)
{
    if (g->trial == NULL)
        return;
    ncoll__release(g->ctx, g->trial->out);
    ncoll__release(g->ctx, g->trial);
    g->trial = NULL;
    ncoll__plans_free(g);
}

static int launch_run(struct ncoll_group *g)
{
    struct trial *t = g->trial;
    struct call_args args = t->args;

    if (args.count > 0)
        args.out = t->out;
    t->started_ns = ncoll__now_ns(g->ctx);
    return ncoll__call_launch(g, &args);
}

static bool exists(struct ncoll_group *g, unsigned radix)
{
    struct choice choice;
    const struct call_args *a = &g->trial->args;

    g->trial->radix = radix;
    return ncoll__choose(g, a->collective, a->count, a->type, a->op, &choice) == NCOLL_OK;
}

/* The next n that exists, from `radix` on; past the last one the ranks agree. */
static int next_radix(struct ncoll_group *g, unsigned radix)
{
    struct trial *t = g->trial;

    ncoll__plans_free(g);
    t->run = 0;
    for (; radix <= TRIAL_RADIX; radix++) {
        if (exists(g, radix))
            return launch_run(g);
        t->mean_ns[radix - 1] = 1e30;
    }
    t->radix = 1;
    t->agreeing = true;
    struct call_args args = {.collective = COLL_ALLREDUCE,
                             .in = t->mean_ns,
                             .out = t->agreed_ns,
                             .count = TRIAL_RADIX,
                             .type = NCOLL_DOUBLE,
                             .op = NCOLL_MAX};
    return ncoll__call_launch(g, &args);
}

int ncoll__trial_start(struct ncoll_group *g, const struct call_args *args)
{
    struct ncoll_context *ctx = g->ctx;
    struct trial *t = ncoll__allocate(ctx, sizeof *t);

    if (t != NULL)
        t->out = ncoll__allocate(ctx, args->count * ncoll_context_type_size(ctx, args->type));
    if (t == NULL || t->out == NULL) {
        ncoll__release(ctx, t);
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, "unset NCOLL_TRIAL",
                           "no memory for the trial of n = 1..%u", TRIAL_RADIX);
    }
    t->args = *args;
    g->trial = t;
    int rc = next_radix(g, 1);
    if (rc != NCOLL_OK)
        ncoll__trial_free(g);
    return rc;
}

static int finish(struct ncoll_group *g)
{
    struct trial *t = g->trial;
    struct call_args args = t->args;
    unsigned best = 0;

    for (unsigned i = 1; i < TRIAL_RADIX; i++)
        if (t->agreed_ns[i] < t->agreed_ns[best])
            best = i;
    g->tried[args.collective] = best + 1;
    ncoll__log(g->ctx, NCOLL_LOG_INFO, "trial: n = %u is fastest, %.2f us", best + 1,
               t->agreed_ns[best] / 1e3);
    ncoll__trial_free(g);
    return ncoll__call_launch(g, &args);
}

int ncoll__trial_next(struct ncoll_group *g)
{
    struct trial *t = g->trial;

    if (t->agreeing)
        return finish(g);
    if (t->run > 0)
        t->mean_ns[t->radix - 1] += (double)(ncoll__now_ns(g->ctx) - t->started_ns) / TRIAL_RUNS;
    if (t->run++ < TRIAL_RUNS)
        return launch_run(g);
    return next_radix(g, t->radix + 1);
}
