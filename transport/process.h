/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether another process has ended. By pidfd, which cannot be fooled by a number used again; on
 * kernels before 5.3, where a sandbox forbids it, or where the program would run short of file
 * descriptors, by state and start time in /proc; without /proc, or when there is no descriptor left
 * to read it with, by its number alone.
 */
#ifndef NCOLL_TRANSPORT_PROCESS_H
#define NCOLL_TRANSPORT_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct process {
    pid_t pid;
    int fd;                     /* pidfd, -1: by start time */
    unsigned long long started; /* clock ticks since boot, 0: not known */
};

/* 0 or -errno; -ESRCH: there is no such process. */
int ncoll__process_watch(struct process *p, pid_t pid);
/* A process that nobody has waited for yet has ended, too. */
bool ncoll__process_ended(const struct process *p);
void ncoll__process_forget(struct process *p);

#endif
