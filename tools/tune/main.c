/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-tune: measures which algorithms are the fastest here, and keeps it for all later jobs.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/failure/card.h"
#include "tools/bench/bench.h"
#include "tools/bench/failure.h"
#include "tools/bench/placement.h"
#include "tools/launch.h"
#include "tools/output.h"
#include "tools/tune/tune.h"

#define RANKS         4
#define RANKS_MAX     65536L
#define BYTES_DEFAULT "8:1M"
#define BYTES_MAX     ((size_t)1 << 30)
#define BYTES_COUNT   512
#define BUDGET_S      120

enum { KEY_BUDGET = 256, KEY_FILE, KEY_CHECK, KEY_COSTS, KEY_JSON };

/* "8:1M" by powers of four, and of two from where bytes begin to count; the last one included. */
static bool take_sizes(const char *text, struct tune_options *o)
{
    const char *colon = strchr(text, ':');
    char first[32];

    snprintf(first, sizeof first, "%.*s", (int)strcspn(text, ":"), text);
    size_t min = parse_bytes(first), max = colon != NULL ? parse_bytes(colon + 1) : min;
    min = (min + 7) / 8 * 8;
    max = max / 8 * 8;
    if (min == 0 || max < min || max > BYTES_MAX)
        return false;
    o->n_sizes = 0;
    for (size_t bytes = min; bytes < max && o->n_sizes < SIZES - 1;
         bytes *= bytes < BYTES_COUNT ? 4 : 2)
        o->sizes[o->n_sizes++] = bytes;
    o->sizes[o->n_sizes++] = max;
    return true;
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
    struct tune_options *o = state->input;
    int code;
    char *end, list[256];

    switch (key) {
    case 'n':
        o->ranks = (int)parse_number(arg, 1, RANKS_MAX);
        if (o->ranks < 0)
            argp_error(state, "ranks '%s': give a number from 1 to %ld", arg, RANKS_MAX);
        return 0;
    case 't':
        o->transport = arg;
        return 0;
    case 'm':
        o->sizes_given = true;
        if (!take_sizes(arg, o))
            argp_error(state, "sizes '%s': give MIN:MAX, as 8:1M", arg);
        return 0;
    case KEY_BUDGET:
        o->budget_s = strtod(arg, &end);
        if (end == arg || *end != '\0' || !(o->budget_s > 0 && o->budget_s <= 1e6))
            argp_error(state, "budget '%s': give seconds", arg);
        return 0;
    case KEY_FILE:
        o->file = arg;
        return 0;
    case KEY_CHECK:
        o->check = true;
        return 0;
    case KEY_COSTS:
        o->costs = true;
        return 0;
    case KEY_JSON:
        o->json = arg;
        return 0;
    case ARGP_KEY_ARG:
        code = name_code(names_of_collectives, arg);
        if (code < COLL_BARRIER || code >= COLLECTIVES)
            argp_error(state, "unknown collective '%s'; there are: %s", arg,
                       name_list(names_of_collectives, COLLECTIVES, list, sizeof list));
        else
            o->collectives |= 1u << code;
        return 0;
    case ARGP_KEY_END:
        if (o->costs && (o->check || o->sizes_given || o->collectives != 0))
            argp_error(state,
                       "--costs measures messages and nothing else: no --check, no sizes, no "
                       "collectives");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void parse(int argc, char **argv, bool quiet, struct tune_options *o)
{
    static const struct argp_option option_table[] = {
        {"ranks", 'n', "RANKS", 0, "fork this many ranks (default 4, unless a launcher made them)",
         0},
        {"transport", 't', "NAME", 0, "shm, verbs or shm+verbs (default: as it would be)", 0},
        {"sizes", 'm', "MIN:MAX", 0,
         "bytes of the vector or of each block, by powers of four up to 512, then of two "
         "(default " BYTES_DEFAULT ")",
         0},
        {"budget", KEY_BUDGET, "SECONDS", 0, "time for all of it (default 120)", 0},
        {"file", KEY_FILE, "FILE", 0,
         "the table (default: $NCOLL_TUNE_FILE, $XDG_CACHE_HOME/ncoll/tuning or "
         "~/.cache/ncoll/tuning)",
         0},
        {"costs", KEY_COSTS, NULL, 0,
         "measure what messages cost between 2 ranks, which the model goes by, and nothing else",
         0},
        {"json", KEY_JSON, "FILE", 0,
         "write all that was measured as JSON, too (-: to standard output)", 0},
        {"check", KEY_CHECK, NULL, 0,
         "measure what runs now, by the table, against what else could; write nothing", 0},
        {0},
    };
    static const struct argp argp = {
        .options = option_table,
        .parser = parse_one,
        .args_doc = "[COLLECTIVE]...",
        .doc = "Measures which algorithm, radix and segments are the fastest for each collective "
               "and size, among those that promise enough, and merges it into the table that "
               "ncoll reads when a job of as many ranks starts on such a machine.",
    };
    static char version[64];

    *o = (struct tune_options){
        .cores = placement_cores(), .budget_s = BUDGET_S, .file = getenv("NCOLL_TUNE_FILE")};
    take_sizes(BYTES_DEFAULT, o);
    snprintf(version, sizeof version, "ncoll %s", ncoll_version());
    argp_program_version = version;
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&argp, argc, argv, quiet ? ARGP_NO_ERRS : 0, NULL, o) != 0)
        exit(EXIT_USAGE);
    if (o->collectives == 0)
        o->collectives = (1u << COLLECTIVES) - (1u << COLL_BARRIER);
}

/* ------------------------------------------------------------------ ranks --------------------- */

