/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registered memory: windows, and small pieces carved from larger regions, since every registration
 * takes whole pages and an entry in the device.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "transport/verbs/verbs.h"

#define REGION_BYTES 16384u
#define PIECE_BYTES  64u /* a cache line: pieces of two peers do not share one */

static int limit_too_low(const struct verbs *v, const char *what, size_t bytes, rlim_t limit)
{
    const struct transport_events *e = &v->config.events;
    char more[40] = "";

    if (bytes > 0)
        snprintf(more, sizeof more, " needs %llu KiB more",
                 (unsigned long long)(bytes + 1023) / 1024);
    return e->fail(e->arg, BECAUSE(NCOLL_ERR_RESOURCE, OUT_OF_LOCKED_MEMORY), -1,
                   "raise it with `ulimit -l unlimited`, or for good with the line \"* - memlock "
                   "unlimited\" in /etc/security/limits.conf (batch systems have their own: "
                   "PropagateResourceLimitsExcept=MEMLOCK in slurm.conf)",
                   "the limit of locked memory (memlock) is %llu KiB%s%s%s",
                   (unsigned long long)limit / 1024, bytes > 0 ? " and " : ", too low for ", what,
                   more);
}

int ncoll__verb_failed(const struct verbs *v, const char *what, size_t bytes, int error)
{
    const struct transport_events *e = &v->config.events;
    struct rlimit limit;

    /* EPERM: the limit of locked memory is 0 */
    if ((error == ENOMEM || error == EAGAIN || error == EPERM) &&
        getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        return limit_too_low(v, what, bytes, limit.rlim_cur);
    if (error == ENOMEM)
        return e->fail(e->arg, NCOLL_ERR_MEMORY, -1,
                       "use fewer ranks on the node, groups or peers (NCOLL_RADIX, "
                       "NCOLL_ALLTOALL_ALGORITHM=bruck)",
                       "no memory for %s on device %s, or too many for it (it has %d regions and "
                       "%d queue pairs for all processes)",
                       what, v->where.device, v->limits.max_mr, v->limits.max_qp);
    return e->fail(e->arg, BECAUSE(NCOLL_ERR_DEVICE, DEVICE_FAILED), -1, NULL,
                   "device %s cannot make %s: %s", v->where.device, what, strerror(error));
}

int ncoll__verbs_no_memory(const struct verbs *v, const char *what)
{
    const struct transport_events *e = &v->config.events;

    return e->fail(e->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %s", what);
}

/* A forked child does not get the memory (MADV_DONTFORK), since it has no use for it. Otherwise
 * fork() would copy the pages at once, if the kernel knows that the device writes to them. If it
 * does not know, this process could get the copies, while the device keeps the original pages. No
 * memory is reserved (MAP_NORESERVE), as most of a window is never touched. */
int ncoll__memory_map(struct verbs *v, size_t bytes, struct registered *out)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    *out = (struct registered){0};
    if (base == MAP_FAILED)
        return ncoll__verbs_no_memory(v, "a window");
    madvise(base, bytes, MADV_DONTFORK);
    *out = (struct registered){.base = base, .bytes = bytes};
    return NCOLL_OK;
}

int ncoll__memory_access(const struct verbs *v, bool is_bulk)
{
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

    return is_bulk && v->config.relaxed_ordering ? access | IBV_ACCESS_RELAXED_ORDERING : access;
}

int ncoll__memory_key(const struct verbs *v, void *base, size_t bytes, bool is_bulk,
                      struct ibv_mr **out)
{
    const struct transport_events *e = &v->config.events;

    if (bytes > v->limits.max_mr_size)
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_RESOURCE, TOO_LONG), -1,
                       "make NCOLL_WINDOW (for other groups NCOLL_GROUP_WINDOW) smaller",
                       "a window of %zu bytes is longer than what device %s can register, %llu",
                       bytes, v->where.device, (unsigned long long)v->limits.max_mr_size);
    *out = ibv_reg_mr(v->pd, base, bytes, ncoll__memory_access(v, is_bulk));
    return *out != NULL ? NCOLL_OK : ncoll__verb_failed(v, "memory for messages", bytes, errno);
}

int ncoll__memory_register(struct verbs *v, size_t bytes, struct registered *out)
{
    int rc = ncoll__memory_map(v, bytes, out);

    if (rc == NCOLL_OK &&
        (rc = ncoll__memory_key(v, out->base, bytes, false, &out->mr)) != NCOLL_OK)
        ncoll__memory_release(out);
    return rc;
}

void ncoll__memory_release(struct registered *r)
{
    if (r->mr != NULL)
        ibv_dereg_mr(r->mr);
    if (r->base != NULL && !r->borrowed)
        munmap(r->base, r->bytes);
    *r = (struct registered){0};
}

int ncoll__memory_piece(struct verbs *v, size_t bytes, void **out, struct ibv_mr **mr)
{
    struct registered *region = v->pieces;

    bytes = (bytes + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
    if (region == NULL || region->bytes - region->used < bytes) {
        region = malloc(sizeof *region);
        if (region == NULL)
            return ncoll__verbs_no_memory(v, "a connection");
        int rc = ncoll__memory_register(v, bytes > REGION_BYTES ? bytes : REGION_BYTES, region);
        if (rc != NCOLL_OK) {
            free(region);
            return rc;
        }
        region->next = v->pieces;
        v->pieces = region;
    }
    *out = region->base + region->used;
    *mr = region->mr;
    region->used += bytes;
    return NCOLL_OK;
}
