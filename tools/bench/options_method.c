/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/options_method.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/arguments.h"

#define ITERATIONS_MAX 100000000L
#define SKEW_MAX_US    1000000L
#define BUDGET_MAX_S   1e9

/* Where the number of calls is not fixed. */
#define PRECISION    5.0  /* percent */
#define BUDGET_S     60.0 /* of the whole run */
#define BATCH        100u
#define BATCH_MIN    10u /* of slow calls */
#define CALLS_AT_END 100000u

#define WARMUP  20
#define REPEATS 10

enum method_option {
    OPT_WARMUP = 512,
    OPT_REPEAT,
    OPT_PRECISION,
    OPT_BUDGET,
    OPT_SEED,
    OPT_START,
    OPT_SKEW,
    OPT_COLD,
    OPT_OVERLAP,
    OPT_CHECK,
    OPT_NO_CHECK,
    OPT_STARTUP,
    OPT_OSU,
    OPT_PLANT,
};

static const struct argp_option option_table[] = {
    {"iterations", 'i', "N", 0,
     "timed calls per row; with --precision or --budget: at most (default 100000)", 0},
    {"precision", OPT_PRECISION, "PERCENT", 0,
     "measure until the 95 % interval of the median is within so much of it (default 5, unless -i "
     "is given)",
     0},
    {"budget", OPT_BUDGET, "SECONDS", 0,
     "begin no more batches after so long, but for the first of each row (default 60, unless -i is "
     "given)",
     0},
    {"warmup", OPT_WARMUP, "N", 0, "untimed calls before each batch (default 20)", 0},
    {"repeat", OPT_REPEAT, "R", 0,
     "batches per row, the rows taking turns; with --precision: at least (default 10)", 0},
    {"seed", OPT_SEED, "N", 0, "of all that is drawn at random (default: a new one, printed)", 0},
    {"start", OPT_START, "HOW", 0,
     "a call begins when the one before has ended (follow, the default), after a barrier, or in a "
     "window of synchronised clocks",
     0},
    {"skew", OPT_SKEW, "US[:WHO]", 0,
     "before each call a rank drawn at random is late by so many microseconds (one, the default), "
     "or each by a time drawn from 0 to that (all); times count from the last one's entry",
     0},
    {"cold", OPT_COLD, NULL, 0, "empty the caches before each call, outside the timing", 0},
    {"overlap", OPT_OVERLAP, NULL, 0,
     "also with computation between start and wait, and print how much of it was hidden", 0},
    {"check", OPT_CHECK, NULL, 0,
     "compare every result with a reference, outside the timing; default: two of each batch", 0},
    {"no-check", OPT_NO_CHECK, NULL, 0, "compare no result", 0},
    {"startup", OPT_STARTUP, NULL, 0,
     "print what starting has cost: the time to create the context, the first calls, memory", 0},
    {"osu", OPT_OSU, NULL, 0, "print in the layout of the OSU benchmarks (with -f)", 0},
    {"plant", OPT_PLANT, "FAULT", OPTION_HIDDEN,
     "test this program by a fault that it has to find: straggler or wrong", 0},
    {0},
};

static const struct name starts[] = {
    {"follow", START_FOLLOW}, {"barrier", START_BARRIER}, {"window", START_WINDOW}, {NULL, 0}};
static const struct name skews[] = {{"one", SKEW_ONE}, {"all", SKEW_ALL}, {NULL, 0}};
static const struct name plants[] = {
    {"straggler", PLANT_STRAGGLER}, {"wrong", PLANT_WRONG}, {NULL, 0}};

static error_t set_seed(struct argp_state *state, const char *text, struct options *options)
{
    char *end;

    errno = 0;
    options->seed = strtoull(text, &end, 0);
    options->has_seed = errno == 0 && end != text && *end == '\0' && text[0] != '-';
    if (options->has_seed)
        return 0;
    argp_error(state, "--seed must be a number of up to 64 bits, not '%s'", text);
    return EINVAL;
}

/* One name of a table. */
static error_t set_named(struct argp_state *state, const char *what, const char *text,
                         const struct name *table, int *out)
{
    *out = name_code(table, text);
    return *out < 0 ? arguments_unknown(state, what, text, table) : 0;
}

static error_t set_start(struct argp_state *state, const char *text, struct options *options)
{
    int code;
    error_t error = set_named(state, "start", text, starts, &code);

    options->start = (enum start_kind)code;
    options->given |= GIVEN_START;
    return error;
}

static error_t set_skew(struct argp_state *state, const char *text, struct options *options)
{
    char number[16] = "";
    const char *who = strchr(text, ':');
    size_t digits = who != NULL ? (size_t)(who - text) : strlen(text);
    int code = SKEW_ONE;

    if (digits < sizeof number)
        memcpy(number, text, digits);
    error_t error = arguments_number(state, "--skew", number, 1, SKEW_MAX_US, &options->skew_us);
    if (error == 0 && who != NULL)
        error = set_named(state, "skew", who + 1, skews, &code);
    options->skew = (enum skew_kind)code;
    return error;
}

static error_t set_plant(struct argp_state *state, const char *text, struct options *options)
{
    int code;
    error_t error = set_named(state, "fault", text, plants, &code);

    options->plant = (enum plant)code;
    return error;
}

/* How many calls: what was not given, from what was. */
static void settle(struct options *o)
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

static error_t set_flag(int key, struct options *options)
{
    switch (key) {
    case OPT_COLD:
        options->cold = true;
        return 0;
    case OPT_OVERLAP:
        options->overlap = true;
        return 0;
    case OPT_CHECK:
        options->validation = VALIDATE_EVERY;
        options->given |= GIVEN_CHECK;
        return 0;
    case OPT_NO_CHECK:
        options->validation = VALIDATE_NONE;
        options->given |= GIVEN_NO_CHECK;
        return 0;
    case OPT_STARTUP:
        options->startup = true;
        return 0;
    case OPT_OSU:
        options->osu = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        options->warmup = WARMUP;
        options->repeats = REPEATS;
        options->validation = VALIDATE_SOME;
        return 0;
    case 'i':
        return arguments_number(state, "-i", arg, 1, ITERATIONS_MAX, &options->iterations);
    case OPT_WARMUP:
        return arguments_number(state, "--warmup", arg, 0, ITERATIONS_MAX, &options->warmup);
    case OPT_REPEAT:
        return arguments_number(state, "--repeat", arg, 1, ITERATIONS_MAX, &options->repeats);
    case OPT_PRECISION:
        return arguments_real(state, "--precision", arg, 0, 100, &options->precision);
    case OPT_BUDGET:
        return arguments_real(state, "--budget", arg, 0, BUDGET_MAX_S, &options->budget_s);
    case OPT_SEED:
        return set_seed(state, arg, options);
    case OPT_START:
        return set_start(state, arg, options);
    case OPT_SKEW:
        return set_skew(state, arg, options);
    case OPT_PLANT:
        return set_plant(state, arg, options);
    case ARGP_KEY_END:
        settle(options);
        return 0;
    default:
        return set_flag(key, options);
    }
}

const struct argp options_method = {.options = option_table, .parser = parse_one};
