/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of ncoll-bench and of its companions, each built with another library.
 */
#ifndef NCOLL_TOOLS_BENCH_OPTIONS_H
#define NCOLL_TOOLS_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ncoll_eventual.h"
#include "tools/arguments.h"

enum binding {
    BIND_IF_ROOM, /* one rank for each core, unless ranks outnumber cores */
    BIND_ALWAYS,
    BIND_NEVER,
};

/* The memory of the buffers of the collectives. */
enum memory_kind {
    MEMORY_MALLOC,
    MEMORY_ALLOC,      /* from ncoll_alloc() */
    MEMORY_REGISTERED, /* from malloc(), registered with ncoll_mem_register() */
};

/* The programs built with another library. */
enum companion {
    COMPANION_NONE,
    COMPANION_MPI, /* any MPI that is installed */
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
    SKEW_ALL, /* each rank is late by a random time, drawn for each call */
};

/* The results that are compared with a serial evaluation. */
enum validation {
    VALIDATE_NONE,
    VALIDATE_SOME,  /* an untimed call and the last one of a batch (batch.c) */
    VALIDATE_EVERY, /* every call */
};

/* Faults that the benchmark plants, and that its checks have to find. */
enum plant {
    PLANT_NONE,
    PLANT_STRAGGLER, /* the last rank is late in every hundredth call */
    PLANT_WRONG,     /* a rank's result has a wrong bit */
};

#define SIZES_MAX     64
#define FRACTIONS_MAX 16
#define DEFAULT_RANKS 4

struct options {
    int ranks; /* number of ranks on this machine; 0: a launcher starts and binds them */
    int cores; /* number of cores that this process may use, before ranks are bound */
    enum companion companion;
    const char *transport;
    const struct algorithm *algorithm; /* NULL: as the library chooses */
    unsigned radix;                    /* 0: as the library chooses */
    const char *json;                  /* file, "-" for stdout; NULL: none */
    size_t sizes[SIZES_MAX];           /* bytes */
    unsigned n_sizes;
    size_t max_bytes;
    double fractions[FRACTIONS_MAX]; /* of bcast and reduce with a threshold */
    unsigned n_fractions;            /* 0: they are not measured */
    ncoll_threshold_of of;
    unsigned iterations; /* most timed calls of a row */
    unsigned warmup;     /* untimed calls before each batch */
    unsigned repeats;    /* number of batches of a row if it is fixed, otherwise the least */
    unsigned batch;      /* most calls of a batch */
    unsigned batch_min;  /* least calls of a batch if time is short; 0: `batch` calls always */
    double precision;    /* percent: width of the median's interval; 0: number of calls is fixed */
    double budget_s;     /* no batch begins after this time; 0: no limit */
    uint64_t seed;       /* seed of all random numbers */
    bool has_seed;
    enum start_kind start;
    unsigned skew_us; /* 0: none */
    enum skew_kind skew;
    bool cold; /* caches are emptied before each call */
    ncoll_type type;
    ncoll_op op;
    enum binding binding;
    enum memory_kind memory;
    bool persistent;   /* also as persistent requests */
    bool strict;       /* also with strict entry, strict exit and both */
    bool ssp;          /* also the stale-synchronous allreduce */
    ncoll_codec codec; /* also compressed by this one; size 0: not */
    bool feedback;     /* with error feedback */
    bool fresh;        /* IN is written before each call */
    enum validation validation;
    enum plant plant;
    bool overlap; /* also with computation between start and wait */
    bool startup; /* prints what starting has cost */
    bool osu;     /* prints OSU's layout instead of the table */
    bool wide;    /* prints the table with all columns */
    bool raw;
    unsigned interfere;     /* foreign processes on each core */
    bool in_bursts;         /* they come in bursts, and do not compute all the time */
    unsigned collectives;   /* bits 1u << code, see names.h */
    unsigned distributions; /* bits 1u << enum distribution, of collectives with counts */
    uint64_t given;         /* see options_given() */
    int argc;               /* the command line as it was given */
    char **argv;
};

/* Reads the command line. A mistake ends the process with EXIT_USAGE (tools/arguments.h). It is
 * printed on stderr, unless `quiet` is set since another rank prints it. */
void options_parse(int argc, char **argv, bool quiet, struct options *out);

/* True if the command line has the option of that name. */
bool options_given(const struct options *o, const char *name);

/* Checks that the options can be carried out, and that each of them has an effect
 * (options_check.c). Returns 0, or EINVAL after printing the mistake. Collectives and sizes are
 * those of the run. */
error_t options_check(const struct argp_state *state, const struct options *o);

#endif
