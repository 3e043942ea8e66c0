/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out whether another process has ended. If possible it uses a pidfd, which stays correct
 * even if the process number is reused. On kernels before 5.3, in a sandbox that forbids pidfds, or
 * if file descriptors are scarce, it reads the state and the start time in /proc. If that is
 * impossible, too, it only asks whether a process has this number.
 */
#ifndef NCOLL_TRANSPORT_PROCESS_H
#define NCOLL_TRANSPORT_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct process {
    pid_t pid;
    int fd;                     /* pidfd; -1: none, so the start time is compared */
    unsigned long long started; /* start time in clock ticks since boot; 0: not known */
};

/* Begins to watch a process. Returns 0, or -ESRCH if there is no such process. */
int ncoll__process_watch(struct process *p, pid_t pid);
/* True if the process has ended, even if its parent has not reaped it yet. */
bool ncoll__process_ended(const struct process *p);
void ncoll__process_forget(struct process *p);
/* True if a process runs but cannot be seen in /proc: /proc is mounted with hidepid, and the
 * process is not dumpable, or belongs to another user. */
bool ncoll__process_is_hidden(pid_t pid);
/* True if /proc shows the program of a process (its exe link). A process that is ending loses the
 * link before its descriptors are closed. A process whose first thread has ended shows no link
 * either, even if other threads go on. */
bool ncoll__process_has_program(pid_t pid);

/* Returns the processor on which a process ran last; -1: not known. */
int ncoll__process_cpu(pid_t pid);

/* True if the kernel tells this process the cores on which it may run. If a sandbox forbids that,
 * hwloc would ask again and again without end, so its topology must not be loaded. */
bool ncoll__affinity_is_known(void);

#endif
