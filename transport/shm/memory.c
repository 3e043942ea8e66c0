/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of windows. The window of the world has a segment of its own. The windows of
 * groups, of which there may be a thousand, share a few large segments, whose unused parts take
 * no memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "transport/shm/shm.h"

#define CHUNK_BYTES ((size_t)64 << 20)

/* Finds the first gap in a chunk that is long enough. *link: where the list of windows continues
 * after the gap; *offset: the start of the gap. Returns false if there is none. */
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

/* ------------------------------------------------------------------ what is left there -------- */

/* Gives pages back to the system. They read as zeroes when they are used again. */
static void give_back(const struct chunk *chunk, size_t offset, size_t bytes)
{
    unsigned char *base = (unsigned char *)chunk->segment.base + offset;

    if (madvise(base, bytes, MADV_REMOVE) != 0)
        memset(base, 0, bytes);
}

static bool same_layout(const struct window_shape *a, const struct window_shape *b)
{
    return a->ranks == b->ranks && a->n_slots == b->n_slots && a->bulk_bytes == b->bulk_bytes &&
           a->scratch_bytes == b->scratch_bytes;
}

/* Clears flags and credits. All other memory of a window is written before it is read. */
static void clear(const struct window *w)
{
    for (unsigned slot = 0; slot < w->used_slots; slot++)
        for (unsigned set = 0; set < EPOCHS; set++) {
            size_t i = slot_index(set, slot);
            atomic_store_explicit(&w->slots[i].flag, 0, memory_order_relaxed);
            atomic_store_explicit(&w->got[i], 0, memory_order_relaxed);
        }
    for (unsigned r = 0; r < w->shape.ranks; r++)
        atomic_store_explicit(&w->credits[r], 0, memory_order_relaxed);
}

/* Prepares the memory of a freed window for another one. Giving a page back costs every rank a page
 * fault when it is used again. So a window that had no long messages keeps its pages for the next
 * window of the same layout. */
static void leave(struct chunk *chunk, const struct shm_window *w)
{
    struct shm_residue *residue = w->window.had_long ? NULL : malloc(sizeof *residue);

    if (residue == NULL) {
        give_back(chunk, w->offset, w->bytes);
        return;
    }
    clear(&w->window);
    *residue = (struct shm_residue){w->offset, w->bytes, w->window.shape, chunk->residues};
    chunk->residues = residue;
}

/* Prepares the place of a new window. Pages kept from freed windows are given back, unless they are
 * from a window of the same place and layout, which was cleared when it was freed. */
static void take(struct chunk *chunk, const struct shm_window *w)
{
    for (struct shm_residue **link = &chunk->residues, *r; (r = *link) != NULL;) {
        if (r->offset >= w->offset + w->bytes || w->offset >= r->offset + r->bytes) {
            link = &r->next;
            continue;
        }
        if (r->offset != w->offset || !same_layout(&r->shape, &w->window.shape))
            give_back(chunk, r->offset, r->bytes);
        *link = r->next;
        free(r);
    }
}

/* ------------------------------------------------------------------ windows ------------------- */

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
    take(chunk, w);
    return 0;
}

void ncoll__shm_chunk_release(struct shm *s, struct chunk *chunk)
{
    struct chunk **link = &s->chunks;

    while (*link != chunk)
        link = &(*link)->next;
    *link = chunk->next;
    for (struct shm_residue *r = chunk->residues, *next; r != NULL; r = next) {
        next = r->next;
        free(r);
    }
    ncoll__segment_release(&chunk->segment);
    free(chunk);
}

/* True if a chunk other than `but` has no windows. */
static bool has_empty_chunk(const struct shm *s, const struct chunk *but)
{
    const struct chunk *chunk = s->chunks;

    while (chunk != NULL && (chunk == but || chunk->windows != NULL))
        chunk = chunk->next;
    return chunk != NULL;
}

/* Releases a window, and its chunk if it is empty. One empty chunk is kept, which peers keep
 * mapped, since groups come and go. */
void ncoll__shm_window_release(struct shm *s, struct shm_window *w)
{
    struct chunk *chunk = w->chunk;
    struct shm_window **link = &chunk->windows;

    while (*link != w)
        link = &(*link)->next;
    *link = w->next;
    bool shared = chunk->segment.bytes == CHUNK_HEADER_BYTES + CHUNK_BYTES;
    if (chunk->windows != NULL || (shared && !has_empty_chunk(s, chunk))) {
        leave(chunk, w);
        return;
    }
    ncoll__segment_revoke(&chunk->segment, CHUNK_HEADER_BYTES);
    ncoll__shm_chunk_release(s, chunk);
}

static void unmap(struct mapping **link)
{
    struct mapping *m = *link;

    *link = m->next;
    ncoll__segment_release(&m->segment);
    free(m);
}

/* Unmaps segments of a peer that neither the peer nor this rank uses any more. */
static void unmap_revoked(struct shm_peer *peer)
{
    for (struct mapping **link = &peer->mappings; *link != NULL;)
        if ((*link)->views == 0 && atomic_load(&(*link)->segment.base->revoked) != 0)
            unmap(link);
        else
            link = &(*link)->next;
}

int ncoll__shm_map(struct shm_peer *peer, const struct segment_name *name, struct mapping **out)
{
    struct mapping *m = peer->mappings;

    while (m != NULL && m->segment.nonce != name->nonce)
        m = m->next;
    if (m == NULL) {
        unmap_revoked(peer);
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

/* Releases the mapping for one view. The segment stays mapped, since the peer's next window may lie
 * there as well. */
void ncoll__shm_unmap(struct mapping *m)
{
    if (m != NULL)
        m->views--;
}

void ncoll__shm_unmap_all(struct shm_peer *peer)
{
    while (peer->mappings != NULL)
        unmap(&peer->mappings);
}
