/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Launchers, recognised by the variables that they leave in the environment. A task may belong to a
 * launcher that offers no way to connect its tasks which this library supports, or whose way does
 * not work here. Without a check of these traces each task would be a job of one rank, and every
 * sum would have one summand.
 */
#ifndef NCOLL_BOOTSTRAP_LAUNCHER_H
#define NCOLL_BOOTSTRAP_LAUNCHER_H

#include <stdbool.h>

struct launched_task {
    const char *launcher; /* name of the launcher's command */
    int tasks;            /* 0: several, but the number is not known */
    int task;             /* -1: not known */
    char remedy[256];     /* the command to type instead */
};

/* Finds out from the environment whether this process is one of several tasks. The batch script of
 * a Slurm job is not: it has the variables of the job, but not those of a step. */
bool ncoll__launched_as_task(struct launched_task *out);

/* Returns a number from the environment; fallback if there is none. */
long ncoll__launcher_number(const char *variable, long fallback);

/* A task of a launcher with PMI, as its variables describe it. */
struct pmi_task {
    int fd; /* a socket to the launcher's server */
    int rank, ranks;
};

/* True if such a launcher started this process, and the socket is still there: one around an inner
 * launcher leaves the variables, but not the socket. */
bool ncoll__pmi_launched(struct pmi_task *out);

#endif
