/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node that a process pretends to be on. The k-th fork of a process goes to the k-th entry of
 * FABRIC_NODES, a list that repeats; so do the ranks of a job that forks them. Each node has its own
 * devices (FABRIC), its own boot_id, and its own numa_node and local_cpus of each device: open() and
 * fopen() are replaced to show these; stat() and access() for programs that look for /dev/infiniband.
 */
#undef _FILE_OFFSET_BITS /* both open() and open64() are replaced */
#include "test/fabric/fabric.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static unsigned forked;

static uint32_t node_of_child(unsigned child)
{
    const char *list = getenv("FABRIC_NODES"), *at = list;

    if (list == NULL || *list == '\0')
        return fabric.node;
    while (child-- > 0) {
        at += strcspn(at, ",");
        at = *at == ',' ? at + 1 : list;
    }
    return (uint32_t)strtoul(at, NULL, 10);
}

/* No thread is in the devices while the process forks, since the child would wait for it for ever. */
static void before_fork(void)
{
    fabric_enter();
    forked++;
}

static void after_fork(void)
{
    fabric_leave();
}

/* The child is another process of the fabric, and perhaps on another node. */
static void in_child(void)
{
    unsigned child = forked - 1;
    uint32_t node = node_of_child(child);

    fabric_only_thread();
    fabric.process = 0;
    forked = 0;
    unsetenv("FABRIC_NODES"); /* its own children stay where it is */
    if (node != fabric.node) {
        fabric.node = node;
        if (!fabric_devices_read())
            _exit(2);
    }
    if (!fabric_faults_read((int)child))
        _exit(2);
}

void fabric_nodes_begin(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

/* ------------------------------------------------------------------ what a node tells --------- */

/* Returns a descriptor of a file with this text; -1: there is no memory. */
static int file_of(const char *text)
{
    int fd = memfd_create("fabric-file", MFD_CLOEXEC);

    if (fd >= 0 && write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
        close(fd);
        return -1;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Returns true if the node has a file of its own in the place of this one. */
static bool has_own(const char *path, char *text, size_t size)
{
    char device[NAME_BYTES], file[32];

    if (strcmp(path, BOOT_ID) == 0) {
        snprintf(text, size, "fab00000-0000-0000-0000-%012x\n", fabric.node);
        return true;
    }
    if (sscanf(path, "/sys/class/infiniband/%31[^/]/device/%31s", device, file) != 2)
        return false;
    for (unsigned i = 0; i < fabric.personality.n_devices; i++) {
        const struct fabric_device *d = &fabric.personality.devices[i];
        if (strcmp(d->name, device) == 0 && strcmp(file, "numa_node") == 0) {
            snprintf(text, size, "%d\n", d->numa_node);
            return true;
        }
        if (strcmp(d->name, device) == 0 && strcmp(file, "local_cpus") == 0 &&
            d->cores[0] != '\0') {
            snprintf(text, size, "%s\n", d->cores);
            return true;
        }
    }
    return false;
}

#undef open
#undef open64
#undef fopen
#undef fopen64

static int open_any(const char *name, const char *path, int flags, mode_t mode)
{
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
    char text[128];

    if (fabric.state != NULL && has_own(path, text, sizeof text))
        return file_of(text);
    return real(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list rest;

    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_any("open", path, flags, mode);
}

#ifdef __GLIBC__
int open64(const char *path, int flags, ...)
{
    va_list rest;

    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return open_any("open64", path, flags, mode);
}
#endif

static FILE *fopen_any(const char *name, const char *path, const char *how)
{
    FILE *(*real)(const char *, const char *) =
        (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, name);
    char text[128];

    if (fabric.state == NULL || !has_own(path, text, sizeof text))
        return real(path, how);
    int fd = file_of(text);
    return fd >= 0 ? fdopen(fd, "r") : NULL;
}

FILE *fopen(const char *path, const char *how)
{
    return fopen_any("fopen", path, how);
}

#ifdef __GLIBC__
FILE *fopen64(const char *path, const char *how)
{
    return fopen_any("fopen64", path, how);
}
#endif

/* ------------------------------------------------------------------ files of devices ---------- */

#undef stat
#undef access

/* Returns what is looked at in the place of a file: libibverbs opens files of devices, this module needs none. */
static const char *in_place_of(const char *path)
{
    unsigned device;

    return fabric.state != NULL && sscanf(path, "/dev/infiniband/uverbs%u", &device) == 1 &&
                   device < fabric.personality.n_devices
               ? "/dev/null"
               : path;
}

int stat(const char *path, struct stat *out)
{
    int (*real)(const char *, struct stat *) =
        (int (*)(const char *, struct stat *))dlsym(RTLD_NEXT, "stat");

    return real(in_place_of(path), out);
}

int access(const char *path, int how)
{
    int (*real)(const char *, int) = (int (*)(const char *, int))dlsym(RTLD_NEXT, "access");

    return real(in_place_of(path), how);
}
