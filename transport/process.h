/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out whether another process has ended. It uses a pidfd if possible, which stays right if
 * the process number is used again. On kernels before 5.3, in a sandbox that forbids pidfds, or if
 * file descriptors are scarce, it reads the state and the start time in /proc. If that is
 * impossible, too, it only asks whether a process has this number.
 */
#ifndef NCOLL_TRANSPORT_PROCESS_H
#define NCOLL_TRANSPORT_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct process {
    pid_t pid;
    int fd;                     /* pidfd; -1: the start time is used */
    unsigned long long started; /* clock ticks since boot, 0: not known */
};

/* Returns 0 or -errno; -ESRCH: there is no such process. */
int ncoll__process_watch(struct process *p, pid_t pid);
/* True if the process has ended, also if its parent has not reaped it yet. */
bool ncoll__process_ended(const struct process *p);
void ncoll__process_forget(struct process *p);
/* True if a process runs but cannot be seen in /proc: /proc is mounted with hidepid, and the
 * process is not dumpable, or belongs to another user. */
bool ncoll__process_is_hidden(pid_t pid);
/* True if a process has a program. A process that is ending has lost its program when its
 * descriptors are closed. A process whose first thread has ended while others go on shows none,
 * either. */
bool ncoll__process_has_program(pid_t pid);

/* Returns the processor on which a process was last; -1: not known. */
int ncoll__process_cpu(pid_t pid);

/* True if the kernel tells this process the cores on which it may run. If a sandbox forbids that,
 * hwloc would ask for ever, so its topology must not be loaded. */
bool ncoll__affinity_is_known(void);

#endif
