/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joins the job: opens the bootstrap, learns the node and the cores of every rank, and opens the
 * transport that reaches all ranks. It takes three to five exchanges (exchange.c), in which ranks
 * tell each other
 *
 *     their nodes and cores, which decide the transport (hello.c);
 *     on several nodes, the networks that each node has (networks.c);
 *     their addresses;
 *     how base peers get access to the window of the world (meet.c);
 *     over network devices, whether they have accepted all connections (meet.c).
 *
 * All later communication uses these connections.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bootstrap/launcher.h"
#include "bootstrap/slurm.h"
#include "bootstrap/thread_board.h"
#include "lib/base/environment.h"
#include "lib/watch/failure.h"
#include "lib/job/devices.h"
#include "lib/job/join.h"
#include "lib/job/networks.h"
#include "lib/choose/ruled.h"
#include "lib/choose/tune.h"
#include "lib/base/group.h"
#include "lib/run/waiting.h"

/* ------------------------------------------------------------------ callbacks ----------------- */

/* The callbacks by which bootstraps and transports report; arg is the context. */
__attribute__((format(printf, 5, 6))) static int on_fail(void *arg, int what, int peer,
                                                         const char *remedy, const char *cause, ...)
{
    char text[sizeof((ncoll_error *)0)->cause];
    va_list args;

    va_start(args, cause);
    vsnprintf(text, sizeof text, cause, args);
    va_end(args);
    return ncoll__fail(arg, what, peer, remedy, "%s", text);
}

__attribute__((format(printf, 3, 4))) static void on_log(void *arg, ncoll_log_level level,
                                                         const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ncoll__log(arg, level, "%s", text);
}

static uint64_t on_now(void *arg)
{
    return ncoll__now_ns(arg);
}

/* ------------------------------------------------------------------ bootstrap ----------------- */

/* True if srun itself has started this process, and not another launcher inside a step of srun. */
static bool is_of_step(void)
{
    struct launched_task task;

    return ncoll__launched_as_task(&task) && strcmp(task.launcher, "srun") == 0;
}

/* Returns the bootstrap of the launcher that has started this process; NCOLL_BOOTSTRAP_SELF: there
 * was none. A launcher that runs inside a task does not pass on the socket of PMI; so if PMI is
 * found, it is that of the innermost launcher. */
static ncoll_bootstrap way_of_launcher(void)
{
    struct slurm_task step;
    struct pmi_task task;

    if (ncoll__pmi_launched(&task))
        return task.ranks > 1 ? NCOLL_BOOTSTRAP_PMI1 : NCOLL_BOOTSTRAP_SELF;
    if (ncoll__pmix_launched())
        return NCOLL_BOOTSTRAP_PMIX;
    return is_of_step() && ncoll__slurm_task(&step) && step.ranks > 1 ? NCOLL_BOOTSTRAP_SLURM
                                                                      : NCOLL_BOOTSTRAP_SELF;
}

static ncoll_bootstrap way(const struct ncoll_context *ctx)
{
    const ncoll_params *s = &ctx->settings;

    if (s->bootstrap != NCOLL_BOOTSTRAP_AUTO)
        return s->bootstrap;
    if (s->callbacks.put != NULL || s->allgather != NULL)
        return NCOLL_BOOTSTRAP_USER;
    if (s->thread_board != NULL)
        return NCOLL_BOOTSTRAP_THREADS;
    if (s->board != NULL)
        return NCOLL_BOOTSTRAP_FORK;
    if (s->root != NULL)
        return NCOLL_BOOTSTRAP_TCP;
    return way_of_launcher();
}

static const struct bootstrap_ops *way_ops(const struct ncoll_context *ctx, ncoll_bootstrap chosen)
{
    switch (chosen) {
    case NCOLL_BOOTSTRAP_FORK:
        return &ncoll__bootstrap_fork;
    case NCOLL_BOOTSTRAP_TCP:
        return &ncoll__bootstrap_tcp;
    case NCOLL_BOOTSTRAP_USER:
        return ctx->settings.allgather != NULL ? &ncoll__bootstrap_allgather
                                               : &ncoll__bootstrap_user;
    case NCOLL_BOOTSTRAP_PMIX:
#ifdef NCOLL_HAVE_PMIX
        return &ncoll__bootstrap_pmix;
#else
        return NULL;
#endif
    case NCOLL_BOOTSTRAP_PMI1:
        return ctx->settings.bootstrap == NCOLL_BOOTSTRAP_AUTO ? &ncoll__bootstrap_pmi
                                                               : &ncoll__bootstrap_pmi1;
    case NCOLL_BOOTSTRAP_PMI2:
        return &ncoll__bootstrap_pmi2;
    case NCOLL_BOOTSTRAP_SLURM:
        return &ncoll__bootstrap_slurm;
    case NCOLL_BOOTSTRAP_THREADS:
        return &ncoll__bootstrap_threads;
    default:
        return &ncoll__bootstrap_self;
    }
}

