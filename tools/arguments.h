/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the command lines of the tools have in common. A mistake is what the command line alone
 * shows to be wrong: it is said before anything is done, and ends the program with EXIT_USAGE. All
 * else that goes wrong ends it with EXIT_FAILURE.
 */
#ifndef NCOLL_TOOLS_ARGUMENTS_H
#define NCOLL_TOOLS_ARGUMENTS_H

#include <argp.h>

#define EXIT_USAGE 64 /* EX_USAGE */

struct algorithm;
struct name; /* tools/bench/names.h */

/* Before argp_parse(): what --version prints, and the status of a mistake. */
void arguments_open(void);

/* Each says what is wrong and returns EINVAL, or sets *out and returns 0. */
error_t arguments_number(const struct argp_state *state, const char *what, const char *text,
                         long low, long high, unsigned *out);
/* Above `low`, up to `high`. */
error_t arguments_real(const struct argp_state *state, const char *what, const char *text,
                       double low, double high, double *out);
error_t arguments_transport(const struct argp_state *state, const char *text);
/* NULL: there is none of that name, and that has been said. */
const struct algorithm *arguments_algorithm(const struct argp_state *state, const char *text);

/* "unknown WHAT 'TEXT'; there are: ..". EINVAL. */
error_t arguments_unknown(const struct argp_state *state, const char *what, const char *text,
                          const struct name *table);

#endif
