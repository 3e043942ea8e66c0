/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The user's memory, registered with the device, which sends from it and receives into it directly.
 * Allocated memory lies in a segment, so that ranks of the node can reach it, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "transport/verbs/post.h"
#include "transport/verbs/rail.h"

/* The number of bytes in a segment before the user's memory. */
#define HEADER_BYTES 4096u

static int cannot_register(const struct verbs *v, const struct memory *m, int error)
{
    const struct transport_events *e = &v->config.events;

    if (error == EFAULT)
        return e->fail(
            e->arg, NCOLL_ERR_ARGUMENT, -1, "register memory that is mapped, and may be written",
            "not all of the %zu bytes at %p are mapped and writable", m->bytes, (void *)m->base);
    return ncoll__verb_failed(v, "memory of the user's", m->bytes, error);
}

/*
 * Registers memory, and takes over the segment on success. For allocated memory it registers the
 * whole segment: on kernels before 5.12 ibv_fork_init() keeps registered memory from forked
 * children, and huge pages can be kept from them only as a whole.
 */
static int register_memory(struct verbs *v, struct memory memory, const struct segment *segment,
                           struct memory **out)
{
    const struct transport_events *e = &v->config.events;
    void *base = segment->base != NULL ? (void *)segment->base : memory.base;
    size_t bytes = segment->base != NULL ? segment->bytes : memory.bytes;

    if (bytes > v->limits.max_mr_size)
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_RESOURCE, TOO_LONG), -1, "register it in parts",
                       "%zu bytes are more than device %s can register at once, %llu", memory.bytes,
                       v->where.device, (unsigned long long)v->limits.max_mr_size);
    struct verbs_memory *m = calloc(1, sizeof *m);
    if (m == NULL)
        return ncoll__verbs_no_memory(v, "memory of the user's");
    m->mr = ibv_reg_mr(v->pd, base, bytes, ncoll__memory_access(v, true));
    if (m->mr == NULL) {
        int error = errno;
        free(m);
        return cannot_register(v, &memory, error);
    }
    m->rail_mr = ncoll__rail_register(v, base, bytes, true);
    m->memory = memory;
    m->memory.reachable = true;
    m->memory.device = &m->memory;
    m->segment = *segment;
    *out = &m->memory;
    return NCOLL_OK;
}

int ncoll__verbs_memory_allocate(struct transport *t, size_t bytes, struct memory **out)
{
    struct verbs *v = verbs_of(t);
    struct segment segment;
    uint64_t nonce;

    if (getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
        nonce = verbs_now_ns(v);
    int error = -ncoll__segment_create_for_user(&segment, HEADER_BYTES + bytes, nonce,
                                                v->config.huge_pages);
    if (error != 0)
        return ncoll__segment_failed(&v->config.events, "memory", bytes, error);
    struct memory memory = {.base = (unsigned char *)segment.base + HEADER_BYTES,
                            .bytes = bytes,
                            .allocated = true,
                            .huge = segment.huge};
    int rc = register_memory(v, memory, &segment, out);
    if (rc != NCOLL_OK)
        ncoll__segment_release(&segment);
    return rc;
}

int ncoll__verbs_memory_register(struct transport *t, void *base, size_t bytes, struct memory **out)
{
    return register_memory(verbs_of(t), (struct memory){.base = base, .bytes = bytes},
                           &(struct segment){0}, out);
}

void ncoll__verbs_memory_release(struct transport *t, struct memory *memory)
{
    struct verbs_memory *m = (struct verbs_memory *)memory;

    (void)t;
    ibv_dereg_mr(m->mr);
    if (m->rail_mr != NULL)
        ibv_dereg_mr(m->rail_mr);
    ncoll__segment_release(&m->segment);
    free(m);
}

/* The words of advertisement->out are the address, and the keys of both cards. The peer is not
 * notified: it reads the advertisement when it puts. */
int ncoll__verbs_advertise(struct transport *t, struct endpoint *to, const struct window *w,
                           unsigned box, const struct memory *m, const void *out,
                           struct advertisement *advertisement)
{
    struct connection *c = (struct connection *)to;
    const struct view *view = &c->views[w->shape.id];
    const struct verbs_memory *users = verbs_memory_of(m);
    size_t at =
        advertisement_index(&w->shape, w->shape.rank, box) * sizeof(struct advertisement_box);
    struct ibv_sge sge = {.addr = (uintptr_t)advertisement,
                          .length = (uint32_t)advertisement_bytes(advertisement)};
    struct ibv_send_wr wr = {
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = IBV_WR_RDMA_WRITE,
        .wr.rdma = {.remote_addr = view->addr - window_slots_at(&w->shape) + at,
                    .rkey = view->rkey},
    };

    uint32_t rail_rkey = users->rail_mr != NULL ? users->rail_mr->rkey : 0;
    advertisement->out = (struct place){{(uintptr_t)out, users->mr->rkey, rail_rkey}};
    advertisement->check = advertisement_check(advertisement, w->shape.rank);
    if (c->state != CONNECTION_READY || c->left)
        return NCOLL_ERR_PEER;
    if (send_room(c) < SEND_RESERVE + 2)
        return NCOLL_TIMEOUT;
    take_along(c, &wr, sge.length);
    return verbs_post(verbs_of(t), c, &wr, &wr, 1, false) ? NCOLL_OK : NCOLL_ERR_PEER;
}
