/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_pidfd_open /* Linux 5.3 */
#define SYS_pidfd_open 434
#endif

/* Start time of a process that runs; 0 if there is none or it is a zombie. */
static unsigned long long start_time(pid_t pid)
{
    char path[32], text[512];
    unsigned long long started;
    char state;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t len = read(fd, text, sizeof text - 1);
    close(fd);
    if (len <= 0)
        return 0;
    text[len] = '\0';
    /* The second field is the program's name in parentheses, and may hold any character. */
    const char *fields = strrchr(text, ')');
    if (fields == NULL || sscanf(fields + 1,
                                 " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                                 "%*s %*s %*s %llu",
                                 &state, &started) != 2)
        return 0;
    return state == 'Z' || state == 'X' ? 0 : started;
}

int ncoll__process_watch(struct process *p, pid_t pid)
{
    *p = (struct process){.pid = pid, .fd = (int)syscall(SYS_pidfd_open, pid, 0)};
    if (p->fd >= 0)
        return 0;
    if (errno != ENOSYS && errno != EPERM && errno != EACCES)
        return -errno;
    p->started = start_time(pid);
    return p->started == 0 ? -ESRCH : 0;
}

bool ncoll__process_ended(const struct process *p)
{
    struct pollfd pollfd = {.fd = p->fd, .events = POLLIN};

    if (p->fd < 0)
        return start_time(p->pid) != p->started;
    return poll(&pollfd, 1, 0) == 1;
}

void ncoll__process_forget(struct process *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
}
