/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first-call trial (End et al., INFOCOMP 2015, section V): before the first call of a kind, run
 * it 15 times with each n = 1..7, time it, and keep the n with the lowest mean for all later calls.
 *
 * The paper leaves open how the ranks agree. Here they take the largest mean of any rank for each n
 * (an allreduce of the seven numbers), and then the n with the lowest of these. Before each 15 runs
 * there is one that is not timed, in which the peers of that n are connected. The runs read the
 * caller's vector and write to a separate buffer, so the call may be in place. A value of n that
 * does not exist for this algorithm and size is skipped.
 *
 * All these runs are queued in front of the call, and each runs alone. The result is written to the
 * tuning table if a file is named.
 */
#include <string.h>

#include "lib/run/call.h"
#include "lib/run/hooked.h"
#include "lib/inspect.h"
#include "lib/plan/arguments.h"
#include "lib/plan/plan.h"
#include "lib/choose/fit.h"
#include "lib/choose/select.h"
#include "lib/choose/planned.h"
#include "lib/choose/ruled.h"
#include "lib/choose/tune.h"

#define TRIAL_RADIX 7u
#define TRIAL_RUNS  15u

struct trial {
    enum collective collective;
    double mean_ns[TRIAL_RADIX], agreed_ns[TRIAL_RADIX]; /* index n - 1 */
    unsigned char *out;                                  /* output buffer of the trial's runs */
    /* number of calls of the trial that have not ended */
    unsigned users;
    struct call agree;
    struct call runs[TRIAL_RADIX * (TRIAL_RUNS + 1)];
};

/* True if no trial is needed for the call: a rule applies to it, or the tuning table has an entry
 * for it and may choose. */
static bool is_tuned(const struct ncoll_group *g, const struct call_args *args)
{
    struct op op = {0};

    if (ncoll__is_asked(g, args))
        return false;
    if (reduces(args->collective) &&
        ncoll__op_resolve(g->ctx, args->op, args->type, &op) != NCOLL_OK)
        return false;
    size_t bytes = args->count * ncoll__element_bytes(g->ctx, args);
    return ncoll__rule_for(g, args, &op, bytes) != NULL ||
           ncoll__tuned(g, args, &op, bytes) != NULL;
}

bool ncoll__trial_wanted(const struct ncoll_group *g, const struct call_args *args)
{
    return g->ctx->settings.tune == NCOLL_TUNE_TRIAL && g->size > 1 && ncoll__trial_is_for(args) &&
           g->tried[args->collective] == 0 && !is_tuned(g, args);
}

static void leave(struct ncoll_group *g, struct trial *t)
{
    if (--t->users > 0)
        return;
    g->trials[t->collective] = NULL;
    ncoll__release(g->ctx, t->out);
    ncoll__release(g->ctx, t);
}

static void run_ended(struct ncoll_group *g, struct call *c)
{
    struct trial *t = c->arg;
    size_t run = (size_t)(c - t->runs) % (TRIAL_RUNS + 1);

    if (run > 0) /* the first run connects peers and is not timed */
        t->mean_ns[c->args.radix - 1] +=
            (double)(ncoll__now_ns(g->ctx) - c->started_ns) / TRIAL_RUNS;
    leave(g, t);
}

static int note_start(struct ncoll_group *g, struct call *c)
{
    int rc = ncoll__plan(g, &c->args, 0, &c->plan);
    c->started_ns = ncoll__now_ns(g->ctx);
    return rc;
}

static void agreed(struct ncoll_group *g, struct call *c)
{
    struct trial *t = c->arg;
    unsigned best = 0;

    for (unsigned i = 1; i < TRIAL_RADIX; i++)
        if (t->agreed_ns[i] < t->agreed_ns[best])
            best = i;
    if (c->status == NCOLL_OK) {
        g->tried[t->collective] = best + 1;
        ncoll__tune_found(g, &t->runs[best * (TRIAL_RUNS + 1)].args, t->agreed_ns[best]);
        ncoll__log(g->ctx, NCOLL_LOG_INFO, "trial: n = %u is fastest, %.2f us", best + 1,
                   t->agreed_ns[best] / 1e3);
    }
    leave(g, t);
}

/* Plans a call that has waited for the trial, or the allreduce by which ranks agree on its
 * result. */
static int prepare(struct ncoll_group *g, struct call *c)
{
    int rc = ncoll__plan(g, &c->args, 0, &c->plan);
    ncoll__hooked_planned(c);
    return rc;
}

static bool exists(struct ncoll_group *g, const struct call_args *args)
{
    struct op op = {0};
    struct choice choice;

    return (!reduces(args->collective) ||
            ncoll__op_resolve(g->ctx, args->op, args->type, &op) == NCOLL_OK) &&
           ncoll__select(g, args, &op, 0, &choice) == NCOLL_OK;
}

static void queue_runs(struct ncoll_group *g, struct trial *t, struct call_args args)
{
    if (args.count > 0)
        args.out = t->out;
    for (args.radix = 1; args.radix <= TRIAL_RADIX; args.radix++) {
        if (!exists(g, &args)) {
            t->mean_ns[args.radix - 1] = 1e30;
            continue;
        }
        for (unsigned i = 0; i <= TRIAL_RUNS; i++) {
            struct call *run = &t->runs[(args.radix - 1) * (TRIAL_RUNS + 1) + i];
            *run = (struct call){
                .args = args, .alone = true, .prepare = note_start, .ended = run_ended, .arg = t};
            t->users++;
            ncoll__call_queue(g, run);
        }
    }
    t->agree = (struct call){.args = {.collective = COLL_ALLREDUCE,
                                      .in = t->mean_ns,
                                      .out = t->agreed_ns,
                                      .count = TRIAL_RADIX,
                                      .type = NCOLL_DOUBLE,
                                      .op = NCOLL_MAX,
                                      .radix = 1,
                                      .internal = true},
                             .alone = true,
                             .prepare = prepare,
                             .ended = agreed,
                             .arg = t};
    t->users++;
    ncoll__call_queue(g, &t->agree);
}

int ncoll__trial_first(struct ncoll_group *g, struct call *c)
{
    struct ncoll_context *ctx = g->ctx;
    const struct call_args *args = &c->args;

    c->alone = true;
    c->prepare = prepare;
    if (g->trials[args->collective] != NULL)
        return NCOLL_OK;
    struct trial *t = ncoll__allocate(ctx, sizeof *t);
    if (t != NULL)
        t->out = ncoll__allocate(ctx, args->count * ncoll_context_type_size(ctx, args->type) + 1);
    if (t == NULL || t->out == NULL) {
        ncoll__release(ctx, t);
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, "set NCOLL_TUNE=table",
                           "no memory for the trial of n = 1..%u", TRIAL_RADIX);
    }
    t->collective = args->collective;
    g->trials[t->collective] = t;
    queue_runs(g, t, *args);
    return NCOLL_OK;
}
