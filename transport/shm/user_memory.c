/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the user's: a segment of its own if it is allocated, which peers can map. Memory that
 * the user has mapped is nothing that peers could reach; it is only noted.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/shm/shm.h"

/* Before the user's memory in its segment. */
#define HEADER_BYTES 4096u

struct shm_memory {
    struct memory memory;
    struct segment segment; /* zeroed: the memory is registered */
};

static int note(struct shm *s, struct memory memory, const struct segment *segment,
                struct memory **out)
{
    struct shm_memory *m = calloc(1, sizeof *m);

    if (m == NULL)
        return ncoll__shm_no_memory(s, "memory to note a region", sizeof *m, ENOMEM);
    m->memory = memory;
    m->segment = *segment;
    *out = &m->memory;
    return NCOLL_OK;
}

int ncoll__shm_memory_allocate(struct transport *t, size_t bytes, struct memory **out)
{
    struct shm *s = (struct shm *)t;
    struct segment segment;

    int error = -ncoll__segment_create(&segment, HEADER_BYTES + bytes, s->nonce++);
    if (error != 0)
        return ncoll__shm_no_memory(s, "memory", bytes, error);
    struct memory memory = {
        .base = (unsigned char *)segment.base + HEADER_BYTES, .bytes = bytes, .allocated = true};
    int rc = note(s, memory, &segment, out);
    if (rc != NCOLL_OK)
        ncoll__segment_release(&segment);
    return rc;
}

int ncoll__shm_memory_register(struct transport *t, void *base, size_t bytes, struct memory **out)
{
    return note((struct shm *)t, (struct memory){.base = base, .bytes = bytes},
                &(struct segment){0}, out);
}

void ncoll__shm_memory_release(struct transport *t, struct memory *memory)
{
    struct shm_memory *m = (struct shm_memory *)memory;

    (void)t;
    ncoll__segment_release(&m->segment);
    free(m);
}
