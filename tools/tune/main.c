/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-tune: measures which algorithms are the fastest here, and keeps the results for later jobs.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/cg/support.h"
#include "tools/inside.h"
#include "tools/bench/bench.h"
#include "tools/bench/measure/placement.h"
#include "tools/json.h"
#include "tools/launch.h"
#include "tools/tune/tune.h"

#define RANKS         4
#define BYTES_DEFAULT "8:1M"
#define BYTES_MAX     ((size_t)1 << 30)
#define BYTES_COUNT   512
#define BUDGET_S      120

/* Reads sizes such as "8:1M". They grow by powers of four at first, and by powers of two where the
 * time depends on the length. The last size is included. */
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

static error_t set_sizes(struct argp_state *state, const char *text, void *o)
{
    return take_sizes(text, o)
               ? 0
               : arguments_mistake(state, "sizes '%s': give MIN:MAX, as 8:1M", text);
}

static error_t add_collective(struct argp_state *state, const char *text, void *arg)
{
    struct tune_options *o = arg;

    return arguments_bits(state, "collective", text, names_of_collectives, COLLECTIVES,
                          &o->collectives);
}

#define AT(member) offsetof(struct tune_options, member)

static const struct argument table[] = {
    {"ranks", "RANKS", "fork this many ranks (default 4, unless a launcher made them)", 'n',
     ARGUMENT_COUNT, AT(ranks), 1, RANKS_MAX, "the number of ranks"},
    {"transport", "NAME", "shm, verbs or shm+verbs (default: as the library chooses)", 't',
     ARGUMENT_TRANSPORT, AT(transport)},
    {"sizes", "MIN:MAX",
     "bytes of the vector or of each block, by powers of four up to 512, then of two "
     "(default " BYTES_DEFAULT ")",
     'm', ARGUMENT_OWN, .take = set_sizes},
    {"budget", "SECONDS", "time for all of it (default 120)", 0, ARGUMENT_REAL, AT(budget_s), 0,
     1e6},
    {"file", "FILE",
     "the tuning table (default: $NCOLL_TUNE_FILE, $XDG_CACHE_HOME/ncoll/tuning or "
     "~/.cache/ncoll/tuning)",
     0, ARGUMENT_TEXT, AT(file)},
    {"costs", NULL, "measure only the costs of messages between 2 ranks, which the cost model uses",
     0, ARGUMENT_FLAG, AT(costs)},
    {"json", "FILE", "also write all measurements as JSON (-: to standard output)", 0,
     ARGUMENT_TEXT, AT(json)},
    {"check", NULL, "compare what runs now, by the table, with what else could run; write nothing",
     0, ARGUMENT_FLAG, AT(check)},
    {"rules", NULL,
     "print the table as rules, which a person can change (NCOLL_RULES); measure nothing", 0,
     ARGUMENT_FLAG, AT(rules)},
    {"quiet", NULL, "show no progress", 'q', ARGUMENT_FLAG, AT(quiet)},
    {"wide", NULL, "print all columns (default: 80 characters)", 0, ARGUMENT_FLAG, AT(wide)},
    {0},
};

static error_t finish(struct argp_state *state, void *arg)
{
    const struct tune_options *o = arg;

    if (o->costs && (o->check || arguments_given(table, o->given, "sizes") || o->collectives != 0))
        return arguments_mistake(state, "--costs measures messages and nothing else: leave out "
                                        "--check, sizes and collectives");
    if (o->rules &&
        (o->costs || o->check || o->json != NULL || arguments_given(table, o->given, "sizes") ||
         arguments_given(table, o->given, "budget")))
        return arguments_mistake(state, "--rules prints the table and measures nothing: leave out "
                                        "--costs, --check, --json, --budget and sizes");
    return 0;
}

