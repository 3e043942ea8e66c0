/* SPDX-License-Identifier: BSD-3-Clause */
/* A context's life, its world group, its operations, its statistics. */
#include <stdlib.h>
#include <string.h>

#include "lib/card.h"
#include "lib/inspect.h"
#include "lib/internal.h"

#define WORLD_ID  0u
#define SLOTS_MIN 128u

/* ------------------------------------------------------------------ groups -------------------- */

/* Slots for the schedules that use the most: a message or two from everybody. */
static unsigned slots_for(int ranks)
{
    unsigned wish = 2 * (unsigned)ranks;
    return wish < SLOTS_MIN ? SLOTS_MIN : wish > SLOTS_MAX ? SLOTS_MAX : wish;
}

static int world_create(struct ncoll_context *ctx)
{
    struct transport *t = ctx->transport;
    struct ncoll_group *g = ncoll__allocate(ctx, sizeof *g);
    size_t part = ctx->settings.window_bytes / EPOCHS / 64 * 64, size = (size_t)ctx->ranks;
    struct window_shape shape = {
        .id = WORLD_ID,
        .rank = (unsigned)ctx->rank,
        .ranks = (unsigned)ctx->ranks,
        .n_slots = slots_for(ctx->ranks),
        .bulk_bytes = part,
        .scratch_bytes = part,
    };

    if (g == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for the world group");
    int rc = t->ops->window_create(t, &shape, &g->window);
    if (rc != NCOLL_OK) {
        ncoll__release(ctx, g);
        return rc;
    }
    g->magic = GROUP_MAGIC;
    g->ctx = ctx;
    g->rank = ctx->rank;
    g->size = ctx->ranks;
    g->next_epoch = 1;
    ctx->world = g;
    g->near = ncoll__allocate(ctx, size * sizeof *g->near);
    g->credits.told = ncoll__allocate(ctx, size * sizeof(uint64_t));
    g->credits.heard = ncoll__allocate(ctx, size * sizeof(uint64_t));
    if (g->near == NULL || g->credits.told == NULL || g->credits.heard == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for the world group");
    return NCOLL_OK;
}

static void world_free(struct ncoll_context *ctx)
{
    struct ncoll_group *g = ctx->world;

    if (g == NULL)
        return;
    ncoll__calls_free(g);
    ncoll__plans_free(g);
    ctx->transport->ops->window_destroy(ctx->transport, g->window);
    g->magic = 0;
    ncoll__release(ctx, g->wired);
    ncoll__release(ctx, g->near);
    ncoll__release(ctx, g->credits.told);
    ncoll__release(ctx, g->credits.heard);
    ncoll__release(ctx, g);
    ctx->world = NULL; /* peers may still report something while this rank leaves */
}

ncoll_group *ncoll_world(ncoll_context *ctx)
{
    return ctx != NULL && ctx->magic == CONTEXT_MAGIC ? ctx->world : NULL;
}

int ncoll_group_rank(const ncoll_group *group)
{
    return group != NULL && group->magic == GROUP_MAGIC ? group->rank : -1;
}

int ncoll_group_size(const ncoll_group *group)
{
    return group != NULL && group->magic == GROUP_MAGIC ? group->size : -1;
}

/* Nobody has a context before everybody can be reached. */
static int meet(struct ncoll_context *ctx)
{
    int rc = ncoll__first_barrier(ctx->world, ctx->settings.bootstrap_timeout_ns);
    return rc == NCOLL_TIMEOUT ? ncoll__nobody_came(ctx) : rc;
}

/* ------------------------------------------------------------------ context ------------------- */

static void context_free(struct ncoll_context *ctx)
{
    ctx->magic = 0;
    world_free(ctx);
    ncoll__memories_free(ctx);
    ncoll__leave(ctx);
    ncoll__release(ctx, ctx->wiring.peers);
    ncoll__release(ctx, ctx->ops.defs);
    ncoll__release(ctx, ctx->types.sizes);
    ncoll__configure_free(ctx);

    ncoll_params settings = ctx->settings;
    if (settings.release != NULL)
        settings.release(settings.allocate_arg, ctx);
    else
        free(ctx);
}

int ncoll_context_create(const ncoll_params *params, ncoll_context **out, ncoll_error *error)
{
    struct ncoll_context early = {.rank = -1}; /* to report with, until there is a context */
    struct ncoll_context *ctx = &early;
    int rc;

    ncoll_params_init(&early.settings, sizeof early.settings);
    if (out == NULL) {
        rc = ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, NULL, "ctx is NULL");
        goto report;
    }
    if ((rc = ncoll__configure_early(&early, params)) != NCOLL_OK)
        goto report;
    ctx = ncoll__allocate(&early, sizeof *ctx);
    if (ctx == NULL) {
        ctx = &early;
        rc = ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a context");
        goto report;
    }
    *ctx = early;
    if ((rc = ncoll__configure(ctx)) != NCOLL_OK || (rc = ncoll__join(ctx, params)) != NCOLL_OK ||
        (rc = world_create(ctx)) != NCOLL_OK || (rc = meet(ctx)) != NCOLL_OK)
        goto report;
    ctx->magic = CONTEXT_MAGIC;
    ctx->error = (ncoll_error){.rank = ctx->rank, .peer = -1};
    *out = ctx;
    if (error != NULL)
        *error = ctx->error;
    return NCOLL_OK;

report:
    if (error != NULL)
        *error = ctx->error;
    if (ctx != &early)
        context_free(ctx);
    return rc;
}

void ncoll_context_destroy(ncoll_context *ctx)
{
    if (ctx != NULL && ctx->magic == CONTEXT_MAGIC)
        context_free(ctx);
}

/* ------------------------------------------------------------------ operations ---------------- */

int ncoll_op_create(ncoll_context *ctx, const ncoll_op_def *def, ncoll_op *op)
{
    if (ctx == NULL || ctx->magic != CONTEXT_MAGIC)
        return NCOLL_ERR_HANDLE;
    if (def == NULL || op == NULL || def->size != sizeof *def || def->combine == NULL ||
        def->flags & ~(NCOLL_OP_COMMUTATIVE | NCOLL_OP_IDEMPOTENT))
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1,
                           "set size to sizeof(ncoll_op_def), combine, and known flags only",
                           "the operation is not defined well");
    struct op_table *t = &ctx->ops;
    if (t->count == OPS_MAX)
        return ncoll__fail(ctx, NCOLL_ERR_RESOURCE, -1, "create each operation once, and keep it",
                           "there are %u operations already", OPS_MAX);
    if (t->count == t->capacity) {
        unsigned capacity = t->capacity ? 2 * t->capacity : 8;
        ncoll_op_def *grown = ncoll__allocate(ctx, capacity * sizeof *grown);
        if (grown == NULL)
            return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for an operation");
        if (t->count > 0)
            memcpy(grown, t->defs, t->count * sizeof *grown);
        ncoll__release(ctx, t->defs);
        t->defs = grown;
        t->capacity = capacity;
    }
    t->defs[t->count] = *def;
    *op = OP_USER + t->count++;
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ inspection ---------------- */

int ncoll_context_stats(const ncoll_context *ctx, ncoll_stats *stats)
{
    struct transport_counters counters = {0};

    if (ctx == NULL || ctx->magic != CONTEXT_MAGIC)
        return NCOLL_ERR_HANDLE;
    if (stats == NULL || stats->size != sizeof *stats)
        return NCOLL_ERR_ARGUMENT;
    ctx->transport->ops->counters(ctx->transport, &counters);
    *stats = (ncoll_stats){
        .size = sizeof *stats,
        .transport = ctx->transport->ops->name,
        .bootstrap = ctx->bootstrap->ops->name,
        .wiring = ctx->transport->wiring,
        .rank = ctx->rank,
        .ranks = ctx->ranks,
        .nodes = ctx->places.nodes,
        .node_ranks = ctx->places.node_ranks,
        .connections = (int)counters.connections,
        .oversubscribed = ctx->places.oversubscribed,
        .puts = ctx->puts,
        .put_bytes = ctx->put_bytes,
        .rnr = counters.rnr,
        .sleeps = counters.sleeps,
        .exchanged_bytes = ctx->exchanged_bytes,
        .memory_bytes = counters.memory_bytes,
        .scratch_bytes = counters.scratch_bytes,
        .user_bytes = ctx->memories.bytes,
        .landed_bytes = ctx->landed_bytes,
    };
    return NCOLL_OK;
}

/* Connects ranks 2i and 2i+1 to each other. */
static int wire_pair(struct ncoll_group *g, int peer)
{
    int rc = ncoll__wiring_start(g, &peer, 1, 2 * EPOCHS, (struct card){0});
    while (rc == NCOLL_OK && (rc = ncoll__wiring_test(g)) == NCOLL_TIMEOUT) {
        ncoll__check(g, ncoll__now_ns(g->ctx));
        if ((rc = ncoll__failure(g->ctx)) != NCOLL_OK)
            return rc;
    }
    return rc;
}

int ncoll__raw_exchange(ncoll_group *g, unsigned iterations, uint64_t *samples_ns)
{
    struct transport *t = g->ctx->transport;
    int peer = g->rank ^ 1;

    if (g->size % 2 != 0 || t->ops->raw_exchange == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_UNSUPPORTED, -1, "use an even number of ranks",
                           "there is no bare exchange for %d ranks", g->size);
    if (!g->paired) {
        int rc = wire_pair(g, peer);
        if (rc != NCOLL_OK)
            return rc;
        g->paired = true;
    }
    return t->ops->raw_exchange(t, g->window, t->ops->endpoint(t, peer), iterations, samples_ns);
}
