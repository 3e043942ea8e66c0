/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/schedule.h"
#include "tools/bench/measure/distribution.h"
#include "tools/bench/measure/placement.h"
#include "tools/bench/names.h"
#include "tools/json.h"

#define CALLS_MAX     100000000
#define SKEW_MAX_US   1000000
#define INTERFERE_MAX 64
#define BUDGET_MAX_S  1e9

/* The defaults if the number of calls is not fixed. */
#define PRECISION    5.0  /* percent */
#define BUDGET_S     60.0 /* of the whole run */
#define BATCH        100u
#define BATCH_MIN    10u /* shortest batch, for slow calls */
#define CALLS_AT_END 100000u

#define WARMUP  20
#define REPEATS 10

static const struct name kinds[] = {{"data", NCOLL_THRESHOLD_DATA},
                                    {"heaviest", NCOLL_THRESHOLD_HEAVIEST},
                                    {"ranks", NCOLL_THRESHOLD_RANKS},
                                    {NULL, 0}};

static const struct name plants[] = {
    {"straggler", PLANT_STRAGGLER}, {"wrong", PLANT_WRONG}, {NULL, 0}};

/* Adds sizes from low to high, each twice the one before. */
static bool add_sizes(struct options *options, size_t low, size_t high)
{
    if (low == 0 || high < low)
        return false;
    for (size_t bytes = low;; bytes *= 2) {
        if (options->n_sizes == SIZES_MAX)
            return false;
        options->sizes[options->n_sizes++] = bytes;
        if (bytes > options->max_bytes)
            options->max_bytes = bytes;
        if (bytes > high / 2)
            return true;
    }
}

/* Reads a list of sizes and ranges MIN:MAX, separated by commas. */
static error_t set_sizes(struct argp_state *state, const char *text, void *arg)
{
    struct options *options = arg;
    char copy[256], *rest = copy, *item;
    bool ok = strlen(text) < sizeof copy;

    options->n_sizes = 0;
    options->max_bytes = 0;
    if (ok)
        strcpy(copy, text);
    while (ok && (item = strsep(&rest, ",")) != NULL) {
        char *high = item, *low = strsep(&high, ":");
        ok = add_sizes(options, parse_bytes(low), parse_bytes(high != NULL ? high : low));
    }
    return ok ? 0
              : arguments_mistake(state,
                                  "-m takes MIN:MAX in bytes, from 1, as in 8:64K or 1M:1M, or a "
                                  "list as in 8,1K,64K:1M, not '%s'",
                                  text);
}

/* Reads a number from 0 to 1. */
static bool take_fraction(const char *text, double *fraction)
{
    char *end;

    *fraction = strtod(text, &end);
    return end != text && *end == '\0' && *fraction >= 0 && *fraction <= 1;
}

/* Reads a list of fractions. */
static error_t set_fractions(struct argp_state *state, const char *text, void *arg)
{
    struct options *options = arg;
    char copy[256], *rest = copy, *item;
    bool ok = strlen(text) < sizeof copy;

    options->n_fractions = 0;
    snprintf(copy, sizeof copy, "%s", text);
    while (ok && (item = strsep(&rest, ",")) != NULL) {
        ok = options->n_fractions < FRACTIONS_MAX &&
             take_fraction(item, &options->fractions[options->n_fractions]);
        options->n_fractions += ok;
    }
    return ok ? 0
              : arguments_mistake(
                    state, "--fraction takes numbers from 0 to 1, as in 0.25,0.5,1, not '%s'",
                    text);
}

static error_t set_mpi(struct argp_state *state, const char *text, void *arg)
{
    struct options *options = arg;
    int code = text == NULL
                   ? COMPANION_MPI
                   : arguments_name(state, "MPI", text, names_of_companions, COMPANION_UCC);

    options->companion = (enum companion)code;
    return code < 0 ? EINVAL : 0;
}

static error_t set_seed(struct argp_state *state, const char *text, void *arg)
{
    struct options *options = arg;
    char *end;

    errno = 0;
    options->seed = strtoull(text, &end, 0);
    options->has_seed = errno == 0 && end != text && *end == '\0' && text[0] != '-';
    return options->has_seed
               ? 0
               : arguments_mistake(state, "--seed must be a number of up to 64 bits, not '%s'",
                                   text);
}

