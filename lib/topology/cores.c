/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of the machine that this process may use: the cores of its affinity, which cpusets of
 * control groups restrict, too; and the processor time that a control group allows (cpu.max, or
 * cpu.cfs_quota_us in version 1). A limit that cannot be read counts as no limit.
 */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/topology/node.h"

#define CORES_MAX 65536

void ncoll__node_cores(struct node *node)
{
    /* The kernel refuses a mask that is too small for the machine. */
    for (int cores = 1024; cores <= CORES_MAX; cores *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cores);
        size_t bytes = CPU_ALLOC_SIZE((size_t)cores);
        if (set == NULL)
            return;
        CPU_ZERO_S(bytes, set);
        int rc = sched_getaffinity(0, bytes, set);
        for (int core = 0; rc == 0 && core < cores; core++)
            if (CPU_ISSET_S((size_t)core, bytes, set))
                node->cores[(unsigned)core % NODE_CORES / 64] |= UINT64_C(1) << core % 64;
        CPU_FREE(set);
        if (rc == 0 || errno != EINVAL)
            return;
    }
}

/* ------------------------------------------------------------------ control groups ------------ */

/* Reads two numbers from a file, where "max" stands for -1. Returns how many were read. */
static int numbers_in(const char *directory, const char *file, long long numbers[2])
{
    char path[1200], text[2][32];

    snprintf(path, sizeof path, "%s/%s", directory, file);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    int n = fscanf(f, "%31s %31s", text[0], text[1]);
    fclose(f);
    for (int i = 0; i < n; i++)
        if (strcmp(text[i], "max") == 0)
            numbers[i] = -1;
        else if (sscanf(text[i], "%lld", &numbers[i]) != 1)
            return i;
    return n;
}

/* Notes the limit of a control group if it is tighter than the one found so far. */
static void look_at(const char *directory, struct node *node)
{
    long long v[2] = {-1, 100000}, period[2] = {100000};
    struct stat stat_of;

    if (numbers_in(directory, "cpu.max", v) == 0) {
        if (numbers_in(directory, "cpu.cfs_quota_us", v) == 0)
            return;
        numbers_in(directory, "cpu.cfs_period_us", period);
        v[1] = period[0];
    }
    if (v[0] <= 0 || v[1] <= 0 || stat(directory, &stat_of) != 0)
        return;
    uint64_t milli = (uint64_t)v[0] * 1000 / (uint64_t)v[1];
    milli = milli > 0 ? milli : 1;
    if (node->quota_milli != 0 && milli >= node->quota_milli)
        return;
    node->quota_milli = milli;
    node->quota_group = (uint64_t)stat_of.st_ino ^ (uint64_t)stat_of.st_dev << 48;
}

/* Looks at a control group and all groups above it. In a container the path may be that of another
 * namespace; the group of the process is then the top of what is mounted. */
static void look_up_from(const char *mount, const char *path, struct node *node)
{
    char directory[1024];
    size_t top = strlen(mount);

    snprintf(directory, sizeof directory, "%s%s", mount, path);
    for (;;) {
        look_at(directory, node);
        char *slash = strrchr(directory, '/');
        if (slash == NULL || (size_t)(slash - directory) < top)
            return;
        *slash = '\0';
    }
}

/* Looks at the control groups in a line of /proc/self/cgroup, which is number:controllers:path; in
 * version 2 it has no controllers. */
static void look_at_line(char *line, struct node *node)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    static const char *const old_mounts[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"};
    char *controllers = strchr(line, ':'), *path;

    line[strcspn(line, "\n")] = '\0';
    if (controllers == NULL || (path = strchr(++controllers, ':')) == NULL)
        return;
    *path++ = '\0';
    bool is_new = *controllers == '\0';
    bool has_cpu = false;
    for (char *word = controllers; *word != '\0'; word += strcspn(word, ","), word += *word == ',')
        has_cpu |= strncmp(word, "cpu", 3) == 0 && (word[3] == ',' || word[3] == '\0');
    for (int i = 0; (is_new || has_cpu) && i < 2; i++)
        look_up_from(is_new ? mounts[i] : old_mounts[i], path, node);
}

void ncoll__node_quota(struct node *node)
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    char line[1024];

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        look_at_line(line, node);
    if (f != NULL)
        fclose(f);
}
