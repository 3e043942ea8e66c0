/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts that the programs need besides the solver: one message for each failure, ranks, streams,
 * numbers. ncoll's own tools use it as well.
 */
#ifndef NCOLL_EXAMPLES_CG_SUPPORT_H
#define NCOLL_EXAMPLES_CG_SUPPORT_H

#include <ncoll.h>
#include <stdbool.h>
#include <stdio.h>

#define EXIT_USAGE 64 /* EX_USAGE */

/* Returns the rank of this process according to the environment of its launcher; -1: not known. */
int failure_launcher_rank(void);
/* Notes that this process is one of several that a launcher started. -1: its rank is not known. */
void failure_launched(int rank);

/* Binds this process to one processor, of those that it may use the place-th. False: it cannot. */
bool bind_to_place(int place);
/* Forks ranks that run rank_main. bind: to processors of their own, if there are enough of them.
 * Returns the exit status: EXIT_SUCCESS if all of them did. */
int fork_ranks(int ranks, bool bind, const ncoll_params *params,
               int (*rank_main)(const ncoll_params *params, void *arg), void *arg);

/* Print a failure to stderr, unless another rank has printed it or will. Of forked ranks the first
 * to fail prints. One that fails because of another waits for it, a second at most. Of launched ranks
 * rank 0 prints, or rank 1 if rank 0 has failed. Every rank prints errors that concern it alone. */
void failure_report(const ncoll_error *error);
/* Returns the status. */
__attribute__((format(printf, 2, 3))) ncoll_status failure_say(ncoll_status status,
                                                               const char *format, ...);
/* Prints the error of a call of ncoll: the context's last one, or the status if there is none. Returns
 * the status, which may be NCOLL_OK. */
int failure_of_call(const ncoll_context *ctx, int status);
/* Returns NCOLL_ERR_MEMORY. */
int failure_no_memory(void);
/* For ncoll_params.log: an error that is printed as a failure is not logged as well. */
void failure_log(void *arg, ncoll_log_level level, const char *text);

/* Call it at the start of main(). It opens /dev/null for each closed standard stream, so that the
 * library's descriptors do not get these numbers. Reading finds the end, writing to standard output
 * fails. */
void output_open(void);
/* True if everything printed to `out`, stdout or stderr, could be written; otherwise prints why
 * not. */
bool output_written(FILE *out);

/* The first of these variables that there is, as a number; -1: there is none. NULL ends the list. */
int number_in_environment(const char *const *variables);
/* A decimal number in low..high; -1: the text is none. */
long parse_number(const char *text, long low, long high);

#endif