static error_t set_skew(struct argp_state *state, const char *text, void *arg)
{
    struct options *options = arg;
    char number[16];
    const char *who = strchr(text, ':');
    int code = SKEW_ONE;

    snprintf(number, sizeof number, "%.*s", (int)strcspn(text, ":"), text);
    long us = parse_number(number, 1, SKEW_MAX_US);
    if (us < 0)
        return arguments_mistake(state, "--skew must be a number in 1..%d, not '%s'", SKEW_MAX_US,
                                 number);
    if (who != NULL)
        code = arguments_name(state, "skew", who + 1, names_of_skews, INT_MAX);
    options->skew_us = (unsigned)us;
    options->skew = (enum skew_kind)code;
    return code < 0 ? EINVAL : 0;
}

/* N or N:KIND */
static error_t set_interfere(struct argp_state *state, const char *text, void *arg)
{
    struct options *options = arg;
    char number[16];
    const char *kind = strchr(text, ':');
    int code = 0;

    snprintf(number, sizeof number, "%.*s", (int)strcspn(text, ":"), text);
    long n = parse_number(number, 1, INTERFERE_MAX);
    if (n < 0)
        return arguments_mistake(state, "--interfere must be a number in 1..%d, not '%s'",
                                 INTERFERE_MAX, number);
    if (kind != NULL)
        code = arguments_name(state, "interference", kind + 1, names_of_interference, INT_MAX);
    options->interfere = (unsigned)n;
    options->in_bursts = code > 0;
    return code < 0 ? EINVAL : 0;
}

/* topk:FRACTION, bf16 or half */
static error_t set_codec(struct argp_state *state, const char *text, void *arg)
{
    struct options *options = arg;
    ncoll_codec codec = {.size = sizeof codec};
    double fraction;
    int rc = NCOLL_ERR_ARGUMENT;

    if (strncmp(text, "topk:", 5) == 0 && take_fraction(text + 5, &fraction))
        rc = ncoll_codec_topk(&codec, fraction);
    else if (strcmp(text, "bf16") == 0 || strcmp(text, "half") == 0)
        rc = ncoll_codec_round16(&codec, text[0] == 'b' ? NCOLL_BFLOAT16 : NCOLL_HALF);
    if (rc != NCOLL_OK)
        return arguments_mistake(
            state,
            "--codec takes topk:FRACTION, with a fraction above 0 and up to 1, "
            "bf16 or half, not '%s'",
            text);
    options->codec = codec;
    return 0;
}

#define AT(member) offsetof(struct options, member)

