/* SPDX-License-Identifier: BSD-3-Clause */
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../cg/support.h"
#include "mf.h"

enum long_option {
    OPT_GENERATE = 256,
    OPT_SEED,
    OPT_WRITE,
    OPT_FACTORS, /* this and the following options say how to train */
    OPT_BATCH,
    OPT_RATE,
    OPT_USER_RATE,
    OPT_DECAY,
    OPT_SLACK,
    OPT_ALGORITHM,
    OPT_COMPUTE,
    OPT_JITTER,
    OPT_STRAGGLER,
    OPT_LINES,
    OPT_JSON,
};

static const struct argp_option option_table[] = {
    {"ranks", 'n', "RANKS", 0, "fork this many ranks (default: those of the launcher, else 1)", 0},
    {"generate", OPT_GENERATE, "USERS,MOVIES,RATINGS", 0,
     "make ratings up with the statistics of MovieLens, if there is no file (default "
     "943,1682,100000: the size of MovieLens 100K)",
     0},
    {"seed", OPT_SEED, "N", 0, "seed of all random numbers (default 1)", 0},
    {"write", OPT_WRITE, "FILE", 0, "only write the ratings that are made up, as csv", 0},
    {"iterations", 'i', "N", 0, "iterations of each rank (default 300)", 0},
    {"factors", OPT_FACTORS, "N", 0, "factors of each user and movie (default 8)", 0},
    {"batch", OPT_BATCH, "SHARE", 0, "share of the ratings in an iteration (default 0.3)", 0},
    {"rate", OPT_RATE, "RATE", 0,
     "step of movies along the mean gradient of a batch (default 0.15)", 0},
    {"user-rate", OPT_USER_RATE, "RATE", 0,
     "step of users along the gradient of a rating (default 0.005)", 0},
    {"decay", OPT_DECAY, "DECAY", 0, "weight of the squares of factors and biases (default 0.1)",
     0},
    {"slack", OPT_SLACK, "N", 0,
     "how many calls old contributions to the allreduce may be (default 0)", 0},
    {"algorithm", OPT_ALGORITHM, "NAME", 0,
     "of the allreduce with slack: auto (default), hypercube, slices or ring", 0},
    {"compute-us", OPT_COMPUTE, "US", 0,
     "each iteration computes for this time, by sleeping for what its work leaves of it (default "
     "0: "
     "as long as its work takes)",
     0},
    {"jitter", OPT_JITTER, "PERCENT", 0,
     "the time of an iteration is random, and differs by up to this from --compute-us (default 0)",
     0},
    {"straggler", OPT_STRAGGLER, "RANK:FACTOR", 0,
     "iterations of this rank take FACTOR times as long. random:PROBABILITY:FACTOR: each iteration "
     "of each rank does with this probability. May be repeated",
     0},
    {"lines", OPT_LINES, "N", 0, "print so many of the iterations (default 20)", 0},
    {"json", OPT_JSON, "FILE", OPTION_ARG_OPTIONAL,
     "write all iterations as JSON, to standard output if no FILE is given", 0},
    {0},
};

struct parse {
    struct mf_options *options;
    bool generate, training; /* options for this were given */
};

/* ------------------------------------------------------------------ numbers ------------------ */

/* Returns true if the whole text is a decimal number in low..high. */
static bool real_number(const char *text, double low, double high, double *out)
{
    char *end;
    double value = strtod(text, &end);

    if (text[0] == '\0' || *end != '\0' || text[strspn(text, ".0123456789eE+-")] != '\0' ||
        !(value >= low && value <= high))
        return false;
    *out = value;
    return true;
}

static error_t take_real(const struct argp_state *state, const char *what, const char *text,
                         double low, double high, double *out)
{
    if (real_number(text, low, high, out))
        return 0;
    argp_error(state, "%s takes a number from %g to %g, not '%s'", what, low, high, text);
    return EINVAL;
}

static error_t take_number(const struct argp_state *state, const char *what, const char *text,
                           long low, long high, long *out)
{
    long value = parse_number(text, low, high);

    if (value < 0) {
        argp_error(state, "%s takes a number in %ld..%ld, not '%s'", what, low, high, text);
        return EINVAL;
    }
    *out = value;
    return 0;
}

/* ------------------------------------------------------------------ options ------------------ */