static void parse(int argc, char **argv, bool quiet, struct tune_options *o)
{
    static const struct arguments arguments = {
        .table = table,
        .args_doc = "[COLLECTIVE]...",
        .doc = "Measures which algorithm, radix and segments are the fastest for each collective "
               "and size, among those that are predicted to be fast, and merges the results into "
               "the table that ncoll reads when a job of as many ranks starts on such a machine.",
        .positional = add_collective,
        .finish = finish,
        .given_at = AT(given),
    };

    *o = (struct tune_options){
        .cores = placement_cores(), .budget_s = BUDGET_S, .file = getenv("NCOLL_TUNE_FILE")};
    take_sizes(BYTES_DEFAULT, o);
    arguments_parse(&arguments, argc, argv, quiet, o);
    if (o->collectives == 0)
        o->collectives = (1u << COLLECTIVES) - (1u << COLL_BARRIER);
}

/* ------------------------------------------------------------------ ranks --------------------- */

/* The part of the job that each rank, or the process that forks them, knows. */
struct launch {
    const struct tune_options *options;
    struct placement placement;
    struct tuning *tuning; /* NULL: --costs */
    int ranks;             /* ranks to fork; 0: the launcher has started them */
};

/* Measures points. Returns the exit status. */
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

static int no_memory(void)
{
    failure_say(NCOLL_ERR_MEMORY, "out of memory for the list of measurements");
    return EXIT_FAILURE;
}

static bool is_first(const struct tuning *t)
{
    return t->phase == PHASE_ALL && t->sweep == 0;
}

/* Drops the warnings of later contexts, which repeat those of the first one. */
static void said_before(void *arg, ncoll_log_level level, const char *text)
{
    (void)arg;
    (void)level;
    (void)text;
}

/* Makes one sweep, or all measurements of costs, in a new context. Returns the exit status. */
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

/* All ranks start from the state that rank 0 had after the sweep before. Rank 0 stores it when all
 * ranks have ended. */
static int forked_rank(const ncoll_params *params, void *arg)
{
    struct launch own = *(struct launch *)arg;
    struct tuning *shared = own.tuning;

    placement_apply(&own.placement, params->rank);
    if (shared != NULL) {
        own.tuning = malloc(shared->bytes);
        if (own.tuning == NULL)
            return no_memory();
        memcpy(own.tuning, shared, shared->bytes);
    }
    int status = tune_once(params, &own);
    if (shared != NULL && params->rank == 0 && status == EXIT_SUCCESS)
        memcpy(shared, own.tuning, shared->bytes);
    if (shared != NULL)
        free(own.tuning);
    return status;
}

/* Makes one sweep after the other: by the ranks that a launcher has started, or by ranks that are
 * forked for each sweep. */
static int tune_all(const ncoll_params *params, struct launch *l)
{
    int status;

    if (!l->options->costs && (l->tuning = tuning_make(l->options)) == NULL)
        return no_memory();
    do
        status =
            l->ranks == 0 ? tune_once(params, l) : launch_forked(l->ranks, params, forked_rank, l);
    while (status == EXIT_SUCCESS && l->tuning != NULL && l->tuning->phase < PHASES);
    tuning_free(l->tuning);
    return status;
}

/* Choices are measured against those that are made without a table and without rules. */
static void forget_choices(void)
{
    struct setting_view view;

    setenv("NCOLL_TUNE", "model", 1);
    for (unsigned i = 0; ncoll__setting_view(NULL, i, &view); i++)
        if (strstr(view.variable, "_RULES") != NULL)
            unsetenv(view.variable);
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
    if (options.rules)
        return rank <= 0 ? rules_print(&options) : EXIT_SUCCESS;
    if (rank <= 0) /* the one that writes */
        json_require(options.json);
    if (options.transport != NULL)
        setenv("NCOLL_TRANSPORT", options.transport, 1);
    if (options.file != NULL)
        setenv("NCOLL_TUNE_FILE", options.file, 1);
    if (!options.check) /* to compare with the choices without a table */
        forget_choices();
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
    int status = tune_all(&params, &launch);
    placement_free(&launch.placement);
    return status;
}