static const struct argument table[] = {
    {"ranks", "RANKS", "start this many ranks (default 4, unless a launcher made them)", 'n',
     ARGUMENT_COUNT, AT(ranks), 1, RANKS_MAX, "the number of ranks"},
    {"transport", "NAME",
     "shm, verbs or shm+verbs (default: shm within a node, verbs between nodes)", 't',
     ARGUMENT_TRANSPORT, AT(transport)},
    {"sizes", "MIN:MAX",
     "bytes of the vector or of each block, by powers of two (default 8:64K), or a list of such "
     "ranges",
     'm', ARGUMENT_OWN, .take = set_sizes},
    {"algorithm", "NAME", "use this algorithm (ncoll-info lists them)", 0, ARGUMENT_ALGORITHM,
     AT(algorithm)},
    {"radix", "N",
     "use this radix in n-way algorithms, 1..16, or a list with one for each round, as 3,2,2", 0,
     ARGUMENT_RADIX, AT(radix)},
    {"type", "TYPE", "element type (default int64)", 0, ARGUMENT_NAME, AT(type), .what = "type",
     .names = names_of_types},
    {"op", "OP", "operation of reductions (default sum)", 0, ARGUMENT_NAME, AT(op),
     .what = "operation", .names = names_of_ops},
    {"memory", "KIND",
     "where buffers come from: malloc (default), alloc (ncoll_alloc()), or registered (malloc, "
     "then ncoll_mem_register())",
     0, ARGUMENT_NAME, AT(memory), .what = "memory", .names = names_of_memory},
    {"fresh", NULL,
     "write the send buffer before each call, outside the timing, as applications do", 0,
     ARGUMENT_FLAG, AT(fresh)},
    {"distribution", "HOW",
     "sizes of the blocks in gatherv, scatterv and allgatherv: regular (default), decreasing, "
     "broadcast or all; may be given several times",
     0, ARGUMENT_BITS, AT(distributions), .what = "distribution", .names = names_of_distributions},
    {"raw", NULL,
     "also time the limits: the transport's bare exchange and, on one node, bare flags and a plain "
     "copy; print ratios to them",
     0, ARGUMENT_FLAG, AT(raw)},
    {"persistent", NULL, "also time persistent requests, and print ratios to them", 0,
     ARGUMENT_FLAG, AT(persistent)},
    {"strict", NULL,
     "also time calls with strict entry, strict exit and both, and print ratios to them", 0,
     ARGUMENT_FLAG, AT(strict)},
    {"ssp", NULL,
     "also time the stale-synchronous allreduce with slack 0, 1 and 4, and print ratios to it", 0,
     ARGUMENT_FLAG, AT(ssp)},
    {"codec", "CODEC",
     "also time compressed allreduces and bcasts, and print ratios to them: topk:FRACTION, bf16 or "
     "half; with --type float or double",
     0, ARGUMENT_OWN, .take = set_codec},
    {"feedback", NULL, "compress with error feedback; such results are not compared (with --codec)",
     0, ARGUMENT_FLAG, AT(feedback)},
    {"fraction", "LIST",
     "also time bcast and reduce with a threshold: of these fractions of the data, as 0.25,0.5,1, "
     "and print ratios to the whole",
     0, ARGUMENT_OWN, .take = set_fractions},
    {"of", "WHAT",
     "the fractions are of: the data (default), the heaviest data by random weights, or the ranks",
     0, ARGUMENT_NAME, AT(of), .what = "part", .names = kinds},
    {"mpi", "openmpi|mpich",
     "also time an MPI's own collectives, and print ratios to them; that MPI's launcher starts the "
     "ranks",
     0, ARGUMENT_OWN, .take = set_mpi, .may_lack_value = true},
    {"beside", "LIBRARY",
     "also time another library's own collectives, and print ratios to them: ucc, gpi2, or an MPI "
     "as with --mpi",
     0, ARGUMENT_NAME, AT(companion), .what = "library", .names = names_of_companions},
    {"bind", NULL, "bind ranks to cores even if there are more ranks than cores", 0, ARGUMENT_SET,
     AT(binding), BIND_ALWAYS},
    {"no-bind", NULL, "do not bind ranks to cores", 0, ARGUMENT_SET, AT(binding), BIND_NEVER},
    {"wide", NULL,
     "print all columns: calls, percentiles, bandwidth, every ratio (default: 80 characters)", 0,
     ARGUMENT_FLAG, AT(wide)},
    {"json", "FILE", "write results as JSON; - for standard output", 0, ARGUMENT_TEXT, AT(json)},
    {.help = "How it is measured:", .kind = ARGUMENT_HEADER},
    {"iterations", "N",
     "timed calls per row; with --precision or --budget: at most (default 100000)", 'i',
     ARGUMENT_COUNT, AT(iterations), 1, CALLS_MAX, "-i"},
    {"precision", "PERCENT",
     "measure until the 95 % interval of the median is within this much of the median (default 5, "
     "unless -i is given)",
     0, ARGUMENT_REAL, AT(precision), 0, 100},
    {"budget", "SECONDS",
     "after this time begin no batch but the first of each row (default 60, unless -i is given)", 0,
     ARGUMENT_REAL, AT(budget_s), 0, BUDGET_MAX_S},
    {"warmup", "N", "untimed calls before each batch (default 20)", 0, ARGUMENT_COUNT, AT(warmup),
     0, CALLS_MAX},
    {"repeat", "R",
     "batches per row, the rows taking turns; with --precision: at least (default 10)", 0,
     ARGUMENT_COUNT, AT(repeats), 1, CALLS_MAX},
    {"seed", "N", "seed of all random numbers (default: a new one, which is printed)", 0,
     ARGUMENT_OWN, .take = set_seed},
    {"start", "HOW",
     "when a call begins: at the end of the one before (follow, the default), after a barrier, or "
     "in a window of synchronised clocks",
     0, ARGUMENT_NAME, AT(start), .what = "start", .names = names_of_starts},
    {"skew", "US[:WHO]",
     "delay ranks before each call: one rank drawn at random by US microseconds (one, the "
     "default), or each by a time drawn from 0 to US (all); times count from the entry of the last "
     "rank",
     0, ARGUMENT_OWN, .take = set_skew},
    {"interfere", "N[:HOW]",
     "beside the ranks run N foreign processes on each core: busy (the default), or in bursts of 1 "
     "ms every 10; also time a barrier by a futex, and print ratios to it",
     0, ARGUMENT_OWN, .take = set_interfere},
    {"cold", NULL, "empty the caches before each call, outside the timing", 0, ARGUMENT_FLAG,
     AT(cold)},
    {"overlap", NULL,
     "also time calls with computation between start and wait, and print how much of the call that "
     "hides",
     0, ARGUMENT_FLAG, AT(overlap)},
    {"check", NULL,
     "compare every result with a reference, outside the timing (default: two results of each "
     "batch)",
     0, ARGUMENT_SET, AT(validation), VALIDATE_EVERY},
    {"no-check", NULL, "compare no result", 0, ARGUMENT_SET, AT(validation), VALIDATE_NONE},
    {"startup", NULL,
     "print the costs of starting: time to create the context, first calls, memory", 0,
     ARGUMENT_FLAG, AT(startup)},
    {"osu", NULL, "print in the layout of the OSU benchmarks (with -f)", 0, ARGUMENT_FLAG, AT(osu)},
    {"plant", "FAULT", "test this program by a fault that it has to find: straggler or wrong", 0,
     ARGUMENT_NAME, AT(plant), .what = "fault", .names = plants, .is_hidden = true},
    {0},
};

