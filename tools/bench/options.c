/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/options.h"

#include <argp.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "algos/schedule.h"
#include "tools/arguments.h"
#include "tools/bench/distribution.h"
#include "tools/bench/names.h"
#include "tools/bench/options_check.h"
#include "tools/bench/options_method.h"
#include "tools/bench/placement.h"

#define RANKS_MAX 65536L

enum long_option {
    OPT_RADIX = 256,
    OPT_ALGORITHM,
    OPT_RAW,
    OPT_PERSISTENT,
    OPT_STRICT,
    OPT_TYPE,
    OPT_OP,
    OPT_BIND,
    OPT_NO_BIND,
    OPT_JSON,
    OPT_MEMORY,
    OPT_FRESH,
    OPT_DISTRIBUTION,
    OPT_MPI,
    OPT_BESIDE,
};

static const struct argp_option option_table[] = {
    {"ranks", 'n', "RANKS", 0, "start this many ranks (default 4, unless a launcher made them)", 0},
    {"transport", 't', "NAME", 0,
     "shm, verbs or shm+verbs (default: shm within a node, verbs between)", 0},
    {"sizes", 'm', "MIN:MAX", 0,
     "bytes of the vector or of each block, by powers of two (default 8:64K); or a list of such",
     0},
    {"algorithm", OPT_ALGORITHM, "NAME", 0, "force an algorithm (see ncoll-info)", 0},
    {"radix", OPT_RADIX, "N", 0,
     "force n of the n-way algorithms, 1..16, or a list, as 3,2,2: one for each round", 0},
    {"type", OPT_TYPE, "TYPE", 0, "element type (default int64)", 0},
    {"op", OPT_OP, "OP", 0, "operation of reductions (default sum)", 0},
    {"memory", OPT_MEMORY, "KIND", 0,
     "of the buffers: malloc (default), alloc: from ncoll_alloc(), or registered", 0},
    {"fresh", OPT_FRESH, NULL, 0,
     "write what is sent before each call, outside the timing, as applications do", 0},
    {"distribution", OPT_DISTRIBUTION, "HOW", 0,
     "sizes of the blocks in collectives with counts: regular (default), decreasing, broadcast or "
     "all; again for one more",
     0},
    {"raw", OPT_RAW, NULL, 0,
     "also time the transport's bare exchange and, on one node, bare flags and a plain copy, and "
     "print ratios to them",
     0},
    {"persistent", OPT_PERSISTENT, NULL, 0,
     "also time persistent requests, and print ratios to them", 0},
    {"strict", OPT_STRICT, NULL, 0,
     "also time calls with strict entry, strict exit and both, and print ratios to them", 0},
    {"mpi", OPT_MPI, "openmpi|mpich", OPTION_ARG_OPTIONAL,
     "also time an MPI's own collectives, and print ratios to them: has that MPI's launcher start "
     "the ranks",
     0},
    {"beside", OPT_BESIDE, "LIBRARY", 0,
     "also time another library's own collectives, and print ratios to them: ucc or gpi2; or an "
     "MPI, "
     "as with --mpi",
     0},
    {"bind", OPT_BIND, NULL, 0, "bind ranks to cores even if ranks outnumber cores", 0},
    {"no-bind", OPT_NO_BIND, NULL, 0, "do not bind ranks to cores", 0},
    {"json", OPT_JSON, "FILE", 0, "write results as JSON; - for standard output", 0},
    {0},
};

static error_t set_radix(struct argp_state *state, const char *text, struct options *options)
{
    options->radix = ncoll__radix_parse(text);
    if (options->radix != 0)
        return 0;
    argp_error(state, "radix must be a number in 1..%u, or a list of up to %u, not '%s'", RADIX_MAX,
               RADICES_MAX, text);
    return EINVAL;
}

/* Sizes from low to high, each twice the one before. */
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

/* MIN:MAX or one size, any number of them with commas between. */
static error_t set_sizes(struct argp_state *state, const char *text, struct options *options)
{
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
    if (ok)
        return 0;
    argp_error(state,
               "-m takes MIN:MAX in bytes, from 1, as in 8:64K or 1M:1M, or a list as in "
               "8,1K,64K:1M, not '%s'",
               text);
    return EINVAL;
}

static error_t set_transport(struct argp_state *state, const char *text, struct options *options)
{
    options->transport = text;
    return arguments_transport(state, text);
}

static error_t set_algorithm(struct argp_state *state, const char *text, struct options *options)
{
    options->algorithm = text;
    return arguments_algorithm(state, text) != NULL ? 0 : EINVAL;
}

static error_t set_type_or_op(struct argp_state *state, int key, const char *text,
                              struct options *options)
{
    const struct name *table = key == OPT_TYPE ? names_of_types : names_of_ops;
    int code = name_code(table, text);

    if (code < 0)
        return arguments_unknown(state, key == OPT_TYPE ? "type" : "operation", text, table);
    if (key == OPT_TYPE) {
        options->type = (ncoll_type)code;
        return 0;
    }
    options->op = (ncoll_op)code;
    options->given |= GIVEN_OP;
    return 0;
}

static error_t set_memory(struct argp_state *state, const char *text, struct options *options)
{
    int code = name_code(names_of_memory, text);

    if (code < 0)
        return arguments_unknown(state, "memory", text, names_of_memory);
    options->memory = (enum memory_kind)code;
    return 0;
}

static error_t add_distribution(struct argp_state *state, const char *text, struct options *options)
{
    int code = name_code(names_of_distributions, text);

    if (strcmp(text, "all") == 0) {
        for (const struct name *n = names_of_distributions; n->text != NULL; n++)
            options->distributions |= 1u << n->code;
        return 0;
    }
    if (code < 0)
        return arguments_unknown(state, "distribution", text, names_of_distributions);
    options->distributions |= 1u << code;
    return 0;
}

