/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the most memory that a process can have. A segment is a file that takes memory only when it
 * is used. So without this limit a segment of any size could be made, and the process would be
 * killed later for lack of memory. */
#include "transport/shm/limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Reads a limit from a file of a control group; UINT64_MAX: the file does not exist, or says
 * "max". */
static uint64_t read_limit(const char *folder, const char *name)
{
    char path[512], text[32];
    uint64_t limit = UINT64_MAX;

    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return limit;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return limit;
    if (fgets(text, sizeof text, file) != NULL && text[0] >= '0' && text[0] <= '9')
        limit = strtoull(text, NULL, 10);
    fclose(file);
    return limit;
}

/* Returns the limit of a control group and of all groups above it: memory, and the swap space that
 * the group may have. */
static uint64_t group_limit(const char *mount, const char *path, uint64_t swap)
{
    uint64_t limit = UINT64_MAX;
    char folder[480];

    if (snprintf(folder, sizeof folder, "%s%s", mount, path) >= (int)sizeof folder)
        return limit;
    for (;;) {
        uint64_t memory =
            least(read_limit(folder, "memory.max"), read_limit(folder, "memory.limit_in_bytes"));
        swap = least(swap, read_limit(folder, "memory.swap.max"));
        if (memory < UINT64_MAX - swap)
            limit = least(limit, memory + swap);
        limit = least(limit, read_limit(folder, "memory.memsw.limit_in_bytes"));
        char *slash = strrchr(folder + strlen(mount), '/');
        if (slash == NULL)
            return limit;
        *slash = '\0';
    }
}

/* Returns the limit of the control groups of this process. Each line of /proc/self/cgroup is
 * number:controllers:path; for control groups of version 2 it has no controllers. */
static uint64_t control_group_limit(uint64_t swap)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    uint64_t limit = UINT64_MAX;
    char line[480];

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *controllers = strchr(line, ':');
        char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (path == NULL)
            continue;
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        if (controllers[1] == '\0') {
            limit = least(limit, group_limit("/sys/fs/cgroup", path, swap));
            limit = least(limit, group_limit("/sys/fs/cgroup/unified", path, swap));
        } else if (strcmp(controllers + 1, "memory") == 0) {
            limit = least(limit, group_limit("/sys/fs/cgroup/memory", path, swap));
        }
    }
    if (file != NULL)
        fclose(file);
    return limit;
}

uint64_t ncoll__memory_limit(void)
{
    uint64_t limit = UINT64_MAX, swap = 0;
    struct sysinfo machine;
    struct rlimit space;

    if (sysinfo(&machine) == 0) {
        swap = (uint64_t)machine.totalswap * machine.mem_unit;
        limit = (uint64_t)machine.totalram * machine.mem_unit + swap;
    }
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        limit = least(limit, space.rlim_cur);
    return least(limit, control_group_limit(swap));
}
