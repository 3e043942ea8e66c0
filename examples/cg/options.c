/* SPDX-License-Identifier: BSD-3-Clause */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "cg.h"

enum long_option {
    OPT_POISSON = 256,
    OPT_WRITE,
    OPT_WITH, /* this and the following options say how to solve */
    OPT_BLOCKS,
    OPT_TOLERANCE,
    OPT_REPEAT,
    OPT_NO_BARRIERS,
    OPT_UNTUNED,
    OPT_HISTORY,
};

static const struct argp_option option_table[] = {
    {"ranks", 'n', "RANKS", 0, "fork this many ranks (default: those of the launcher, else 1)", 0},
    {"poisson", OPT_POISSON, "X,Y,Z", 0,
     "solve for the Laplace operator on a grid of this size, not for a file (default 32,32,32)", 0},
    {"write", OPT_WRITE, "FILE", 0, "only write that matrix, as a Matrix Market file", 0},
    {"with", OPT_WITH, "LIBRARY", 0,
     "ncoll (default), mpi, or both in turns; mpi only in ncoll-cg-openmpi and ncoll-cg-mpich", 0},
    {"iterations", 'i', "N", 0, "at most this many iterations (default 1000)", 0},
    {"tolerance", OPT_TOLERANCE, "T", 0,
     "stop when the residual is at most T times the first one (default 1e-8)", 0},
    {"blocks", OPT_BLOCKS, "N", 0,
     "sum dot products in this many blocks of rows (default 64): residuals then have the same bits "
     "for every number of ranks up to N. 0: each rank sends one number, and bits may differ",
     0},
    {"repeat", OPT_REPEAT, "N", 0, "solve this many times with each library (default 3)", 0},
    {"no-barriers", OPT_NO_BARRIERS, NULL, 0,
     "no barriers before exchanges and dot products, whose times then include waiting for slower "
     "ranks",
     0},
    {"untuned", OPT_UNTUNED, NULL, 0,
     "also solve with ncoll without its tuning table (NCOLL_TUNE=off), in turns", 0},
    {"history", OPT_HISTORY, "FILE", OPTION_ARG_OPTIONAL,
     "write the residual after each iteration, to standard output if no FILE is given", 0},
    {0},
};

struct parse {
    struct cg_options *options;
    bool has_mpi;
    bool poisson;
    bool solving; /* an option that says how to solve was given */
};

static error_t take_number(const struct argp_state *state, const char *what, const char *text,
                           long low, long high, unsigned *out)
{
    long value = parse_number(text, low, high);

    if (value < 0) {
        argp_error(state, "%s must be a number in %ld..%ld, not '%s'", what, low, high, text);
        return EINVAL;
    }
    *out = (unsigned)value;
    return 0;
}

static error_t set_grid(struct argp_state *state, const char *text, struct parse *parse)
{
    struct grid *grid = &parse->options->grid;
    int64_t *sides[3] = {&grid->x, &grid->y, &grid->z}, points = 1;
    char copy[64], *rest = copy, *item;
    unsigned n = 0;
    bool ok = strlen(text) < sizeof copy;

    if (ok)
        strcpy(copy, text);
    while (ok && (item = strsep(&rest, ",")) != NULL) {
        long side = parse_number(item, 1, INT32_MAX);
        ok = n < 3 && side > 0 && points <= GRID_MAX / side;
        if (ok) {
            *sides[n++] = side;
            points *= side;
        }
    }
    parse->poisson = true;
    if (ok && n == 3)
        return 0;
    argp_error(state, "--poisson takes three numbers of points, as in 64,64,64, not '%s'", text);
    return EINVAL;
}

static error_t set_with(struct argp_state *state, const char *text, const struct parse *parse)
{
    bool both = strcmp(text, "both") == 0;
    bool ncoll = both || strcmp(text, "ncoll") == 0, mpi = both || strcmp(text, "mpi") == 0;

    if (!ncoll && !mpi) {
        argp_error(state, "--with takes ncoll, mpi or both, not '%s'", text);
        return EINVAL;
    }
    if (mpi && !parse->has_mpi) {
        argp_error(state, "this program knows no MPI: take ncoll-cg-openmpi or ncoll-cg-mpich, "
                          "under the MPI's launcher");
        return EINVAL;
    }
    parse->options->with[0] = ncoll;
    parse->options->with[1] = mpi;
    return 0;
}