bool straggler_parse(const char *text, struct straggler *out)
{
    static const char random[] = "random:";
    bool any = strncmp(text, random, strlen(random)) == 0;
    const char *first = any ? text + strlen(random) : text, *colon = strchr(first, ':');
    struct straggler s = {.rank = -1, .chance = 1};
    char copy[32];

    if (colon == NULL || (size_t)(colon - first) >= sizeof copy)
        return false;
    memcpy(copy, first, (size_t)(colon - first));
    copy[colon - first] = '\0';
    if (!real_number(colon + 1, 1, 1000, &s.factor))
        return false;
    if (any && !real_number(copy, 0, 1, &s.chance))
        return false;
    if (!any && (s.rank = (int)parse_number(copy, 0, INT32_MAX)) < 0)
        return false;
    *out = s;
    return true;
}

static error_t add_straggler(struct argp_state *state, const char *text, struct pace *pace)
{
    struct straggler *s = &pace->stragglers[pace->n_stragglers];

    if (pace->n_stragglers == STRAGGLERS_MAX) {
        argp_error(state, "at most %d stragglers", STRAGGLERS_MAX);
        return EINVAL;
    }
    if (!straggler_parse(text, s)) {
        argp_error(state,
                   "--straggler takes RANK:FACTOR, as in 3:2, or random:PROBABILITY:FACTOR, as in "
                   "random:0.1:4, with a factor from 1 to 1000; not '%s'",
                   text);
        return EINVAL;
    }
    pace->n_stragglers++;
    return 0;
}

static error_t set_shape(struct argp_state *state, const char *text, struct ratings_shape *shape)
{
    int64_t numbers[3];
    char copy[64], *rest = copy, *item;
    unsigned n = 0;
    bool ok = strlen(text) < sizeof copy;

    if (ok)
        strcpy(copy, text);
    while (ok && (item = strsep(&rest, ",")) != NULL) {
        long value = parse_number(item, 1, 1000000000);
        ok = n < 3 && value > 0;
        if (ok)
            numbers[n++] = value;
    }
    if (!ok || n != 3) {
        argp_error(state, "--generate takes three numbers, as in 943,1682,100000, not '%s'", text);
        return EINVAL;
    }
    *shape = (struct ratings_shape){(int32_t)numbers[0], (int32_t)numbers[1], numbers[2]};
    if (numbers[1] < 2 * RATINGS_OF_USER || numbers[2] < numbers[0] * RATINGS_OF_USER ||
        numbers[2] > numbers[0] * numbers[1] / 4) {
        argp_error(state,
                   "--generate: each user rates from %d movies to a quarter of all on average, and "
                   "there are at least %d movies: not '%s'",
                   RATINGS_OF_USER, 2 * RATINGS_OF_USER, text);
        return EINVAL;
    }
    return 0;
}

static error_t set_algorithm(struct argp_state *state, const char *text, struct mf_options *options)
{
    static const char *const names[] = {
        [NCOLL_STALE_AUTO] = "auto",
        [NCOLL_STALE_HYPERCUBE] = "hypercube",
        [NCOLL_STALE_SLICES] = "slices",
        [NCOLL_STALE_RING] = "ring",
    };

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(text, names[i]) == 0) {
            options->algorithm = (ncoll_stale_algorithm)i;
            return 0;
        }
    argp_error(state, "--algorithm takes auto, hypercube, slices or ring, not '%s'", text);
    return EINVAL;
}

static error_t set_seed(struct argp_state *state, const char *text, struct mf_options *options)
{
    char *end;

    errno = 0;
    uint64_t seed = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0) {
        argp_error(state, "--seed takes a number, not '%s'", text);
        return EINVAL;
    }
    options->steps.seed = options->pace.seed = seed;
    return 0;
}

/* Checks the options together, once all are known. */
static error_t finish(struct argp_state *state, const struct parse *parse)
{
    const struct mf_options *o = parse->options;

    if (o->file != NULL && (parse->generate || o->write != NULL)) {
        argp_error(state, "give a file, or --generate and --write, not both");
        return EINVAL;
    }
    if (o->write != NULL && parse->training) {
        argp_error(state,
                   "--write writes ratings and trains nothing: --generate and --seed are all "
                   "that it goes with");
        return EINVAL;
    }
    for (unsigned i = 0; o->ranks > 0 && i < o->pace.n_stragglers; i++)
        if (o->pace.stragglers[i].rank >= o->ranks) {
            argp_error(state, "--straggler: there is no rank %d: -n %d", o->pace.stragglers[i].rank,
                       o->ranks);
            return EINVAL;
        }
    return 0;
}

