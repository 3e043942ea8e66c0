/* SPDX-License-Identifier: BSD-3-Clause */
/* Values on the command lines of test programs. */
#ifndef NCOLL_TEST_OPTIONS_H
#define NCOLL_TEST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

bool option_number(const char *text, uint64_t *value);

/* "2,5-7": sets wanted[2], [5], [6] and [7], and clears the rest of 1..max. */
bool option_ranks(const char *list, unsigned max, bool wanted[]);

/* What the command lines of programs have in common that run many jobs, each drawn from a seed and
 * its number. Set the defaults before. */
struct jobs {
    const char *transport; /* -t TRANSPORT */
    const char *list;      /* -P LIST: numbers of ranks, for option_ranks() */
    uint64_t count;        /* --jobs N, or another word */
    uint64_t seed, only;   /* --seed S (0: none); --only I (UINT64_MAX: all) */
};

/* A further option, without a value. */
struct flag {
    const char *name;
    bool *is_set;
};

/* Reads a command line. word: of the number of jobs, "jobs"; flags end with a name of NULL. A flag
 * of one letter is a short option. Returns false after a mistake; if no seed is given, *out has a
 * new one. */
bool option_jobs(int argc, char **argv, const char *word, const struct flag *flags,
                 struct jobs *out);

#endif
