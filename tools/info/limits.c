/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limits of the system, and the kernel services that ncoll can use.
 */
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/info/info.h"
#include "tools/json.h"

static json_t *limit(int resource)
{
    struct rlimit r;

    if (getrlimit(resource, &r) != 0)
        return json_null();
    return r.rlim_cur == RLIM_INFINITY ? json_string("unlimited")
                                       : json_integer((json_int_t)r.rlim_cur);
}

static json_t *free_bytes(const char *path)
{
    struct statvfs fs;

    if (statvfs(path, &fs) != 0)
        return json_null();
    return json_integer((json_int_t)(fs.f_bavail * fs.f_frsize));
}

static int closes(int fd)
{
    return fd >= 0 && close(fd) == 0;
}

/* Returns the numbers of free huge pages that the system has set aside. */
static json_t *huge_pages_free(void)
{
    json_t *line = json_line_of("/proc/meminfo", "HugePages_Free");
    json_t *out = json_is_string(line) ? json_integer(atol(json_string_value(line))) : json_null();

    json_decref(line);
    return out;
}

/* True if a process may read the memory of one that it has not started (NCOLL_SINGLE_COPY): a child
 * tries with its parent, as ranks would with each other. */
static bool reads_processes(void)
{
    static int word = 1;
    int here = 0, status;
    struct iovec to = {&here, sizeof here}, from = {&word, sizeof word};
    pid_t child = fork();

    if (child == 0) {
        word = 2; /* a word of this process */
        bool read = process_vm_readv(getppid(), &to, 1, &from, 1, 0) == sizeof here && here == 1;
        _exit(read ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

json_t *info_limits(void)
{
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    bool memfd = closes(memfd_create("ncoll-info", MFD_CLOEXEC));
    bool pidfd = closes((int)syscall(SYS_pidfd_open, getpid(), 0));

    return json_pack(
        "{s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:b, s:b, s:b, s:o}", "locked_memory_bytes",
        limit(RLIMIT_MEMLOCK), "open_files", limit(RLIMIT_NOFILE), "processes", limit(RLIMIT_NPROC),
        "dev_shm_free_bytes", free_bytes("/dev/shm"), "memfd", memfd, "huge_pages_free",
        huge_pages_free(), "huge_pages_shared_memory",
        json_line_of("/sys/kernel/mm/transparent_hugepage/shmem_enabled", NULL), "pidfd", pidfd,
        "membarrier", commands > 0, "reads_processes", reads_processes(), "clock_source",
        json_line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource", NULL));
}
