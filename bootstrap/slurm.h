/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstrap under srun without PMI: the ranks find each other by the tcp bootstrap, with what
 * Slurm tells every task of a step by environment variables. Rank 0 is on the first node of the
 * step. Its port is one of those that Slurm has reserved for the step (SLURM_STEP_RESV_PORTS), or
 * one of PORTS that follow from the numbers of job and step; rank 0 takes the first one that is
 * free, and the others look for it at all of them. Another job that listens at one of them is not
 * taken for this one, since ranks prove to each other that they belong to one step (tcp_proof.h).
 *
 * Without NCOLL_KEY the key consists of the numbers of job, step and user. These are no secret:
 * they keep other steps away, but not an attacker.
 */
#ifndef NCOLL_BOOTSTRAP_SLURM_H
#define NCOLL_BOOTSTRAP_SLURM_H

#include <stdbool.h>
#include <stddef.h>

#include "bootstrap/tcp_proof.h"

struct slurm_task {
    int rank, ranks;
    char root[ROOT_BYTES]; /* as NCOLL_ROOT */
    char key[96];
};

/* Reads the environment variables of Slurm. Returns false if this process is no task of a step, or
 * if a variable is missing. */
bool ncoll__slurm_task(struct slurm_task *out);

/* Returns the number of tasks of the Slurm step that this process belongs to; 0: it belongs to
 * none. A batch script has SLURM_NTASKS and SLURM_PROCID 0, but belongs to no step. */
long ncoll__slurm_tasks(void);

/* Finds the first host of a list such as "node[01-04,7]-ib,login", which is that of task 0. Returns
 * false if there is none, or its name is too long. */
bool ncoll__slurm_first_host(const char *list, char *host, size_t size);

#endif
