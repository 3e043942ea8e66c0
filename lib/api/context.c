/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and destroys contexts, creates operations, and returns statistics. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/entry.h"
#include "lib/run/call.h"
#include "lib/run/hooked.h"
#include "lib/run/waiting.h"
#include "lib/base/signature.h"
#include "lib/watch/failure.h"
#include "lib/job/join.h"
#include "lib/inspect.h"
#include "lib/base/group.h"
#include "lib/base/trace.h"
#include "lib/choose/ruled.h"
#include "lib/choose/tune.h"
#include "lib/api/compressor.h"
#include "lib/api/configure.h"
#include "lib/group/wiring.h"
#include "lib/group/creation.h"
#include "lib/deliver/memory.h"

/* Makes sure that no rank returns from creation before all ranks can be reached. */
static int first_barrier(struct ncoll_context *ctx)
{
    char text[sizeof ctx->error.cause];
    int rc = ncoll__first_barrier(ctx->world, ctx->settings.bootstrap_timeout_ns);

    if (rc != NCOLL_TIMEOUT)
        return rc;
    int rank = ncoll__stall_text(ctx->world, text, sizeof text);
    return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_BOOTSTRAP, PEER_MISSING), rank,
                       "see that the rank still runs, or raise NCOLL_BOOTSTRAP_TIMEOUT (seconds)",
                       "%s", text);
}

/* ------------------------------------------------------------------ context ------------------- */

static void context_free(struct ncoll_context *ctx)
{
    ctx->magic = 0;
    ncoll__descriptor_close(ctx);
    ncoll__groups_free(ctx);
    ncoll__memories_free(ctx);
    ncoll__leave(ctx);
    ncoll__trace_end(ctx);
    for (struct ncoll_request *r = ctx->requests, *next; r != NULL; r = next) {
        next = r->next;
        ncoll__release(ctx, r);
    }
    ncoll__compressors_free(ctx);
    ncoll__hooked_free(ctx);
    ncoll__release(ctx, ctx->ops.defs);
    ncoll__release(ctx, ctx->types.defs);
    ncoll__tune_keep(ctx);
    ncoll__tune_forget(ctx);
    ncoll__rules_forget(ctx);
    ncoll__configure_free(ctx);
    ncoll__gate_free(ctx);

    ncoll_params settings = ctx->settings;
    if (settings.release != NULL)
        settings.release(settings.allocate_arg, ctx);
    else
        free(ctx);
}

/* Logs what the job runs on. Rank 0 logs what is the same for all ranks; each rank logs its
 * device. */
static void log_job(struct ncoll_context *ctx)
{
    const struct transport *t = ctx->transport;
    const struct tune_table *tuning = &ctx->tuning;

    if (ctx->rank == 0)
        ncoll__log(
            ctx, NCOLL_LOG_INFO,
            "ncoll %s: %d rank%s on %d node%s, bootstrap %s, transport %s, wiring %s; tuning "
            "table: %u entr%s for this machine; rules: %u",
            ncoll_version(), ctx->ranks, ctx->ranks == 1 ? "" : "s", ctx->places.nodes,
            ctx->places.nodes == 1 ? "" : "s", ctx->bootstrap->ops->name, t->ops->name, t->wiring,
            tuning->n_rules, tuning->n_rules == 1 ? "y" : "ies", ctx->rules.n);
    ncoll__log(ctx, NCOLL_LOG_INFO, "process %d, one of %d ranks of this node%s, device: %s",
               (int)ctx->pid, ctx->places.node_ranks,
               ctx->places.oversubscribed ? ", which are more than its cores" : "",
               t->device[0] != '\0' ? t->device : "none, shared memory alone");
}

/* Called when creation fails: tells the other ranks, over connections that exist or in the next
 * exchange, that this rank has failed, and because of which rank. Otherwise they would believe that
 * it has left in order. */
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
    struct ncoll_context early = {
        .rank = -1,
        .watch = &ncoll__watch,
        .wiring = &ncoll__wiring}; /* holds the error until there is a context */
    struct ncoll_context *ctx = &early;
    int rc;

    ncoll_params_init(&early.settings, sizeof early.settings);
    if (out == NULL) {
        rc = ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "pass a pointer for the context",
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
    ctx->magic = CONTEXT_NEW;
    ctx->pid = getpid();
    if ((rc = ncoll__configure(ctx)) != NCOLL_OK || (rc = ncoll__gate_create(ctx)) != NCOLL_OK)
        goto report;
    ncoll__trace_create(ctx);
    if ((rc = ncoll__join(ctx, params)) != NCOLL_OK || (rc = ncoll__meet(ctx)) != NCOLL_OK ||
        (rc = first_barrier(ctx)) != NCOLL_OK)
        goto report;
    ncoll__begin_stage(ctx, STARTUP_STAGES);
    ncoll__prepare_refusals(ctx);
    ctx->magic = CONTEXT_MAGIC;
    ctx->error = (ncoll_error){.rank = ctx->rank, .peer = -1};
    log_job(ctx);
    *out = ctx;
    if (error != NULL)
        *error = ctx->error;
    return NCOLL_OK;

report:
    if (ctx->stage == 0)
        ncoll__miss(params);
    give_up(ctx);
    if (error != NULL)
        *error = ctx->error;
    if (ctx != &early)
        context_free(ctx);
    return rc;
}

/* Frees the plans of groups whose calls have all ended. No call can start any more, and the memory
 * is needed for the farewells to all peers. */