static error_t set_ranks(struct argp_state *state, const char *text, const struct parse *parse)
{
    unsigned ranks = 0;

    if (parse->has_mpi) {
        argp_error(state, "-n does not go here: the launcher says how many ranks there are");
        return EINVAL;
    }
    error_t error = take_number(state, "the number of ranks", text, 1, 65536, &ranks);
    parse->options->ranks = (int)ranks;
    return error;
}

static error_t set_tolerance(struct argp_state *state, const char *text, struct cg_options *options)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !(value >= 0 && value < 1)) {
        argp_error(state, "--tolerance takes a number from 0 to below 1, not '%s'", text);
        return EINVAL;
    }
    options->tolerance = value;
    return 0;
}

/* Checks the options together, once all are known. */
static error_t finish(struct argp_state *state, const struct parse *parse)
{
    const struct cg_options *o = parse->options;

    if (o->file != NULL && parse->poisson) {
        argp_error(state, "give a file or --poisson, not both");
        return EINVAL;
    }
    if (o->write != NULL && (o->file != NULL || parse->has_mpi)) {
        argp_error(state, "--write is for ncoll-cg, with --poisson");
        return EINVAL;
    }
    if (o->write != NULL && parse->solving) {
        argp_error(state, "--write writes a matrix and solves nothing: --poisson is all that it "
                          "goes with");
        return EINVAL;
    }
    if (o->blocks > 0 && o->ranks > 0 && o->blocks < (unsigned)o->ranks) {
        argp_error(state, "more ranks than blocks of rows: -n %d, --blocks %u", o->ranks,
                   o->blocks);
        return EINVAL;
    }
    return 0;
}

static error_t parse_one(int key, char *arg, struct argp_state *state)
{
    struct parse *parse = state->input;
    struct cg_options *options = parse->options;

    if (key == 'n' || key == 'i' || (key >= OPT_WITH && key <= OPT_HISTORY))
        parse->solving = true;
    switch (key) {
    case 'n':
        return set_ranks(state, arg, parse);
    case 'i':
        return take_number(state, "-i", arg, 0, 1000000, &options->iterations);
    case OPT_POISSON:
        return set_grid(state, arg, parse);
    case OPT_WRITE:
        options->write = arg;
        return 0;
    case OPT_WITH:
        return set_with(state, arg, parse);
    case OPT_BLOCKS:
        return take_number(state, "--blocks", arg, 0, 65536, &options->blocks);
    case OPT_TOLERANCE:
        return set_tolerance(state, arg, options);
    case OPT_REPEAT:
        return take_number(state, "--repeat", arg, 1, 100000, &options->repeats);
    case OPT_NO_BARRIERS:
        options->barriers = false;
        return 0;
    case OPT_UNTUNED:
        options->untuned = true;
        return 0;
    case OPT_HISTORY:
        options->history = arg != NULL ? arg : "-";
        return 0;
    case ARGP_KEY_ARG:
        if (options->file != NULL) {
            argp_error(state, "one matrix at a time");
            return EINVAL;
        }
        options->file = arg;
        return 0;
    case ARGP_KEY_END:
        return finish(state, parse);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void cg_options_parse(int argc, char **argv, bool has_mpi, bool quiet, struct cg_options *out)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = parse_one,
        .args_doc = "[FILE.mtx]",
        .doc =
            "Solves A x = (1, .., 1) by conjugate gradients on distributed rows, and shows where "
            "the time goes.\v"
            "Exit status: 0; 1 for a failure; 64 for a mistake on the command line.",
    };
    static char version[64];
    struct parse parse = {.options = out, .has_mpi = has_mpi};

    *out = (struct cg_options){
        .grid = {32, 32, 32},
        .blocks = 64,
        .iterations = 1000,
        .tolerance = 1e-8,
        .repeats = 3,
        .barriers = true,
        .with = {true},
    };
    snprintf(version, sizeof version, "ncoll %s", ncoll_version());
    argp_program_version = version;
    argp_err_exit_status = EXIT_USAGE;
    if (argp_parse(&argp, argc, argv, quiet ? ARGP_NO_ERRS : 0, NULL, &parse) != 0)
        exit(EXIT_USAGE);
}
