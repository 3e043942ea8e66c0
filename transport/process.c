/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open /* Linux 5.3 */
#define SYS_pidfd_open 434
#endif

#define STAT_BYTES 512

/* Reads /proc/PID/stat into `text`. Returns the fields from the state on; NULL: not readable. */
static const char *stat_of(pid_t pid, char text[STAT_BYTES])
{
    char path[32];

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    ssize_t len = read(fd, text, STAT_BYTES - 1);
    close(fd);
    if (len <= 0)
        return NULL;
    text[len] = '\0';
    /* The second field is the program's name in parentheses, and may hold any character. */
    const char *name_end = strrchr(text, ')');
    return name_end != NULL ? name_end + 1 : NULL;
}

/* Returns the start time of a process; 0: not known. *ended: the process is a zombie. */
static unsigned long long start_time(pid_t pid, bool *ended)
{
    unsigned long long started;
    char text[STAT_BYTES], state;
    const char *fields = stat_of(pid, text);

    *ended = false;
    if (fields == NULL || sscanf(fields,
                                 " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                 "%*s %*s %*s %llu",
                                 &state, &started) != 2)
        return 0;
    *ended = state == 'Z' || state == 'X';
    return started;
}

int ncoll__process_cpu(pid_t pid)
{
    char text[STAT_BYTES];
    const char *field = stat_of(pid, text);

    /* the state is field 3, the processor field 39 (man 5 proc) */
    for (unsigned i = 3; field != NULL && i < 39; i++)
        field = strchr(field + 1, ' ');
    return field != NULL ? atoi(field) : -1;
}

/* Opens a pidfd, unless fewer than half of the program's file descriptors would be left. */
static int open_pidfd(pid_t pid)
{
    struct rlimit limit;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0 || (rlim_t)fd < limit.rlim_cur / 2)
        return fd;
    close(fd);
    errno = EMFILE;
    return -1;
}

int ncoll__process_watch(struct process *p, pid_t pid)
{
    *p = (struct process){.pid = pid, .fd = open_pidfd(pid)};
    if (p->fd >= 0)
        return 0;
    if (errno == ESRCH)
        return -ESRCH;
    bool ended;
    p->started = start_time(pid, &ended);
    return ended || (kill(pid, 0) != 0 && errno == ESRCH) ? -ESRCH : 0;
}

bool ncoll__process_ended(const struct process *p)
{
    struct pollfd pollfd = {.fd = p->fd, .events = POLLIN};
    bool ended;

    if (p->fd >= 0)
        return poll(&pollfd, 1, 0) == 1;
    unsigned long long started = start_time(p->pid, &ended);
    if (started != 0)
        return ended || (p->started != 0 && started != p->started);
    return kill(p->pid, 0) != 0 && errno == ESRCH;
}

void ncoll__process_forget(struct process *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}

bool ncoll__affinity_is_known(void)
{
    /* 65536 cores; the kernel refuses a mask that is too small */
    unsigned long cores[8192 / sizeof(long)];

    return syscall(SYS_sched_getaffinity, 0, sizeof cores, cores) > 0;
}

bool ncoll__process_is_hidden(pid_t pid)
{
    struct process p;
    char path[32];

    if (pid <= 0 || ncoll__process_watch(&p, pid) != 0)
        return false;
    bool runs = !ncoll__process_ended(&p);
    ncoll__process_forget(&p);
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return runs && access(path, F_OK) != 0 && errno == ENOENT;
}

bool ncoll__process_has_program(pid_t pid)
{
    char path[32], program[1];

    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return readlink(path, program, sizeof program) >= 0 || errno == EACCES || errno == EPERM;
}