bool options_given(const struct options *o, const char *name)
{
    return arguments_given(table, o->given, name);
}

static error_t add_collective(struct argp_state *state, const char *text, void *arg)
{
    struct options *options = arg;
    int code = arguments_name(state, "collective", text, names_of_collectives, INT_MAX);

    if (code == NAME_ALL)
        options->collectives = (1u << COLLECTIVES) - (1u << COLL_BARRIER);
    else if (code > 0)
        options->collectives |= 1u << code;
    return code < 0 ? EINVAL : 0;
}

/* Computes the numbers of calls that were not given from those that were given. */
static void settle_calls(struct options *o)
{
    bool fixed = o->iterations > 0 && o->precision == 0 && o->budget_s == 0;

    if (fixed) {
        if (o->repeats > o->iterations)
            o->repeats = o->iterations;
        o->batch = (o->iterations + o->repeats - 1) / o->repeats;
        o->iterations = o->batch * o->repeats;
        return;
    }
    if (o->iterations == 0)
        o->iterations = CALLS_AT_END;
    if (o->precision == 0)
        o->precision = PRECISION;
    if (o->budget_s == 0)
        o->budget_s = BUDGET_S;
    /* The least number of batches has to fit into the largest number of calls. */
    o->batch = (o->iterations + o->repeats - 1) / o->repeats;
    if (o->batch > BATCH)
        o->batch = BATCH;
    o->batch_min = o->batch < BATCH_MIN ? o->batch : BATCH_MIN;
    o->iterations = (o->iterations + o->batch - 1) / o->batch * o->batch;
    if (o->repeats > o->iterations / o->batch)
        o->repeats = o->iterations / o->batch;
}

static error_t finish(struct argp_state *state, void *arg)
{
    struct options *options = arg;

    if (options->collectives == 0)
        options->collectives = 1u << COLL_BARRIER | 1u << COLL_ALLREDUCE;
    if (options->n_sizes == 0)
        add_sizes(options, 8, 65536);
    settle_calls(options);
    error_t error = options_check(state, options);
    if (options->distributions == 0)
        options->distributions = 1u << DISTRIBUTION_REGULAR;
    if (options->osu) /* OSU's benchmarks have a barrier before each call */
        options->start = START_BARRIER;
    return error;
}

void options_parse(int argc, char **argv, bool quiet, struct options *out)
{
    static const struct arguments arguments = {
        .table = table,
        .args_doc = "[COLLECTIVE|all]...",
        .doc = "Measures the latency of collectives. The time of a call is the maximum over ranks "
               "of each rank's own time; it is printed as median with its 95 % interval and "
               "percentiles. The loop is the time of many calls in a row, divided by their "
               "number.\vAll rows are measured in one run, taking turns in random order. "
               "'ncoll-bench plot' draws what --json has written (see ncoll-bench plot --help). "
               "Exit status: 0; 1 for a failure or a wrong result; 64 for a mistake on the command "
               "line.",
        .positional = add_collective,
        .finish = finish,
        .given_at = AT(given),
    };

    *out = (struct options){
        .cores = placement_cores(),
        .warmup = WARMUP,
        .repeats = REPEATS,
        .type = NCOLL_INT64,
        .op = NCOLL_SUM,
        .of = NCOLL_THRESHOLD_DATA,
        .validation = VALIDATE_SOME,
        .argc = argc,
        .argv = argv,
    };
    arguments_parse(&arguments, argc, argv, quiet, out);
    /* Only rank 0 writes; on the nodes of other ranks the folder may not exist. */
    if (!quiet)
        json_require(out->json);
}
