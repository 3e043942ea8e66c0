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
#define BUDGET_S      60

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
        {"budget", KEY_BUDGET, "SECONDS", 0, "time for all of it (default 60)", 0},
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

static struct point *list_points(const struct tune_options *o, unsigned *n)
{
    struct point *points = calloc(COLLECTIVES * o->n_sizes, sizeof *points);

    *n = 0;
    for (int c = COLL_BARRIER; points != NULL && c < COLLECTIVES; c++)
        for (unsigned i = 0; o->collectives & 1u << c && i < (c == COLL_BARRIER ? 1 : o->n_sizes);
             i++) {
            points[*n].collective = (enum collective)c;
            points[(*n)++].bytes = c == COLL_BARRIER ? 0 : o->sizes[i];
        }
    return points;
}

/* Long calls are fewer in the same time, and so are those of each of many candidates. */
static double share_of(const struct point *p)
{
    double calls = p->bytes >= (size_t)256 << 10 ? 4 : p->bytes >= (size_t)32 << 10 ? 2 : 1;
    unsigned left = 0;

    for (unsigned i = 0; i < p->n; i++)
        left += p->candidates[i].left;
    return calls * (p->n > 1 ? left + 2 : 0.5);
}

/* One sweep, that is to be over so many seconds after the start. */
static int measure_sweep(ncoll_context *ctx, struct point *points, unsigned n, unsigned sweep,
                         uint64_t start, double over_s)
{
    int status = NCOLL_OK;
    double shares = 0;

    for (unsigned i = 0; i < n; i++) {
        point_narrow(&points[i], sweep);
        shares += share_of(&points[i]);
    }
    for (unsigned i = 0; i < n && status == NCOLL_OK; i++) {
        double left_s = over_s - (double)(now_ns() - start) / 1e9, share = share_of(&points[i]);
        /* each says by itself when its time is over, and all agree */
        status = point_measure(ctx, &points[i], left_s > 0 ? left_s * share / shares : 1e-3);
        shares -= share;
    }
    return status;
}

static int measure_all(ncoll_context *ctx, struct point *points, unsigned n, double budget_s)
{
    uint64_t start = now_ns();
    int status = NCOLL_OK;

    for (unsigned i = 0; i < n && status == NCOLL_OK; i++)
        status = candidates_list(ncoll_world(ctx), &points[i]);
    double over_s = (double)(now_ns() - start) / 1e9, left_s = budget_s - over_s;
    for (unsigned sweep = 0; sweep < SWEEPS && status == NCOLL_OK; sweep++) {
        over_s += left_s * sweep_parts[sweep];
        status = measure_sweep(ctx, points, n, sweep, start, over_s);
    }
    for (unsigned i = 0; i < n && status == NCOLL_OK; i++)
        point_settle(&points[i]);
    return status;
}

/* Whatever is measured: its exit status. */
static int tune_points(ncoll_context *ctx, const struct tune_options *o, int *reported)
{
    unsigned n;
    struct point *points = list_points(o, &n);
    int status = points != NULL ? measure_all(ctx, points, n, o->budget_s) : NCOLL_ERR_MEMORY;

    if (status == NCOLL_OK && ncoll_group_rank(ncoll_world(ctx)) == 0) {
        *reported = o->check ? 0 : report_write(ctx, points, n, o);
        *reported |= report_print(points, n, o);
    }
    free(points);
    return status;
}

static int tune_costs(ncoll_context *ctx, const struct tune_options *o, int *reported)
{
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

static int tune_rank(const ncoll_params *params, const struct tune_options *o)
{
    ncoll_params own = *params;
    ncoll_context *ctx;
    ncoll_error error;

    own.log = failure_log;
    if (ncoll_context_create(&own, &ctx, &error) != NCOLL_OK) {
        failure_report(&error);
        return EXIT_FAILURE;
    }
    int reported = 0, status = NCOLL_OK;
    int64_t can = true;
    if (!o->check)
        status = report_can_write(ctx, o->file, &can);
    reported = can ? 0 : -1;
    if (status == NCOLL_OK && can)
        status = (o->costs ? tune_costs : tune_points)(ctx, o, &reported);
    if (status != NCOLL_OK)
        failure_report(ncoll_last_error(ctx));
    else
        status = ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK);
    ncoll_context_destroy(ctx);
    return status == NCOLL_OK && reported == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

struct launch {
    const struct tune_options *options;
    struct placement placement;
};

static int forked_rank(const ncoll_params *params, void *arg)
{
    const struct launch *launch = arg;

    placement_apply(&launch->placement, params->rank);
    return tune_rank(params, launch->options);
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
    if (options.ranks == 0 && launched) {
        failure_launched(rank);
        return tune_rank(&params, &options);
    }
    struct options bench = {.ranks = options.ranks > 0 ? options.ranks
                                     : options.costs   ? 2
                                                       : RANKS,
                            .cores = options.cores,
                            .binding = BIND_IF_ROOM};
    struct launch launch = {&options, placement_plan(&bench)};
    failure_share();
    int status = launch_forked(bench.ranks, &params, forked_rank, &launch);
    placement_free(&launch.placement);
    return status;
}
