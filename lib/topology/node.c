/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/topology/node.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The time for which a limit of processor time is used again, by programs that make many contexts
 * one after the other, and by forked ranks, whose parent has read it for them. */
#define KEEP_NS INT64_C(1000000000)

/* The control groups of a process, as /proc names them in its namespace of control groups. */
struct groups {
    ino_t namespace;
    ssize_t len; /* of the text; below 0: it cannot be read, or is too long */
    char text[2048];
};

static uint64_t mix(uint64_t hash, const void *bytes, size_t len)
{
    const unsigned char *b = bytes;

    for (size_t i = 0; i < len; i++) /* FNV-1a */
        hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Reads the start of a file. Returns how many bytes it has read, or -1. */
static ssize_t read_file(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, room) : -1;

    if (fd >= 0)
        close(fd);
    return n;
}

/* Fills in node.machine, which stands for the running kernel (for the name of the host if there is
 * no boot id), and node.id, which stands for the kernel and the process namespace. */
static void find_machine(struct node *node)
{
    char boot[64] = "";
    struct stat pids;

    ssize_t n = read_file("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    if (n <= 0 && gethostname(boot, sizeof boot) == 0)
        n = sizeof boot;
    node->machine = mix(UINT64_C(0xcbf29ce484222325), boot, n > 0 ? (size_t)n : 0);
    node->id = node->machine;
    if (stat("/proc/self/ns/pid", &pids) == 0)
        node->id = mix(node->id, &pids.st_ino, sizeof pids.st_ino);
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Fills in the limit of processor time. To find it takes some twenty files, and as long as
 * everything else in making a context. */
static void find_quota(struct node *node)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct node kept;
    static struct groups kept_in;
    static int64_t kept_ns; /* 0: nothing is kept */
    struct groups groups = {0};
    struct stat namespace;

    if (stat("/proc/self/ns/cgroup", &namespace) == 0)
        groups.namespace = namespace.st_ino;
    groups.len = read_file("/proc/self/cgroup", groups.text, sizeof groups.text);
    if (groups.len == (ssize_t)sizeof groups.text)
        groups.len = -1;
    /* another thread has the lock, or had it when this process was forked */
    if (pthread_mutex_trylock(&lock) != 0) {
        ncoll__node_quota(node);
        return;
    }
    int64_t now = now_ns();
    bool is_same = groups.len >= 0 && memcmp(&groups, &kept_in, sizeof groups) == 0;
    if (kept_ns == 0 || !is_same || now < kept_ns || now - kept_ns > KEEP_NS) {
        kept = (struct node){0};
        ncoll__node_quota(&kept);
        kept_in = groups;
        kept_ns = now;
    }
    node->quota_group = kept.quota_group;
    node->quota_milli = kept.quota_milli;
    pthread_mutex_unlock(&lock);
}

struct node ncoll__node(void)
{
    struct node node = {0};

    find_machine(&node);
    find_quota(&node);
    ncoll__node_cores(&node);
    return node;
}
