/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command lines of the tools, read according to a table of their options. A mistake is an error
 * that the command line alone shows. It is reported before anything is done, and ends the program
 * with EXIT_USAGE. All other errors end it with EXIT_FAILURE.
 */
#ifndef NCOLL_TOOLS_ARGUMENTS_H
#define NCOLL_TOOLS_ARGUMENTS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "examples/cg/support.h"

#define RANKS_MAX 65536

struct algorithm;
struct name; /* tools/bench/names.h */

/* The kinds of options: what an option does with the member of the program's options at offset
 * `at`. */
enum argument_kind {
    ARGUMENT_HEADER,    /* not an option: a line of the help, before the options that follow */
    ARGUMENT_FLAG,      /* bool: true */
    ARGUMENT_SET,       /* an enum: `low` */
    ARGUMENT_COUNT,     /* unsigned or int, low..high */
    ARGUMENT_REAL,      /* double, above low, up to high */
    ARGUMENT_TEXT,      /* const char * */
    ARGUMENT_NAME,      /* an enum: the code of a name */
    ARGUMENT_BITS,      /* unsigned: 1u << code of a name is added; NAME_ALL adds all */
    ARGUMENT_TRANSPORT, /* const char * */
    ARGUMENT_ALGORITHM, /* const struct algorithm * */
    ARGUMENT_RADIX,     /* unsigned */
    ARGUMENT_OWN,       /* take() */
};

struct argument {
    const char *name, *value, *help;
    int key; /* the letter of a short option; 0: it has none */
    enum argument_kind kind;
    size_t at;
    double low, high;
    const char *what;         /* a word for the name in messages; NULL: the option's own name */
    const struct name *names; /* names for ARGUMENT_NAME and ARGUMENT_BITS */
    error_t (*take)(struct argp_state *state, const char *text, void *options);
    bool is_hidden, may_lack_value;
};

struct arguments {
    const struct argument *table; /* ends with an entry without help */
    const char *args_doc, *doc;
    /* positional takes the arguments that are not options, in their order (NULL: there are none);
     * the other is called when everything has been read (NULL: nothing is left to do). */
    error_t (*positional)(struct argp_state *state, const char *text, void *options);
    error_t (*finish)(struct argp_state *state, void *options);
    size_t given_at; /* uint64_t: bits of the given options, by their index in the table */
};

/* Reads a command line. quiet: mistakes are not printed, since another process prints them. */
void arguments_parse(const struct arguments *a, int argc, char **argv, bool quiet, void *options);

/* True if the option of that name was given. */
bool arguments_given(const struct argument *table, uint64_t given, const char *name);

/* Prints a mistake and returns EINVAL. */
__attribute__((format(printf, 2, 3))) error_t arguments_mistake(const struct argp_state *state,
                                                                const char *format, ...);
/* Returns the code of a name; -1 if the table has none below `end`, which is reported. */
int arguments_name(const struct argp_state *state, const char *what, const char *text,
                   const struct name *table, int end);
/* Adds 1u << code of a name to *out; NAME_ALL adds all. */
error_t arguments_bits(const struct argp_state *state, const char *what, const char *text,
                       const struct name *table, int end, unsigned *out);

#endif