/* Refuses to make each of several tasks a job of one rank, unless the user asks for that. If PMIx
 * knows a single rank but mpiexec or torchrun has started several, that PMIx belongs to an outer
 * launcher, such as an interactive srun --mpi=pmix. */
static int refuse_lone_tasks(struct ncoll_context *ctx, bool by_pmix)
{
    struct launched_task task;
    char which[48] = "", many[24] = "several";

    if (ctx->settings.bootstrap != NCOLL_BOOTSTRAP_AUTO || !ncoll__launched_as_task(&task) ||
        (by_pmix && strcmp(task.launcher, "mpiexec") != 0 &&
         strcmp(task.launcher, "torchrun") != 0))
        return NCOLL_OK;
    if (task.tasks > 0)
        snprintf(many, sizeof many, "%d", task.tasks);
    if (task.task >= 0)
        snprintf(which, sizeof which, ", of which this is number %d", task.task);
    return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_BOOTSTRAP, NO_LAUNCHER), -1, task.remedy,
                       "%s has started %s tasks%s, but %s; if each is meant to be a job of one "
                       "rank, set NCOLL_BOOTSTRAP=self",
                       task.launcher, many, which,
                       by_pmix ? "the PMIx that each of them sees has one rank"
                               : "without PMI, PMIx or NCOLL_ROOT they cannot find each other");
}

/* Fails if NCOLL_RANK or NCOLL_SIZE says that this is one of several ranks, but nothing says how
 * the ranks find each other. */
static int refuse_lone_numbers(struct ncoll_context *ctx)
{
    const ncoll_params *s = &ctx->settings;
    bool has_rank = ncoll__environment_has("NCOLL_RANK"),
         has_size = ncoll__environment_has("NCOLL_SIZE");
    char rank[32] = "", size[32] = "";

    if (s->bootstrap != NCOLL_BOOTSTRAP_AUTO ||
        !((has_rank && s->rank > 0) || (has_size && s->ranks > 1)))
        return NCOLL_OK;
    if (has_rank)
        snprintf(rank, sizeof rank, "NCOLL_RANK is %d", s->rank);
    if (has_size)
        snprintf(size, sizeof size, "NCOLL_SIZE is %d", s->ranks);
    return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_BOOTSTRAP, NO_LAUNCHER), -1,
                       "set NCOLL_ROOT to the host:port of rank 0, and NCOLL_SIZE and NCOLL_RANK "
                       "(from 0), for each rank; or NCOLL_BOOTSTRAP=self for a job of one rank",
                       "%s%s%s, but %sNCOLL_ROOT %s not set, so the ranks cannot find each other",
                       rank, has_rank && has_size ? " and " : "", size,
                       !has_rank   ? "NCOLL_RANK and "
                       : !has_size ? "NCOLL_SIZE and "
                                   : "",
                       has_rank && has_size ? "is" : "are");
}

void ncoll__miss(const ncoll_params *params)
{
    if (params == NULL || params->size != sizeof *params || params->thread_board == NULL)
        return;
    bool has_own = params->callbacks.put != NULL || params->allgather != NULL;
    if (params->bootstrap == NCOLL_BOOTSTRAP_THREADS ||
        (params->bootstrap == NCOLL_BOOTSTRAP_AUTO && !has_own))
        ncoll__thread_board_miss(params->thread_board, params->rank);
}

