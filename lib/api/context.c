/* SPDX-License-Identifier: BSD-3-Clause */
/* A context's life, its operations, its statistics. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/call/call.h"
#include "lib/failure/card.h"
#include "lib/failure/failure.h"
#include "lib/group/join.h"
#include "lib/inspect.h"
#include "lib/internal.h"
#include "lib/tune/tune.h"
#include "lib/memory/memory.h"

/* Nobody has a context before everybody can be reached. */
static int first_barrier(struct ncoll_context *ctx)
{
    int rc = ncoll__first_barrier(ctx->world, ctx->settings.bootstrap_timeout_ns);
    return rc == NCOLL_TIMEOUT ? ncoll__nobody_came(ctx) : rc;
}

/* ------------------------------------------------------------------ context ------------------- */

static void context_free(struct ncoll_context *ctx)
{
    ctx->magic = 0;
    ncoll__groups_free(ctx);
    ncoll__memories_free(ctx);
    ncoll__leave(ctx);
    for (struct ncoll_request *r = ctx->requests, *next; r != NULL; r = next) {
        next = r->next;
        ncoll__release(ctx, r);
    }
    ncoll__release(ctx, ctx->ops.defs);
    ncoll__release(ctx, ctx->types.sizes);
    ncoll__tune_keep(ctx);
    ncoll__tune_forget(ctx);
    ncoll__configure_free(ctx);

    ncoll_params settings = ctx->settings;
    if (settings.release != NULL)
        settings.release(settings.allocate_arg, ctx);
    else
        free(ctx);
}

/* There will be no context: those that are connected already, or come to another exchange, hear
 * that this rank has failed, and of whom it has heard so itself. Otherwise they would take it for
 * one that has left. */
static void give_up(struct ncoll_context *ctx)
{
    ncoll_error own = ctx->error;

    ncoll__exchange_failure(ctx);
    if (ctx->bootstrap != NULL)
        ncoll__break_job(ctx);
    ctx->error = own;
}

int ncoll_context_create(const ncoll_params *params, ncoll_context **out, ncoll_error *error)
{
    struct ncoll_context early = {.rank = -1}; /* to report with, until there is a context */
    struct ncoll_context *ctx = &early;
    int rc;

    ncoll_params_init(&early.settings, sizeof early.settings);
    if (out == NULL) {
        rc = ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "pass where the context is to go",
                         "ctx is NULL");
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
    ctx->pid = getpid();
    if ((rc = ncoll__configure(ctx)) != NCOLL_OK || (rc = ncoll__join(ctx, params)) != NCOLL_OK ||
        (rc = ncoll__meet(ctx)) != NCOLL_OK || (rc = first_barrier(ctx)) != NCOLL_OK)
        goto report;
    ctx->magic = CONTEXT_MAGIC;
    ctx->error = (ncoll_error){.rank = ctx->rank, .peer = -1};
    *out = ctx;
    if (error != NULL)
        *error = ctx->error;
    return NCOLL_OK;

report:
    give_up(ctx);
    if (error != NULL)
        *error = ctx->error;
    if (ctx != &early)
        context_free(ctx);
    return rc;
}

void ncoll_context_destroy(ncoll_context *ctx)
{
    /* A child shares the memory that peers see, and would leave in the name of its parent. */
    if (ctx == NULL || ctx->magic != CONTEXT_MAGIC || ctx->pid != getpid())
        return;
    ncoll__quit(ctx);
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
        .huge_bytes = ctx->memories.huge_bytes,
        .landed_bytes = ctx->landed_bytes,
        .shown_bytes = ctx->shown_bytes,
        .lent_bytes = ctx->lent_bytes,
    };
    return NCOLL_OK;
}

/* Connects ranks 2i and 2i+1 to each other. */
static int wire_pair(struct ncoll_group *g, unsigned peer)
{
    struct call *exchange = &g->wiring.exchange;
    struct card card = ncoll__card(&(struct card_fields){.collective = COLL_BARRIER});

    int rc =
        ncoll__wiring_start(g, NULL, &peer, 1, 2 * EPOCHS, ncoll__card_with(card, ERRAND_WIRE));
    if (rc == NCOLL_OK)
        rc = ncoll__call_drive(g, exchange, NCOLL_BLOCK);
    while (rc == NCOLL_OK && (rc = ncoll__wiring_test(g)) == NCOLL_TIMEOUT) {
        ncoll__check(g, ncoll__now_ns(g->ctx));
        if ((rc = ncoll__failure(g->ctx)) != NCOLL_OK)
            return rc;
    }
    return rc;
}

int ncoll__raw_exchange(ncoll_group *g, unsigned writes, size_t len_bytes, unsigned iterations,
                        uint64_t *samples_ns)
{
    struct transport *t = g->ctx->transport;
    unsigned peer = (unsigned)g->rank ^ 1;

    if (g->size % 2 != 0 || t->ops->raw_exchange == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_UNSUPPORTED, -1, "use an even number of ranks",
                           "there is no bare exchange for %d ranks", g->size);
    if (!g->paired) {
        int rc = wire_pair(g, peer);
        if (rc != NCOLL_OK)
            return rc;
        g->paired = true;
    }
    /* Data goes where that of calls lies, which others may not have read yet. */
    int rc = len_bytes > 0 ? ncoll_barrier(g, NCOLL_BLOCK) : NCOLL_OK;
    if (rc == NCOLL_OK)
        rc = t->ops->raw_exchange(t, g->window, t->ops->endpoint(t, ncoll__world_rank(g, peer)),
                                  writes, len_bytes, iterations, samples_ns);
    if (rc == NCOLL_OK && len_bytes > 0)
        rc = ncoll_barrier(g, NCOLL_BLOCK);
    return rc;
}