/* What each rank, or the process that forks them, knows of all of it. */
struct launch {
    const struct tune_options *options;
    struct placement placement;
    struct tuning *tuning; /* NULL: --costs */
    int ranks;             /* forked; 0: the launcher made them */
};

/* Whatever is measured: its exit status. */
static int tune_points(ncoll_context *ctx, struct launch *l, int *reported)
{
    const struct tune_options *o = l->options;
    struct tuning *t = l->tuning;
    int status = tuning_sweep(ctx, t);

    if (status == NCOLL_OK && t->phase == PHASES && ncoll_group_rank(ncoll_world(ctx)) == 0) {
        *reported = o->check ? 0 : report_write(ctx, t->points, t->n, o);
        *reported |= report_print(t->points, t->n, o);
    }
    return status;
}

static int tune_costs(ncoll_context *ctx, struct launch *l, int *reported)
{
    const struct tune_options *o = l->options;
    struct costs costs;
    int status = costs_can_be(ctx);

    if (status == NCOLL_OK)
        status = costs_measure(ctx, &costs, o->budget_s);
    if (status == NCOLL_OK && ncoll_group_rank(ncoll_world(ctx)) == 0) {
        *reported = costs.good ? costs_write(ctx, &costs, o) : -1;
        *reported |= costs_print(ctx, &costs, o->json);
    }
    return status;
}

static const char no_memory[] = "there is no memory for the list of what is measured";

static bool is_first(const struct tuning *t)
{
    return t->phase == PHASE_ALL && t->sweep == 0;
}

/* What each context warns of has been said by the first one. */
static void said_before(void *arg, ncoll_log_level level, const char *text)
{
    (void)arg;
    (void)level;
    (void)text;
}

/* In a context of its own: one sweep, or all that there is. Its exit status. */
static int tune_once(const ncoll_params *params, struct launch *l)
{
    const struct tune_options *o = l->options;
    bool first = l->tuning == NULL || is_first(l->tuning);
    ncoll_params own = *params;
    ncoll_context *ctx;
    ncoll_error error;

    own.log = first ? failure_log : said_before;
    if (ncoll_context_create(&own, &ctx, &error) != NCOLL_OK) {
        failure_report(&error);
        return EXIT_FAILURE;
    }
    if (l->ranks > 0 && l->tuning != NULL)
        deal_apply(tuning_deal(l->tuning), (unsigned)params->rank, (unsigned)l->ranks);
    int reported = 0, status = NCOLL_OK;
    int64_t can = true;
    if (!o->check && first)
        status = report_can_write(ctx, o->file, &can);
    reported = can ? 0 : -1;
    if (status == NCOLL_OK && can)
        status = (o->costs ? tune_costs : tune_points)(ctx, l, &reported);
    if (status != NCOLL_OK)
        failure_report(ncoll_last_error(ctx));
    else
        status = ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK);
    ncoll_context_destroy(ctx);
    return status == NCOLL_OK && reported == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* All ranks begin with what rank 0 knew after the sweep before: it keeps that when all are done. */
static int forked_rank(const ncoll_params *params, void *arg)
{
    struct launch own = *(struct launch *)arg;
    struct tuning *shared = own.tuning;

    placement_apply(&own.placement, params->rank);
    if (shared != NULL) {
        own.tuning = malloc(shared->bytes);
        if (own.tuning == NULL) {
            failure_say(NCOLL_ERR_MEMORY, no_memory);
            return EXIT_FAILURE;
        }
        memcpy(own.tuning, shared, shared->bytes);
    }
    int status = tune_once(params, &own);
    if (shared != NULL && params->rank == 0 && status == EXIT_SUCCESS)
        memcpy(shared, own.tuning, shared->bytes);
    if (shared != NULL)
        free(own.tuning);
    return status;
}

/* Sweep after sweep: by the ranks that a launcher has made, or that are forked for each. */
static int tune_all(const ncoll_params *params, struct launch *l)
{
    int status;

    if (!l->options->costs && (l->tuning = tuning_make(l->options)) == NULL) {
        failure_say(NCOLL_ERR_MEMORY, no_memory);
        return EXIT_FAILURE;
    }
    do
        status =
            l->ranks == 0 ? tune_once(params, l) : launch_forked(l->ranks, params, forked_rank, l);
    while (status == EXIT_SUCCESS && l->tuning != NULL && l->tuning->phase < PHASES);
    tuning_free(l->tuning);
    return status;
}

int main(int argc, char **argv)
{
    struct tune_options options;
    bool launched = launch_is_done();
    int rank = launched ? failure_launcher_rank() : -1;
    ncoll_params params;

    output_open();
    ncoll_params_init(&params, sizeof params);
    parse(argc, argv, rank > 0, &options);
    if (options.transport != NULL)
        setenv("NCOLL_TRANSPORT", options.transport, 1);
    if (options.file != NULL)
        setenv("NCOLL_TUNE_FILE", options.file, 1);
    if (!options.check) /* against what would run without a table */
        setenv("NCOLL_TUNE", "model", 1);
    struct launch launch = {.options = &options};
    if (options.ranks == 0 && launched) {
        failure_launched(rank);
        return tune_all(&params, &launch);
    }
    struct options bench = {.ranks = options.ranks > 0 ? options.ranks
                                     : options.costs   ? 2
                                                       : RANKS,
                            .cores = options.cores,
                            .binding = BIND_IF_ROOM};
    launch.ranks = bench.ranks;
    launch.placement = placement_plan(&bench);
    failure_share();
    int status = tune_all(&params, &launch);
    placement_free(&launch.placement);
    return status;
}