static int open_bootstrap(struct ncoll_context *ctx, const ncoll_params *params)
{
    ncoll_bootstrap chosen = way(ctx);
    const struct bootstrap_ops *ops = way_ops(ctx, chosen);
    /* NCOLL_RANK and NCOLL_SIZE belong to tcp; with other bootstraps they may come from an outer
     * job */
    const ncoll_params *numbers = chosen == NCOLL_BOOTSTRAP_TCP ? &ctx->settings : params;
    struct bootstrap_config config = {
        .rank = numbers != NULL ? numbers->rank : -1,
        .ranks = numbers != NULL ? numbers->ranks : 0,
        .root = ctx->settings.root,
        .key = ctx->settings.key,
        .callbacks = ctx->settings.callbacks,
        .allgather = ctx->settings.allgather,
        .allgather_arg = ctx->settings.allgather_arg,
        .board = ctx->settings.board,
        .thread_board = ctx->settings.thread_board,
        .stall_warn_ns = ctx->settings.stall_warn_ns,
        .timeout_ns = ctx->settings.bootstrap_timeout_ns,
        .events = {ctx, on_fail, on_log, on_now},
    };

    if (ops == NULL)
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, NOT_BUILT), -1,
                           "install PMIx's headers and rebuild, or use NCOLL_BOOTSTRAP=tcp",
                           "this ncoll was built without PMIx");
    int rc = chosen == NCOLL_BOOTSTRAP_SELF ? refuse_lone_tasks(ctx, false) : NCOLL_OK;
    if (rc == NCOLL_OK && chosen == NCOLL_BOOTSTRAP_SELF)
        rc = refuse_lone_numbers(ctx);
    if (rc == NCOLL_OK)
        rc = ops->open(&config, &ctx->bootstrap);
    if (rc == NCOLL_OK && chosen == NCOLL_BOOTSTRAP_PMIX && ctx->bootstrap->ranks == 1 &&
        (rc = refuse_lone_tasks(ctx, true)) != NCOLL_OK) {
        ops->close(ctx->bootstrap);
        ctx->bootstrap = NULL;
    }
    if (rc == NCOLL_OK) {
        ctx->rank = ctx->bootstrap->rank;
        ctx->ranks = ctx->bootstrap->ranks;
        ctx->may_exchange = true;
    }
    return rc;
}

/* Warns of variables that have no effect although the user may expect one. Only rank 0 warns. */
static void warn_of_environment(struct ncoll_context *ctx)
{
    const ncoll_params *s = &ctx->settings;
    bool numbered = ncoll__environment_has("NCOLL_RANK") || ncoll__environment_has("NCOLL_SIZE");
    bool chosen = s->bootstrap == NCOLL_BOOTSTRAP_AUTO &&
                  (way(ctx) == NCOLL_BOOTSTRAP_SELF || way(ctx) == NCOLL_BOOTSTRAP_PMIX ||
                   way(ctx) == NCOLL_BOOTSTRAP_PMI1 || way(ctx) == NCOLL_BOOTSTRAP_SLURM);
    struct unknown_variable unknown;

    if (ctx->rank != 0 || s->log_level < NCOLL_LOG_WARN)
        return;
    for (unsigned i = 0; ncoll__unknown_variable(i, &unknown); i++)
        if (unknown.nearest != NULL)
            ncoll__log(ctx, NCOLL_LOG_WARN, "%s is unknown, and ignored; did you mean %s?",
                       unknown.name, unknown.nearest);
        else
            ncoll__log(ctx, NCOLL_LOG_WARN,
                       "%s is unknown, and ignored; ncoll-info lists all variables", unknown.name);
    if (numbered && chosen)
        ncoll__log(ctx, NCOLL_LOG_WARN,
                   "NCOLL_RANK and NCOLL_SIZE are ignored, as NCOLL_ROOT is not set: this is a job "
                   "of %d rank%s (bootstrap %s); to number ranks yourself set NCOLL_ROOT to the "
                   "host:port of rank 0",
                   ctx->ranks, ctx->ranks == 1 ? "" : "s", ctx->bootstrap->ops->name);
}

/* ------------------------------------------------------------------ transport ----------------- */

/* Returns the transport that the user asks for, else the fastest one that reaches all ranks. */
static const struct transport_ops *choose_transport(const struct ncoll_context *ctx)
{
    const char *name = ctx->places.nodes == 1            ? "shm"
                       : ctx->places.nodes == ctx->ranks ? "verbs"
                                                         : "shm+verbs";

    return ncoll__transport_find(ctx->settings.transport != NULL ? ctx->settings.transport : name);
}