static void forget_plans(struct ncoll_context *ctx)
{
    for (struct ncoll_group *g = ctx->groups; g != NULL; g = g->next)
        if (g->first == NULL)
            ncoll__known_calls_forget(g);
}

void ncoll_context_destroy(ncoll_context *ctx)
{
    /* A forked child shares the memory that peers see; it must not leave the job in its parent's
     * name. */
    if (ctx == NULL || ctx->magic != CONTEXT_MAGIC || ncoll__is_forked(ctx))
        return;
    int status;
    /* the entry is never left: it is freed with the context */
    if (ncoll__enter(ctx, &status) == NULL) {
        ncoll__log(ctx, NCOLL_LOG_ERROR, "the context is not destroyed: %s",
                   ncoll_last_error(ctx)->cause);
        return;
    }
    ncoll__quit(ctx);
    forget_plans(ctx);
    ncoll__leave_peers(ctx);
    context_free(ctx);
}

/* ------------------------------------------------------------------ operations ---------------- */

int ncoll_op_create(ncoll_context *ctx, const ncoll_op_def *def, ncoll_op *op)
{
    return ncoll_op_create_named(ctx, def, NULL, op);
}

int ncoll_op_create_named(ncoll_context *ctx, const ncoll_op_def *def, const char *name,
                          ncoll_op *op)
{
    if (ctx == NULL || ctx->magic != CONTEXT_MAGIC)
        return NCOLL_ERR_HANDLE;
    ENTER(ctx);
    if (def == NULL || op == NULL || def->size != sizeof *def || def->combine == NULL ||
        def->flags & ~(NCOLL_OP_COMMUTATIVE | NCOLL_OP_IDEMPOTENT))
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1,
                           "set size to sizeof(ncoll_op_def), combine, and known flags only",
                           "the definition of the operation is not valid");
    struct op_table *t = &ctx->ops;
    if (t->count == OPS_MAX)
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_RESOURCE, TOO_MANY), -1,
                           "create each operation once, and keep it",
                           "there are %u operations already", OPS_MAX);
    if (t->count == t->capacity) {
        unsigned capacity = t->capacity ? 2 * t->capacity : 8;
        struct defined_op *grown = ncoll__allocate(ctx, capacity * sizeof *grown);
        if (grown == NULL)
            return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for an operation");
        if (t->count > 0)
            memcpy(grown, t->defs, t->count * sizeof *grown);
        ncoll__release(ctx, t->defs);
        t->defs = grown;
        t->capacity = capacity;
    }
    t->defs[t->count] = (struct defined_op){*def, ncoll__user_name(name)};
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
        .pinned_bytes = counters.pinned_bytes,
        .rail_bytes = counters.rail_bytes,
        .ranks_per_core = ctx->places.here,
    };
    return NCOLL_OK;
}

struct startup_costs ncoll__startup_costs(const ncoll_context *ctx)
{
    const struct bootstrap *b = ctx->bootstrap;
    struct startup_costs costs = ctx->startup;
    struct bootstrap_traffic traffic = {0};

    if (b->ops->traffic != NULL)
        b->ops->traffic(b, &traffic);
    costs.sockets = traffic.most_sockets;
    costs.frames_sent = traffic.frames_sent;
    costs.frames_received = traffic.frames_received;
    costs.bytes_sent = traffic.bytes_sent;
    costs.bytes_received = traffic.bytes_received;
    costs.puts = traffic.puts;
    costs.gets = traffic.gets;
    costs.fences = traffic.fences;
    return costs;
}

/* Connects this rank and a peer, which makes the same call. */
static int wire_pair(struct ncoll_group *g, unsigned peer)
{
    struct signature signature =
        ncoll__signature(&(struct signature_fields){.collective = COLL_BARRIER});

    int rc = ncoll__wiring_start(g, g->window, NULL, &peer, NULL, 1, 2 * EPOCHS,
                                 ncoll__signature_with(signature, PURPOSE_WIRE));
    while (rc == NCOLL_OK && (rc = ncoll__wiring_test(g)) == NCOLL_TIMEOUT)
        rc = ncoll__progress(g->ctx);
    return rc;
}

int ncoll__raw_exchange(ncoll_group *g, unsigned writes, size_t len_bytes, unsigned iterations,
                        uint64_t *samples_ns)
{
    struct transport *t = g->ctx->transport;
    unsigned peer = (unsigned)g->rank ^ 1;

    if (g->size % 2 != 0 || t->ops->raw_exchange == NULL)
        return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, NOT_POSSIBLE), -1,
                           "use an even number of ranks", "there is no bare exchange for %d ranks",
                           g->size);
    if (!g->paired) {
        int rc = wire_pair(g, peer);
        if (rc != NCOLL_OK)
            return rc;
        g->paired = true;
    }
    /* The exchange writes to memory of the group's calls, which other ranks may still be
     * reading. */
    int rc = len_bytes > 0 ? ncoll_barrier(g, NCOLL_BLOCK) : NCOLL_OK;
    if (rc == NCOLL_OK)
        rc = t->ops->raw_exchange(t, g->window, t->ops->endpoint(t, ncoll__world_rank(g, peer)),
                                  writes, len_bytes, iterations, samples_ns);
    if (rc == NCOLL_OK && len_bytes > 0)
        rc = ncoll_barrier(g, NCOLL_BLOCK);
    return rc;
}