static error_t set_ranks(struct argp_state *state, const char *text, struct options *options)
{
    unsigned ranks = 0;
    error_t error = arguments_number(state, "the number of ranks", text, 1, RANKS_MAX, &ranks);

    options->ranks = (int)ranks;
    return error;
}

static error_t set_companion(struct argp_state *state, int key, const char *text,
                             struct options *options)
{
    const struct name *table = key == OPT_MPI ? names_of_mpis : names_of_companions;
    int code = text != NULL ? name_code(table, text) : COMPANION_MPI;

    if (code < 0)
        return arguments_unknown(state, key == OPT_MPI ? "MPI" : "library", text, table);
    options->companion = (enum companion)code;
    return 0;
}

static error_t add_collective(struct argp_state *state, const char *text, struct options *options)
{
    int code = name_code(names_of_collectives, text);

    if (strcmp(text, "all") == 0) {
        options->collectives = (1u << COLLECTIVES) - 2;
        return 0;
    }
    if (code < 0)
        return arguments_unknown(state, "collective", text, names_of_collectives);
    options->collectives |= 1u << code;
    return 0;
}

/* What is not given. */
static error_t finish(struct argp_state *state, struct options *options)
{
    if (options->collectives == 0)
        options->collectives = 1u << COLL_BARRIER | 1u << COLL_ALLREDUCE;
    if (options->n_sizes == 0)
        add_sizes(options, 8, 65536);
    error_t error = options_check(state, options);
    if (options->distributions == 0)
        options->distributions = 1u << DISTRIBUTION_REGULAR;
    if (options->osu) /* whose calls are kept apart by barriers */
        options->start = START_BARRIER;
    return error;
}

/* Options that take no argument. */
static error_t set_flag(int key, struct options *options)
{
    switch (key) {
    case OPT_RAW:
        options->raw = true;
        return 0;
    case OPT_PERSISTENT:
        options->persistent = true;
        return 0;
    case OPT_STRICT:
        options->strict = true;
        return 0;
    case OPT_NO_BIND:
        options->binding = BIND_NEVER;
        options->given |= GIVEN_NO_BIND;
        return 0;
    case OPT_BIND:
        options->binding = BIND_ALWAYS;
        options->given |= GIVEN_BIND;
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
        state->child_inputs[0] = options;
        return 0;
    case 'n':
        return set_ranks(state, arg, options);
    case 't':
        return set_transport(state, arg, options);
    case 'm':
        return set_sizes(state, arg, options);
    case OPT_RADIX:
        return set_radix(state, arg, options);
    case OPT_ALGORITHM:
        return set_algorithm(state, arg, options);
    case OPT_TYPE:
    case OPT_OP:
        return set_type_or_op(state, key, arg, options);
    case OPT_MEMORY:
        return set_memory(state, arg, options);
    case OPT_DISTRIBUTION:
        return add_distribution(state, arg, options);
    case OPT_FRESH:
        options->fresh = true;
        return 0;
    case OPT_JSON:
        options->json = arg;
        return 0;
    case OPT_MPI:
    case OPT_BESIDE:
        return set_companion(state, key, arg, options);
    case ARGP_KEY_ARG:
        return add_collective(state, arg, options);
    case ARGP_KEY_END:
        return finish(state, options);
    default:
        return set_flag(key, options);
    }
}

/* A long run should not end with a file that cannot be written. false: see errno. */
static bool can_write(const char *file)
{
    char copy[4096];
    struct stat there;
    bool is_there = stat(file, &there) == 0;

    errno = strlen(file) >= sizeof copy ? ENAMETOOLONG : is_there ? EISDIR : errno;
    if (strlen(file) >= sizeof copy || file[0] == '\0' || (is_there && S_ISDIR(there.st_mode)))
        return false;
    if (is_there && !S_ISREG(there.st_mode)) /* a device, or a pipe */
        return access(file, W_OK) == 0;
    strcpy(copy, file);
    return access(dirname(copy), W_OK | X_OK) == 0;
}

void options_parse(int argc, char **argv, bool quiet, struct options *out)
{
    static const struct argp_child children[] = {{&options_method, 0, "How it is measured:", 1},
                                                 {0}};
    static const struct argp argp = {
        .options = option_table,
        .parser = parse_one,
        .children = children,
        .args_doc = "[COLLECTIVE|all]...",
        .doc = "Measures the latency of collectives: per call the maximum over ranks of each "
               "rank's own time, as median with its 95 % interval, percentiles and maximum; and "
               "the time of many calls one after the other, divided by their number (loop).\v"
               "All rows are measured in one run, taking turns in random order. 'ncoll-bench plot' "
               "draws "
               "what --json has written (see ncoll-bench plot --help). Exit status: 0; 1 "
               "for a failure or a wrong result; 64 for a mistake on the command line.",
    };

    *out = (struct options){
        .cores = placement_cores(),
        .type = NCOLL_INT64,
        .op = NCOLL_SUM,
        .argc = argc,
        .argv = argv,
    };
    arguments_open();
    if (argp_parse(&argp, argc, argv, quiet ? ARGP_NO_ERRS : 0, NULL, out) != 0)
        exit(EXIT_USAGE);
    /* Rank 0 writes; others may be where there is no such folder. */
    if (out->json != NULL && strcmp(out->json, "-") != 0 && !quiet && !can_write(out->json)) {
        fprintf(stderr, "%s: cannot write '%s': %s\n", program_invocation_short_name, out->json,
                strerror(errno));
        exit(EXIT_FAILURE);
    }
}
