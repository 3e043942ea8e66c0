/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank of a batch of programs. It gets a new context now and then, of other settings. */
#include <stdio.h>

#include "lib/base/group.h"
#include "lib/inspect.h"
#include "programs.h"
#include "test/support/accused.h"
#include "test/support/late.h"

/* The random numbers of the context that may begin with a program. Whether one does. */
static bool begins(const struct job *job, uint64_t number, struct random *common)
{
    *common = random_stream(~job->seed, number);
    return random_below(common, 4) == 0 || number % BATCH == 0 || job->leaves;
}

uint64_t programs_context_of(const struct job *job, uint64_t number)
{
    struct random common;

    while (!begins(job, number, &common))
        number--;
    return number;
}

bool programs_context_ends(const struct job *job, uint64_t number)
{
    struct random common;

    return begins(job, number + 1, &common);
}

/* Nodes that the library is made to see, as if messages between them were dear: what is chosen then
 * goes by nodes. */
static const char *const pretended[] = {NULL, NULL, "0,0,1,1", "0,1,1", "0,1", "0,0,1,2,1,1,0,3"};

static void make_dear(ncoll_context *ctx, struct random *common)
{
    struct transport *t = ctx->transport;

    t->near_cost = t->cost;
    t->cost.latency_ns = 1e6;
    if (random_below(common, 2) == 0) /* else it pays to send more of them at once */
        t->cost.message_ns = 1e6;
}

/* Lets runs use few slots, so that calls of some collectives are done in parts. */
static bool make_parts(ncoll_group *g, struct random *common)
{
    bool well = true;

    if (random_below(common, 2) == 0)
        well = ncoll__group_force(g, COLL_ALLGATHER, "ring", 0) == NCOLL_OK;
    for (enum collective c = COLL_BARRIER; well && c < COLLECTIVES; c++)
        well = ncoll__group_force_slots(g, c, 1 + (unsigned)random_below(common, 12)) == NCOLL_OK;
    return well;
}

static bool renew(struct actor *a, struct random *common)
{
    static const size_t windows[] = {0, 0, (size_t)256 << 10, (size_t)1 << 20};
    ncoll_params params = a->params;
    ncoll_error error;

    ncoll_context_destroy(a->ctx);
    a->ctx = NULL;
    if (a->accused)
        return false;
    accused_watch(&params, &a->accused);

    size_t window = windows[random_below(common, 4)];
    params.window_bytes = window != 0 ? window : params.window_bytes;
    params.radix = random_below(common, 4) == 0 ? 1 + (int)random_below(common, 4) : params.radix;
    params.any_order = random_below(common, 4) == 0;
    params.tune = random_below(common, 8) == 0 ? NCOLL_TUNE_TRIAL : NCOLL_TUNE_TABLE;
    params.nodes = pretended[random_below(common, 6)];
    if (ncoll_context_create(&params, &a->ctx, &error) != NCOLL_OK) {
        if (!programs_excused(a->job, &error)) {
            fprintf(stderr, "%s\n", error.text);
            atomic_fetch_add(&a->tally->wrong, 1);
        }
        return false;
    }
    a->world = ncoll_world(a->ctx);
    a->any_order = params.any_order;
    if (params.nodes != NULL)
        make_dear(a->ctx, common);
    if (a->job->late)
        late_install(a->ctx, random_next(common) + (unsigned)a->rank);
    if (a->rank == 0)
        atomic_fetch_add(&a->tally->contexts, 1);
    if (random_below(common, 3) == 0 && !make_parts(a->world, common))
        return false;
    return repertoire_open(&a->repertoire, a->ctx) == NCOLL_OK;
}

int programs_rank(const ncoll_params *params, void *arg)
{
    const struct job *job = arg;
    struct actor a = {.job = job,
                      .tally = job->tally,
                      .params = *params,
                      .rank = params->rank,
                      .ranks = params->ranks};
    bool well = true;

    for (uint64_t number = job->first; well && number < job->end; number++) {
        struct random common;
        if (begins(job, number, &common))
            well = renew(&a, &common);
        well = well && program_run(&a, number);
    }
    ncoll_context_destroy(a.ctx);
    return well && !a.accused ? 0 : 1;
}