static int open_transport(struct ncoll_context *ctx, struct examination *x)
{
    const ncoll_params *s = &ctx->settings;
    const struct transport_ops *ops = choose_transport(ctx);
    uint64_t *nodes = ncoll__allocate(ctx, (size_t)ctx->ranks * sizeof *nodes);
    char index[16];
    snprintf(index, sizeof index, "%d", s->gid_index);
    struct transport_config config = {
        .rank = ctx->rank,
        .ranks = ctx->ranks,
        .node = ctx->peers[ctx->rank].node,
        .machine = ctx->machine,
        .nodes = nodes,
        .device = s->device,
        .wiring = s->wiring,
        .port = s->port,
        .gid = s->gid != NULL      ? s->gid
               : s->gid_index >= 0 ? index
                                   : NULL,
        .pkey = s->pkey,
        .service_level = (uint8_t)s->service_level,
        .traffic_class = (uint8_t)s->traffic_class,
        .timeout_exponent = (uint8_t)s->timeout_exponent,
        .retries = (uint8_t)s->retries,
        .mtu = (unsigned)s->mtu,
        .peer_timeout_ns = (uint64_t)s->peer_timeout_ns,
        .relaxed_ordering = s->relaxed_ordering != 0,
        .fork_safe = s->fork_safe != 0,
        .rails = (unsigned)s->rails,
        .rail_bytes = s->rail_bytes,
        .huge_pages = s->huge_pages != 0,
        .single_copies = s->single_copy_bytes > 0,
        .ranks_per_core = ctx->places.here,
        .events = {ctx, ncoll__on_peer_gone, ncoll__on_control, ncoll__on_position, on_fail, on_log,
                   on_now},
    };

    if (nodes == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d peers", ctx->ranks);
    for (int r = 0; r < ctx->ranks; r++)
        nodes[r] = ctx->peers[r].node;
    if (ops != NULL && ops->before != NULL)
        ops->before(&config);
    ncoll__examination_make(ctx, ops, x);
    config.examined = x->found.bytes;
    config.examined_bytes = x->found.len;
    int rc = ncoll__networks_share(ctx, ops, x, &config);
    if (rc == NCOLL_OK)
        rc = ops != NULL
                 ? ops->open(&config, &ctx->transport)
                 : ncoll__fail(ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, NOT_BUILT), -1,
                               "install libibverbs' headers and rebuild, or run on one node",
                               "the job spans %d nodes and this ncoll was built without verbs",
                               ctx->places.nodes);
    ncoll__release(ctx, (void *)(uintptr_t)config.networks);
    ncoll__release(ctx, nodes);
    if (rc == NCOLL_OK || ops == NULL || s->transport != NULL || ctx->places.nodes == 1 ||
        !ctx->one_machine)
        return rc;
    char cause[sizeof ctx->error.cause];
    memcpy(cause, ctx->error.cause, sizeof cause);
    return ncoll__fail(ctx, BECAUSE(rc, NO_SHARED_MEMORY), -1,
                       "run them in one pid namespace (`docker run --pid`, or the pod's "
                       "shareProcessNamespace), or give them an RDMA device",
                       "the ranks are in %d containers of one machine, which share no memory, and "
                       "verbs does not work: %.200s",
                       ctx->places.nodes, cause);
}

/* The head of what a rank tells all others of itself. It is followed by the description of its
 * transport and, on rank 0, by the tuning table, the texts of rules, and the domains of all ranks
 * if they are needed. */
struct description {
    uint32_t transport_bytes, tuning_bytes, rules_bytes, domains_bytes;
    uint32_t peers_most; /* see struct transport */
};

static size_t domains_bytes(const struct ncoll_context *ctx)
{
    return ctx->domains != NULL ? (size_t)ctx->ranks * sizeof *ctx->domains : 0;
}

static int describe_self(struct ncoll_context *ctx, struct blob *out)
{
    struct description head = {.peers_most = ctx->transport->peers_most};

    ncoll__blob_add(out, &head, sizeof head);
    int rc = ctx->transport->ops->describe(ctx->transport, out);
    head.transport_bytes = (uint32_t)(out->len - sizeof head);
    if (rc == NCOLL_OK && ctx->rank == 0)
        ncoll__tune_recall(ctx, out);
    head.tuning_bytes = (uint32_t)(out->len - sizeof head) - head.transport_bytes;
    if (ctx->rank == 0) {
        size_t before = out->len;
        ncoll__rules_tell(ctx, out);
        head.rules_bytes = (uint32_t)(out->len - before);
        head.domains_bytes = (uint32_t)domains_bytes(ctx);
        ncoll__blob_add(out, ctx->domains, head.domains_bytes);
    }
    if (!out->failed)
        memcpy(out->bytes, &head, sizeof head);
    return rc;
}