static error_t parse_training(int key, char *arg, struct argp_state *state,
                              struct mf_options *options)
{
    long number = 0;
    error_t error = 0;

    switch (key) {
    case 'n':
        error = take_number(state, "-n", arg, 1, 65536, &number);
        options->ranks = (int)number;
        return error;
    case 'i':
        error = take_number(state, "-i", arg, 1, 1000000, &number);
        options->iterations = (unsigned)number;
        return error;
    case OPT_FACTORS:
        error = take_number(state, "--factors", arg, 1, FACTORS_MAX, &number);
        options->factors = (unsigned)number;
        return error;
    case OPT_BATCH:
        return take_real(state, "--batch", arg, 0.0001, 1, &options->steps.batch);
    case OPT_RATE:
        return take_real(state, "--rate", arg, 0, 100, &options->steps.movie_rate);
    case OPT_USER_RATE:
        return take_real(state, "--user-rate", arg, 0, 100, &options->steps.user_rate);
    case OPT_DECAY:
        return take_real(state, "--decay", arg, 0, 10, &options->steps.decay);
    case OPT_SLACK:
        error = take_number(state, "--slack", arg, 0, 65535, &number);
        options->slack = (int)number;
        return error;
    case OPT_ALGORITHM:
        return set_algorithm(state, arg, options);
    case OPT_COMPUTE:
        error = take_number(state, "--compute-us", arg, 0, 100000000, &number);
        options->pace.compute_ns = (uint64_t)number * 1000;
        return error;
    case OPT_JITTER:
        error = take_real(state, "--jitter", arg, 0, 100, &options->pace.jitter);
        options->pace.jitter /= 100;
        return error;
    case OPT_STRAGGLER:
        return add_straggler(state, arg, &options->pace);
    case OPT_LINES:
        error = take_number(state, "--lines", arg, 1, 1000000, &number);
        options->lines = (unsigned)number;
        return error;
    default:
        options->json = arg != NULL ? arg : "-";
        return 0;
    }
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
    struct parse *parse = state->input;
    struct mf_options *options = parse->options;

    switch (key) {
    case OPT_GENERATE:
        parse->generate = true;
        return set_shape(state, arg, &options->shape);
    case OPT_SEED:
        return set_seed(state, arg, options);
    case OPT_WRITE:
        options->write = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->file != NULL) {
            argp_error(state, "one file of ratings at a time");
            return EINVAL;
        }
        options->file = arg;
        return 0;
    case ARGP_KEY_END:
        return finish(state, parse);
    default:
        if (key != 'n' && key != 'i' && (key < OPT_FACTORS || key > OPT_JSON))
            return ARGP_ERR_UNKNOWN;
        parse->training = true;
        return parse_training(key, arg, state, options);
    }
}

void mf_options_parse(int argc, char **argv, bool quiet, struct mf_options *out)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = parse_one,
        .args_doc = "[FILE]",
        .doc = "Factorises a matrix of ratings by stochastic gradient descent, with a "
               "stale-synchronous allreduce: how soon does it reach which error if ranks need not "
               "wait for each other?\v"
               "FILE has ratings in a format of MovieLens: lines of user,movie,rating,timestamp "
               "with commas, tabs or '::'.\n\n"
               "Exit status: 0; 1 for a failure; 64 for a mistake on the command line.",
    };
    static char version[64];
    struct parse parse = {.options = out};

    *out = (struct mf_options){
        .shape = {.users = 943, .movies = 1682, .n = 100000},
        .factors = 8,
        .iterations = 300,
        .steps = {.user_rate = 0.005, .movie_rate = 0.15, .decay = 0.1, .batch = 0.3, .seed = 1},
        .pace.seed = 1,
        .lines = 20,
    };
    snprintf(version, sizeof version, "ncoll %s", ncoll_version());
    argp_program_version = version;
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&argp, argc, argv, quiet ? ARGP_NO_ERRS : 0, NULL, &parse) != 0)
        exit(EXIT_USAGE);
}
