/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the system allows, and which of the kernel's services that ncoll can use are there.
 */
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/info/info.h"

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

static json_t *first_line(const char *file)
{
    char line[128];
    FILE *in = fopen(file, "r");
    json_t *out = NULL;

    if (in != NULL && fgets(line, sizeof line, in) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        out = json_string(line);
    }
    if (in != NULL)
        fclose(in);
    return out != NULL ? out : json_null();
}

/* That are set aside, for the asking. */
static json_t *huge_pages_free(void)
{
    FILE *in = fopen("/proc/meminfo", "r");
    char line[128];
    long free_pages = -1;

    while (in != NULL && fgets(line, sizeof line, in) != NULL)
        sscanf(line, "HugePages_Free: %ld", &free_pages);
    if (in != NULL)
        fclose(in);
    return free_pages >= 0 ? json_integer(free_pages) : json_null();
}

/* Whether a process may read the memory of one that it has not started (NCOLL_SINGLE_COPY): a child
 * tries with its parent, as ranks would with each other. */
static bool reads_processes(void)
{
    static int word = 1;
    int here = 0, status;
    struct iovec to = {&here, sizeof here}, from = {&word, sizeof word};
    pid_t child = fork();

    if (child == 0) {
        word = 2; /* its own */
        bool read = process_vm_readv(getppid(), &to, 1, &from, 1, 0) == sizeof here && here == 1;
        _exit(read ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

json_t *info_limits(void)
{
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    json_t *out = json_object();

    json_object_set_new(out, "locked_memory_bytes", limit(RLIMIT_MEMLOCK));
    json_object_set_new(out, "open_files", limit(RLIMIT_NOFILE));
    json_object_set_new(out, "processes", limit(RLIMIT_NPROC));
    json_object_set_new(out, "dev_shm_free_bytes", free_bytes("/dev/shm"));
    json_object_set_new(out, "memfd",
                        json_boolean(closes(memfd_create("ncoll-info", MFD_CLOEXEC))));
    json_object_set_new(out, "huge_pages_free", huge_pages_free());
    json_object_set_new(out, "huge_pages_shared_memory",
                        first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled"));
    json_object_set_new(out, "pidfd",
                        json_boolean(closes((int)syscall(SYS_pidfd_open, getpid(), 0))));
    json_object_set_new(out, "membarrier", json_boolean(commands > 0));
    json_object_set_new(out, "reads_processes", json_boolean(reads_processes()));
    json_object_set_new(
        out, "clock_source",
        first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
    return out;
}
