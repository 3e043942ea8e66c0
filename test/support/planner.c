/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/planner.h"

#include <stdlib.h>

#include "lib/group/creation.h"
#include "lib/topology/places.h"
#include "lib/group/wiring.h"

struct planner {
    struct ncoll_context ctx;
    struct transport transport;
};

/* ------------------------------------------------------------------ a transport of nothing ---- */

static int window_create(struct transport *t, const struct window_shape *shape, struct window **out)
{
    (void)t;
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return NCOLL_ERR_MEMORY;
    (*out)->shape = *shape;
    return NCOLL_OK;
}

static void window_destroy(struct transport *t, struct window *w, bool quiet)
{
    (void)t, (void)quiet;
    free(w);
}

static struct endpoint *endpoint(struct transport *t, int rank)
{
    (void)t, (void)rank;
    return NULL;
}

static const struct transport_ops ops = {
    .name = "nothing",
    .window_create = window_create,
    .window_destroy = window_destroy,
    .endpoint = endpoint,
};

/* The costs of transports, as transport/ states them. */
static const struct transport fabrics[] = {
    [PLANNER_SHM] = {.sends_any_memory = true,
                     .shares_windows = true,
                     .peer_reads = true,
                     .cached_bytes = (size_t)1 << 20,
                     .cost = {45, 18, 0.1}},
    [PLANNER_VERBS] = {.cost = {1500, 200, 0.1}},
    [PLANNER_SOFT_VERBS] = {.cost = {4000, 8000, 3.2}},
    [PLANNER_BOTH] = {.sends_any_on_node = true,
                      .shares_windows = true,
                      .peer_reads = true,
                      .cost = {1500, 200, 0.1},
                      .near_cost = {45, 18, 0.1}},
};

/* ------------------------------------------------------------------ a rank -------------------- */

static void say_nothing(void *arg, ncoll_log_level level, const char *text)
{
    (void)arg, (void)level, (void)text;
}

static unsigned node_of_rank(const struct planner_job *job, unsigned r)
{
    if (job->per_node == 0)
        return 0;
    return job->in_turn ? r % ((job->ranks + job->per_node - 1) / job->per_node)
                        : r / job->per_node;
}

struct planner *planner_new(const struct planner_job *job)
{
    struct planner *p = calloc(1, sizeof *p);

    if (p == NULL)
        return NULL;
    p->transport = fabrics[job->fabric];
    p->transport.ops = &ops;
    struct ncoll_context *ctx = &p->ctx;
    ncoll_params_init(&ctx->settings, sizeof ctx->settings);
    ctx->settings.log = say_nothing;
    ctx->settings.tune = NCOLL_TUNE_OFF;
    ctx->settings.allocate = job->allocate;
    ctx->settings.release = job->release;
    ctx->settings.allocate_arg = job->allocate_arg;
    if (job->without_peer_reads)
        ctx->settings.show_bytes = 0;
    ctx->magic = CONTEXT_MAGIC;
    ctx->transport = &p->transport;
    ctx->rank = (int)job->rank;
    ctx->ranks = (int)job->ranks;
    ctx->places.ranks_per_core = job->ranks_per_core > 0 ? job->ranks_per_core : 1;
    ctx->peers = ncoll__allocate(ctx, job->ranks * sizeof *ctx->peers);
    if (ctx->peers == NULL) {
        free(p);
        return NULL;
    }
    for (unsigned r = 0; r < job->ranks; r++)
        ctx->peers[r].node = 1 + node_of_rank(job, r);
    if (ncoll__world_create(ctx) != NCOLL_OK) {
        planner_free(p);
        return NULL;
    }
    return p;
}

ncoll_group *planner_world(struct planner *p)
{
    return p->ctx.world;
}

const char *planner_error(struct planner *p)
{
    return p->ctx.error.text;
}

void planner_free(struct planner *p)
{
    if (p == NULL)
        return;
    ncoll__groups_free(&p->ctx);
    ncoll__release(&p->ctx, p->ctx.peers);
    free(p);
}
