/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recognises launchers by the environment variables that they set. A task may belong to a launcher
 * that cannot connect its tasks in a way which this library supports, or in a way that works here.
 * Without a check of the variables each task would become a job of one rank, and every sum would
 * have one summand.
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

/* Returns true if this process is, by its environment, one of several tasks of a launcher. False
 * for the batch script of a Slurm job: it has the variables of the job, but not those of a step. */
bool ncoll__launched_as_task(struct launched_task *out);

/* Returns the number in an environment variable; fallback if there is none, or variable is NULL. */
long ncoll__launcher_number(const char *variable, long fallback);

/* A task of a launcher with PMI, as the variables PMI_FD, PMI_RANK and PMI_SIZE describe it. */
struct pmi_task {
    int fd; /* a socket to the launcher's server */
    int rank, ranks;
};

/* Returns true if a launcher with PMI started this process, and the socket to its server is open.
 * If the process was started by another launcher inside it, the variables are still set, but the
 * socket is closed. */
bool ncoll__pmi_launched(struct pmi_task *out);

#endif
