/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/topology/node.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t mix(uint64_t hash, const void *bytes, size_t len)
{
    const unsigned char *b = bytes;

    for (size_t i = 0; i < len; i++) /* FNV-1a */
        hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
    return hash;
}

struct node ncoll__node(void)
{
    struct node node = {.machine = UINT64_C(0xcbf29ce484222325)};
    char boot[64] = "";
    struct stat pids;

    /* the running kernel (its host's name if it has no boot id), and the process namespace */
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, boot, sizeof boot) : 0;
    if (fd >= 0)
        close(fd);
    if (n <= 0 && gethostname(boot, sizeof boot) == 0)
        n = sizeof boot;
    node.machine = mix(node.machine, boot, n > 0 ? (size_t)n : 0);
    node.id = node.machine;
    if (stat("/proc/self/ns/pid", &pids) == 0)
        node.id = mix(node.id, &pids.st_ino, sizeof pids.st_ino);

    ncoll__node_cores(&node);
    ncoll__node_quota(&node);
    return node;
}
