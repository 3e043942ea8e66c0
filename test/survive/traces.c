/* SPDX-License-Identifier: BSD-3-Clause */
#include "traces.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int traces_held(const char *pid, bool everything)
{
    char path[64], line[512];
    int n = 0;

    snprintf(path, sizeof path, "/proc/%s/maps", pid);
    FILE *maps = fopen(path, "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        n += strstr(line, "memfd:ncoll") != NULL;
    if (maps != NULL)
        fclose(maps);
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    DIR *fds = opendir(path);
    for (struct dirent *e; fds != NULL && (e = readdir(fds)) != NULL;) {
        char link[320], to[64] = "";
        snprintf(link, sizeof link, "%s/%s", path, e->d_name);
        ssize_t length = readlink(link, to, sizeof to - 1);
        n += length > 0 && (everything || strncmp(to, "/memfd:ncoll", 12) == 0);
    }
    if (fds != NULL)
        closedir(fds);
    return n;
}

static int entries(const char *directory)
{
    DIR *d = opendir(directory);
    int n = 0;

    while (d != NULL && readdir(d) != NULL)
        n++;
    if (d != NULL)
        closedir(d);
    return n;
}

static long shared_kib(void)
{
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    long kib = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        sscanf(line, "Shmem: %ld", &kib);
    if (f != NULL)
        fclose(f);
    return kib;
}

static int lines_in(const char *path)
{
    FILE *f = fopen(path, "r");
    int c, n = 0;

    while (f != NULL && (c = fgetc(f)) != EOF)
        n += c == '\n';
    if (f != NULL)
        fclose(f);
    return n;
}

struct traces traces_look(bool alone)
{
    struct traces t = {.held = traces_held("self", false)};

    if (!alone)
        return t;
    t.files = entries("/dev/shm");
    t.sysv = lines_in("/proc/sysvipc/shm") + lines_in("/proc/sysvipc/sem") +
             lines_in("/proc/sysvipc/msg");
    t.shared_kib = shared_kib();
    DIR *all = opendir("/proc");
    for (struct dirent *e; all != NULL && (e = readdir(all)) != NULL;)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            t.held += traces_held(e->d_name, false);
    if (all != NULL)
        closedir(all);
    return t;
}

const char *traces_left(const struct traces *before, bool alone)
{
    struct traces now = traces_look(alone);

    if (waitpid(-1, NULL, WNOHANG) >= 0)
        return "a process";
    if (now.held > before->held)
        return "shared memory that somebody holds";
    if (now.files > before->files || now.sysv > before->sysv)
        return "a file in /dev/shm, or System V memory";
    return now.shared_kib > before->shared_kib + 1024 ? "shared memory" : NULL;
}
