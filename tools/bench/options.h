/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of ncoll-bench and of its companions, which are built with an MPI.
 */
#ifndef NCOLL_TOOLS_BENCH_OPTIONS_H
#define NCOLL_TOOLS_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "ncoll.h"

#define EXIT_USAGE 64 /* EX_USAGE */

enum binding {
    BIND_IF_ROOM, /* one rank a core, unless ranks outnumber cores */
    BIND_ALWAYS,
    BIND_NEVER,
};

/* Of the buffers of the collectives. */
enum memory_kind {
    MEMORY_MALLOC,
    MEMORY_ALLOC,      /* from ncoll_alloc() */
    MEMORY_REGISTERED, /* malloc, and ncoll_mem_register() */
};

/* The programs built with an MPI. */
enum companion {
    COMPANION_NONE,
    COMPANION_ANY, /* whichever there is */
    COMPANION_OPENMPI,
    COMPANION_MPICH,
    COMPANIONS
};

#define SIZES_MAX 64

struct options {
    int ranks; /* on this machine; 0: the launcher's affair, as it binds them */
    int cores; /* that this process may use, before ranks are bound */
    enum companion companion;
    const char *transport;
    const char *algorithm;   /* NULL: as the library chooses */
    unsigned radix;          /* 0: as the library chooses */
    const char *json;        /* file, "-" for stdout; NULL: none */
    size_t sizes[SIZES_MAX]; /* bytes */
    unsigned n_sizes;
    size_t max_bytes;
    unsigned iterations; /* timed, per row */
    unsigned warmup;     /* untimed, before each batch */
    unsigned repeats;    /* batches per row */
    ncoll_type type;
    ncoll_op op;
    enum binding binding;
    enum memory_kind memory;
    bool persistent; /* also as persistent requests */
    bool strict;     /* also with strict entry, strict exit and both */
    bool fresh;      /* IN is written before each call */
    bool check;
    bool raw;
    unsigned collectives;   /* bits 1u << code, see names.h */
    unsigned distributions; /* bits 1u << enum distribution, of collectives with counts */
    int argc;               /* the command line as it was given */
    char **argv;
};

/*
 * Reads the command line. A mistake is said on stderr, unless `quiet` (another rank says it), and
 * ends the process with EXIT_USAGE.
 */
void options_parse(int argc, char **argv, bool quiet, struct options *out);

#endif