/* Keeps the address of a rank, and what rank 0 sends in addition. */
static int learn_of(struct ncoll_context *ctx, int rank)
{
    struct description head = {0};
    const void *blob;
    size_t len;

    int rc = ncoll__get(ctx, rank, &blob, &len);
    if (rc != NCOLL_OK)
        return rc;
    if (len >= sizeof head)
        memcpy(&head, blob, sizeof head);
    if (len != sizeof head + head.transport_bytes + (size_t)head.tuning_bytes + head.rules_bytes +
                   head.domains_bytes ||
        head.domains_bytes != (rank == 0 ? domains_bytes(ctx) : 0))
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_BOOTSTRAP, VERSION_DIFFERS), rank,
                           "use the same library on all ranks",
                           "the description of rank %d has %zu bytes, which is not possible", rank,
                           len);
    if (head.peers_most > 0 && (ctx->peers_most == 0 || head.peers_most < ctx->peers_most))
        ctx->peers_most = head.peers_most;
    const char *address = (const char *)blob + sizeof head;
    if (!ncoll__address_add(ctx, address, head.transport_bytes))
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d peers", ctx->ranks);
    if (rank != 0)
        return NCOLL_OK;
    const char *tuning = address + head.transport_bytes, *rules = tuning + head.tuning_bytes;
    if (head.domains_bytes > 0)
        memcpy(ctx->domains, rules + head.rules_bytes, head.domains_bytes);
    rc = ncoll__tune_adopt(ctx, tuning, head.tuning_bytes);
    return rc != NCOLL_OK || ctx->rank == 0 ? rc : ncoll__rules_adopt(ctx, rules, head.rules_bytes);
}

static int learn_of_all(struct ncoll_context *ctx)
{
    int rc = NCOLL_OK;

    for (int r = 0; rc == NCOLL_OK && r < ctx->ranks; r++)
        rc = learn_of(ctx, r);
    return rc;
}

static int describe(struct ncoll_context *ctx)
{
    struct blob mine = {0};

    int rc = describe_self(ctx, &mine);
    if (rc == NCOLL_OK && mine.failed)
        rc = ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to describe this rank");
    if (rc == NCOLL_OK)
        rc = ncoll__exchange(ctx, mine.bytes, mine.len);
    ncoll__blob_free(&mine);
    if (rc == NCOLL_OK)
        rc = learn_of_all(ctx);
    if (rc != NCOLL_OK && ctx->error.peer >= 0) /* every rank finds this error */
        ctx->may_exchange = false;
    return rc;
}

static int join(struct ncoll_context *ctx, const ncoll_params *params, struct examination *x)
{
    ncoll__begin_stage(ctx, STAGE_BOOTSTRAP);
    int rc = open_bootstrap(ctx, params);
    if (rc != NCOLL_OK)
        return rc;
    ncoll__begin_stage(ctx, STAGE_EXCHANGE);
    warn_of_environment(ctx);
    if (ctx->rank == 0 && (rc = ncoll__rules_read(ctx)) != NCOLL_OK)
        return rc;
    ctx->peers = ncoll__allocate(ctx, (size_t)ctx->ranks * sizeof *ctx->peers);
    if (ctx->peers == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d peers", ctx->ranks);
    if ((rc = ncoll__learn_places(ctx, x)) != NCOLL_OK)
        return rc;
    ncoll__begin_stage(ctx, STAGE_DEVICES);
    if ((rc = open_transport(ctx, x)) != NCOLL_OK)
        return rc;
    ncoll__waiting_begin(ctx);
    ncoll__begin_stage(ctx, STAGE_EXCHANGE);
    return describe(ctx);
}

int ncoll__join(struct ncoll_context *ctx, const ncoll_params *params)
{
    struct examination examination = {0};

    int rc = join(ctx, params, &examination);
    ncoll__examination_close(&examination);
    return rc;
}

void ncoll__leave(struct ncoll_context *ctx)
{
    if (ctx->transport != NULL)
        ctx->transport->ops->close(ctx->transport);
    if (ctx->bootstrap != NULL)
        ctx->bootstrap->ops->close(ctx->bootstrap);
    ncoll__addresses_free(ctx);
    ncoll__release(ctx, ctx->domains);
    ncoll__release(ctx, ctx->peers);
}
