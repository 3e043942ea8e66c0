/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One message for one failure, however many ranks see it.
 */
#ifndef NCOLL_TOOLS_BENCH_FAILURE_H
#define NCOLL_TOOLS_BENCH_FAILURE_H

#include <stdbool.h>

#include "ncoll.h"

/* Before ranks are forked: the first of them to fail is the one that speaks. */
void failure_share(void);

/* Own number by what the environment says, when a launcher made this process; -1: not known. */
int failure_launcher_rank(void);

/* This process is one of several made by a launcher; -1: number not known. */
void failure_launched(int rank);

/*
 * Says what failed on stderr, unless another rank has said it or will. Launched ranks cannot tell:
 * rank 0 speaks for all (rank 1 if it is rank 0 that failed), and every rank for what concerns it
 * alone.
 */
void failure_report(const ncoll_error *error);
void failure_say(ncoll_status status, const char *text);

/* For ncoll_params.log: what is reported as a failure need not be logged as well. */
void failure_log(void *arg, ncoll_log_level level, const char *text);

#endif
