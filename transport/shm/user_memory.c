/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The user's memory. Allocated memory has a segment of its own. Peers map it when they first put to
 * it or read it, and unmap it some time after it was freed. Registered memory cannot be mapped by
 * peers; the transport only keeps a note of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/shm/shm.h"

/* The number of bytes in a segment before the user's memory. */
#define HEADER_BYTES 4096u

static int note(struct shm *s, struct memory memory, const struct segment *segment,
                struct memory **out)
{
    struct shm_memory *m = calloc(1, sizeof *m);

    if (m == NULL)
        return ncoll__shm_no_memory(s, "memory to note a region", sizeof *m, ENOMEM);
    m->memory = memory;
    m->segment = *segment;
    m->name = ncoll__segment_name(segment);
    *out = &m->memory;
    return NCOLL_OK;
}

int ncoll__shm_memory_allocate(struct transport *t, size_t bytes, struct memory **out)
{
    struct shm *s = (struct shm *)t;
    struct segment segment;

    int error = -ncoll__segment_create_for_user(&segment, HEADER_BYTES + bytes, s->nonce++,
                                                s->config.huge_pages);
    if (error != 0)
        return ncoll__shm_no_memory(s, "memory", bytes, error);
    struct memory memory = {.base = (unsigned char *)segment.base + HEADER_BYTES,
                            .bytes = bytes,
                            .allocated = true,
                            .reachable = true,
                            .peer_readable = true,
                            .huge = segment.huge};
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

void ncoll__shm_whole(const struct memory *memory, void **base, size_t *bytes)
{
    const struct segment *segment = &((const struct shm_memory *)memory)->segment;

    *base = segment->base != NULL ? (void *)segment->base : memory->base;
    *bytes = segment->base != NULL ? segment->bytes : memory->bytes;
}

void ncoll__shm_memory_release(struct transport *t, struct memory *memory)
{
    struct shm_memory *m = (struct shm_memory *)memory;

    (void)t;
    ncoll__segment_revoke(&m->segment, HEADER_BYTES);
    ncoll__segment_release(&m->segment);
    free(m);
}

/* ------------------------------------------------------------------ advertisements ------------ */

static struct segment_name name_of(const struct place *place)
{
    return (struct segment_name){.pid = (int32_t)(place->words[0] >> 32),
                                 .fd = (int32_t)place->words[0],
                                 .bytes = place->words[1],
                                 .nonce = place->words[2]};
}

int ncoll__shm_advertise(struct transport *t, struct endpoint *to, const struct window *w,
                         unsigned box, const struct memory *m, const void *out,
                         struct advertisement *advertisement)
{
    const struct shm_view *view = &((struct shm_peer *)to)->views[w->shape.id];
    struct advertisement_box *theirs =
        &view->advertisements[advertisement_index(&w->shape, w->shape.rank, box)];
    const uint64_t *words = (const uint64_t *)advertisement;

    (void)t;
    if (!m->peer_readable) /* peers of the node cannot map it; messages go through the window */
        return NCOLL_OK;
    advertisement->out = shm_place(m, out);
    advertisement->check = advertisement_check(advertisement, w->shape.rank);
    for (size_t i = 1; i < advertisement_bytes(advertisement) / sizeof *words; i++)
        atomic_store_explicit(&theirs->words[i], words[i], memory_order_relaxed);
    /* Release, for two reasons. A rank that reads the check word also sees all words before it. And
     * everything that this rank's user has done in OUT comes before the peer's writes to it. */
    atomic_store_explicit(&theirs->words[0], words[0], memory_order_release);
    return NCOLL_OK;
}

/* The number of freed regions of a peer that stay mapped. If the peer has failed in a call, this
 * rank may still be reading there. */
#define KEPT 16

/* Unmaps regions that the peer has freed, except for KEPT ones that this rank has read, and forgets
 * regions that could not be mapped. */
static void forget_revoked(struct shm_peer *peer)
{
    unsigned revoked = 0;

    for (struct reach **link = &peer->reaches, *r; (r = *link) != NULL;) {
        if (r->segment.base != NULL &&
            (!atomic_load(&r->segment.base->revoked) || (r->was_read && ++revoked <= KEPT))) {
            link = &r->next;
            continue;
        }
        *link = r->next;
        ncoll__segment_release(&r->segment);
        free(r);
    }
}

int ncoll__shm_attach(struct shm_peer *peer, const struct place *place, struct reach **out)
{
    struct segment_name name = name_of(place);
    struct reach *r;

    forget_revoked(peer);
    if ((r = calloc(1, sizeof *r)) == NULL)
        return -ENOMEM;
    int rc = ncoll__segment_attach(&r->segment, &name);
    if (rc != 0)
        r->segment = (struct segment){0};
    r->nonce = name.nonce;
    r->next = peer->reaches;
    peer->reaches = r;
    *out = r;
    return rc;
}

void ncoll__shm_reach_nothing(struct shm_peer *peer)
{
    for (struct reach *r = peer->reaches, *next; r != NULL; r = next) {
        next = r->next;
        ncoll__segment_release(&r->segment);
        free(r);
    }
    peer->reaches = NULL;
}

/* ------------------------------------------------------------------ peer reads ---------------- */

/* Copies from a segment that cannot be mapped. If no descriptor is left, it closes s->spare to get
 * one. Returns 0 or -errno. */
static int read_copy(struct shm *s, const struct segment_name *name, uint64_t at, void *to,
                     size_t len_bytes)
{
    int rc = ncoll__segment_read(name, at, to, len_bytes);

    if ((rc != -EMFILE && rc != -ENFILE) || s->spare < 0)
        return rc;
    close(s->spare);
    rc = ncoll__segment_read(name, at, to, len_bytes);
    s->spare = fcntl(s->board_segment.fd, F_DUPFD_CLOEXEC, 0);
    return rc;
}

/* Finds a message of a peer. Scratch is mapped together with the window, and stays mapped even if
 * the sender ends. The user's memory is mapped now, unless it is mapped already. If there is no
 * descriptor, or no room for another mapping, the message is copied. If that fails as well, the
 * sender may have died. */
int ncoll__shm_find(struct transport *t, struct endpoint *from, const struct window *w,
                    const struct slot *slot, size_t len_bytes, unsigned char *room,
                    const unsigned char **out)
{
    struct shm *s = (struct shm *)t;
    const struct transport_events *e = &s->config.events;
    struct shm_peer *peer = (struct shm_peer *)from;
    const struct shm_view *view = &peer->views[w->shape.id];
    struct segment_name name = name_of(&slot->source);

    if (slot->source.words[0] == 0) {          /* no process number: in scratch */
        if (view->mapping->segment.nonce == 0) /* the peer left before it was connected */
            return ncoll__shm_cannot_map(s, from->rank, &name, ESRCH);
        *out = view->scratch + slot->source.words[3];
        return NCOLL_OK;
    }
    struct reach *r = shm_find_reach(peer, &slot->source);
    int error = 0;
    if (r == NULL || r->segment.base == NULL)
        error = -ncoll__shm_attach(peer, &slot->source, &r);
    if (error == 0 && (*out = shm_reach_at(r, slot->source.words[3], len_bytes)) != NULL) {
        r->was_read = true;
        return NCOLL_OK;
    }
    if (error != 0 && read_copy(s, &name, slot->source.words[3], room, len_bytes) == 0) {
        e->log(e->arg, NCOLL_LOG_DEBUG, "shm: memory of rank %d cannot be mapped, it is copied: %s",
               from->rank, strerror(error));
        *out = room;
        return NCOLL_OK;
    }
    s->next_look_ns = s->next_program_ns = 0; /* check the peer now */
    ncoll__shm_check(t, from->rank);
    return peer->gone ? NCOLL_ERR_PEER
                      : ncoll__shm_cannot_map(s, from->rank, &name, error != 0 ? error : ESTALE);
}
