/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where windows lie. The world's has a segment to itself; those of groups, of which there may be a
 * thousand, share a few large ones, of which only what is touched takes memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "transport/shm/shm.h"

#define CHUNK_BYTES ((size_t)64 << 20)

/* The first gap in a chunk that is long enough: what it comes after, and where it begins. */
static bool find_gap(struct chunk *chunk, size_t bytes, struct shm_window ***link, size_t *offset)
{
    *offset = CHUNK_HEADER_BYTES;
    for (*link = &chunk->windows; **link != NULL; *link = &(**link)->next) {
        if ((**link)->offset - *offset >= bytes)
            return true;
        *offset = (**link)->offset + (**link)->bytes;
    }
    return chunk->segment.bytes - *offset >= bytes;
}

static int add_chunk(struct shm *s, size_t bytes)
{
    struct chunk *chunk = calloc(1, sizeof *chunk);

    if (chunk == NULL)
        return -ENOMEM;
    int rc = ncoll__segment_create(&chunk->segment, CHUNK_HEADER_BYTES + bytes, s->nonce++);
    if (rc != 0) {
        free(chunk);
        return rc;
    }
    chunk->next = s->chunks;
    s->chunks = chunk;
    return 0;
}

int ncoll__shm_window_allocate(struct shm *s, struct shm_window *w)
{
    struct shm_window **link = NULL;
    struct chunk *chunk = w->window.shape.id == 0 ? NULL : s->chunks;
    int rc;

    while (chunk != NULL && !find_gap(chunk, w->bytes, &link, &w->offset))
        chunk = chunk->next;
    if (chunk == NULL) {
        bool shared = w->window.shape.id != 0 && w->bytes < CHUNK_BYTES;
        if ((rc = add_chunk(s, shared ? CHUNK_BYTES : w->bytes)) != 0)
            return rc;
        chunk = s->chunks;
        find_gap(chunk, w->bytes, &link, &w->offset);
    }
    w->chunk = chunk;
    w->next = *link;
    *link = w;
    return 0;
}

/* Pages that are given back read as zeroes when they are used again. */
void ncoll__shm_window_release(struct shm *s, struct shm_window *w, bool in_use)
{
    struct chunk *chunk = w->chunk, **chunks = &s->chunks;
    struct shm_window **link = &chunk->windows;
    unsigned char *base = (unsigned char *)chunk->segment.base + w->offset;

    while (*link != w)
        link = &(*link)->next;
    *link = w->next;
    if (chunk->windows != NULL) {
        if (!in_use && madvise(base, w->bytes, MADV_REMOVE) != 0)
            memset(base, 0, w->bytes);
        return;
    }
    while (*chunks != chunk)
        chunks = &(*chunks)->next;
    *chunks = chunk->next;
    ncoll__segment_release(&chunk->segment);
    free(chunk);
}

int ncoll__shm_map(struct shm_peer *peer, const struct segment_name *name, struct mapping **out)
{
    struct mapping *m = peer->mappings;

    while (m != NULL && m->segment.nonce != name->nonce)
        m = m->next;
    if (m == NULL) {
        if ((m = calloc(1, sizeof *m)) == NULL)
            return -ENOMEM;
        int rc = ncoll__segment_attach(&m->segment, name);
        if (rc != 0) {
            free(m);
            return rc;
        }
        m->next = peer->mappings;
        peer->mappings = m;
    }
    m->views++;
    *out = m;
    return 0;
}

void ncoll__shm_unmap(struct shm_peer *peer, struct mapping *m)
{
    struct mapping **link = &peer->mappings;

    if (m == NULL || --m->views > 0)
        return;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    ncoll__segment_release(&m->segment);
    free(m);
}
