/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of ncoll-bench and of its companions, each built with another library.
 */
#ifndef NCOLL_TOOLS_BENCH_OPTIONS_H
#define NCOLL_TOOLS_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ncoll.h"
#include "tools/arguments.h"

enum binding {
    BIND_IF_ROOM, /* one rank a core, unless ranks outnumber cores */
    BIND_ALWAYS,
    BIND_NEVER,
};

/* The memory of the buffers of the collectives. */
enum memory_kind {
    MEMORY_MALLOC,
    MEMORY_ALLOC,      /* from ncoll_alloc() */
    MEMORY_REGISTERED, /* malloc, and ncoll_mem_register() */
};

/* The programs built with another library. */
enum companion {
    COMPANION_NONE,
    COMPANION_MPI, /* whichever MPI there is */
    COMPANION_OPENMPI,
    COMPANION_MPICH,
    COMPANION_UCC,
    COMPANION_GPI2,
    COMPANIONS
};

/* How a call begins. */
enum start_kind {
    START_FOLLOW,  /* when the one before has ended */
    START_BARRIER, /* after a barrier */
    START_WINDOW,  /* at a time of a clock that all ranks share */
};

enum skew_kind {
    SKEW_ONE, /* a rank drawn for each call is late */
    SKEW_ALL, /* each rank is, by a time drawn for each call */
};

/* The results that are compared with a serial evaluation. */
enum validation {
    VALIDATE_NONE,
    VALIDATE_SOME,  /* an untimed call and the last one of a batch (batch.c) */
    VALIDATE_EVERY, /* every call */
};

/* Faults of the benchmark's own, which it has to find. */
enum plant {
    PLANT_NONE,
    PLANT_STRAGGLER, /* the last rank is late in every hundredth call */
    PLANT_WRONG,     /* a rank's result has a wrong bit */
};

#define SIZES_MAX     64
#define DEFAULT_RANKS 4

struct options {
    int ranks; /* on this machine; 0: the launcher's affair, as it binds them */
    int cores; /* that this process may use, before ranks are bound */
    enum companion companion;
    const char *transport;
    const struct algorithm *algorithm; /* NULL: as the library chooses */
    unsigned radix;                    /* 0: as the library chooses */
    const char *json;                  /* file, "-" for stdout; NULL: none */
    size_t sizes[SIZES_MAX];           /* bytes */
    unsigned n_sizes;
    size_t max_bytes;
    unsigned iterations; /* timed, per row: at most */
    unsigned warmup;     /* untimed, before each batch */
    unsigned repeats;    /* batches per row: at least, or if the number is fixed */
    unsigned batch;      /* calls of a batch: at most */
    unsigned batch_min;  /* where the budget is short of time; 0: as many always */
    double precision;    /* percent, of the median's interval; 0: the number of calls is fixed */
    double budget_s;     /* no batch begins later; 0: none */
    uint64_t seed;       /* of all that is drawn */
    bool has_seed;
    enum start_kind start;
    unsigned skew_us; /* 0: none */
    enum skew_kind skew;
    bool cold; /* caches are emptied before each call */
    ncoll_type type;
    ncoll_op op;
    enum binding binding;
    enum memory_kind memory;
    bool persistent; /* also as persistent requests */
    bool strict;     /* also with strict entry, strict exit and both */
    bool fresh;      /* IN is written before each call */
    enum validation validation;
    enum plant plant;
    bool overlap; /* also with computation between start and wait */
    bool startup; /* prints what starting has cost */
    bool osu;     /* prints OSU's layout instead of the table */
    bool wide;    /* prints the table with all columns */
    bool raw;
    unsigned collectives;   /* bits 1u << code, see names.h */
    unsigned distributions; /* bits 1u << enum distribution, of collectives with counts */
    uint64_t given;         /* see options_given() */
    int argc;               /* the command line as it was given */
    char **argv;
};

/* Reads the command line. A mistake is said on stderr, unless `quiet` (another rank says it), and
 * ends the process with EXIT_USAGE (tools/arguments.h). */
void options_parse(int argc, char **argv, bool quiet, struct options *out);

/* True if the command line has the option of that name. */
bool options_given(const struct options *o, const char *name);

/* Complains of options that cannot be done, or that would be done without a word of what they ask
 * for (options_check.c): EINVAL; else 0. Collectives and sizes are those of the run. */
error_t options_check(const struct argp_state *state, const struct options *o);

#endif
