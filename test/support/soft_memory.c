/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that the device made of memory knows, and its keys. */
#include "test/support/soft_device.h"
#include "test/support/soft_inside.h"

#include <errno.h>

#undef ibv_reg_mr

struct soft_mr {
    struct ibv_mr mr;
    struct soft_mr *next;
};

static struct soft_mr *registered;

bool soft_is_registered(const struct ibv_pd *pd, uint64_t at, size_t len, uint32_t key)
{
    const struct soft_mr *m = registered;

    while (m != NULL && m->mr.rkey != key)
        m = m->next;
    uint64_t before = m != NULL ? at - (uintptr_t)m->mr.addr : 0;
    return m != NULL && m->mr.pd == pd && before <= m->mr.length && len <= m->mr.length - before;
}

static size_t registered_by(const struct ibv_pd *pd)
{
    size_t bytes = 0;

    for (const struct soft_mr *m = registered; m != NULL; m = m->next)
        bytes += m->mr.pd == pd ? m->mr.length : 0;
    return bytes;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
    SOFT_ENTER;
    static uint32_t keys;
    struct soft_mr *m;

    (void)access;
    if (soft.lock_most > 0 && registered_by(pd) + length > soft.lock_most) {
        errno = ENOMEM;
        return NULL;
    }
    if ((m = soft_make(sizeof *m)) == NULL)
        return NULL;
    keys++;
    *m = (struct soft_mr){.mr = {.context = pd->context,
                                 .pd = pd,
                                 .addr = addr,
                                 .length = length,
                                 .lkey = keys,
                                 .rkey = keys},
                          .next = registered};
    registered = m;
    return &m->mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
                                unsigned access)
{
    (void)iova;
    return ibv_reg_mr(pd, addr, length, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    SOFT_ENTER;
    struct soft_mr **link = &registered;

    while (&(*link)->mr != mr)
        link = &(*link)->next;
    *link = (*link)->next;
    return soft_unmake(mr);
}
