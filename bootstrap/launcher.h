/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Launchers that start several tasks but offer no way to connect them that this library supports:
 * srun without PMIx, the mpiexec of MPICH (hydra), and others. They leave traces in the
 * environment. Without a check of these, each task would be a job of one rank, and every sum would
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

/* Finds out from the environment whether this process is one of several tasks. The batch script of
 * a Slurm job is not: it has the variables of the job, but not those of a step. */
bool ncoll__launched_as_task(struct launched_task *out);

#endif
