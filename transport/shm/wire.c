/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connects peers: maps each peer's board once, and the peer's window for each group. A rank that
 * has mapped a peer's window can write there at once. So connecting consists of accepting offers,
 * and the ranks need no further agreement.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/shm/shm.h"

int ncoll__shm_offer(struct transport *t, struct window *w, int peer, unsigned depth,
                     struct offer *offer)
{
    const struct shm_window *own = (struct shm_window *)w;
    struct shm_offer mine = {
        .segment = ncoll__segment_name(&own->chunk->segment),
        .offset = own->offset,
        .id = w->shape.id,
        .rank = peer,
    };

    (void)t, (void)depth; /* slots need no receive queue, so the depth does not matter */
    memcpy(offer, &mine, sizeof mine);
    return NCOLL_OK;
}

/* Checks if memory can be shared with a peer. Returns NCOLL_OK, or an error with the reason. */
static int check_description(struct shm *s, int rank, const struct shm_description *d)
{
    const struct transport_events *e = &s->config.events;

    if (d->machine == s->config.machine && d->pid_namespace != s->pid_namespace)
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_UNSUPPORTED, NO_SHARED_MEMORY), rank,
                       "run the ranks of a node in one pid namespace (`docker run --pid`, or the "
                       "pod's shareProcessNamespace), or set NCOLL_TRANSPORT=verbs",
                       "rank %d and rank %d are on one machine, but in different containers (pid "
                       "namespaces): they share no memory",
                       s->config.rank, rank);
    if (d->node != s->config.node)
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_UNSUPPORTED, NO_SHARED_MEMORY), rank,
                       "set NCOLL_TRANSPORT=verbs for a job of several nodes",
                       "rank %d is on node %016llx, rank %d on node %016llx: they share no memory",
                       s->config.rank, (unsigned long long)s->config.node, rank,
                       (unsigned long long)d->node);
    if (d->board.pid <= 0 || d->board.fd < 0 || d->board.bytes < sizeof(struct board))
        return e->fail(
            e->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, VERSION_DIFFERS), rank,
            "check that all ranks run the same ncoll",
            "rank %d describes memory that cannot exist (process %d, file %d, %llu bytes)", rank,
            (int)d->board.pid, (int)d->board.fd, (unsigned long long)d->board.bytes);
    if (d->uid != geteuid())
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_UNSUPPORTED, NO_SHARED_MEMORY), rank,
                       "run all ranks as the same user, or set NCOLL_TRANSPORT=verbs",
                       "rank %d runs as user %u, rank %d as user %u", s->config.rank,
                       (unsigned)geteuid(), rank, (unsigned)d->uid);
    return NCOLL_OK;
}

/* Connects a peer. The peer's process is watched before the peer's memory is mapped. If the process
 * still exists afterwards, the memory belongs to it, and not to another process with the same
 * number. If mapping fails, the mailbox tells if the peer has left or failed. It is read only then,
 * since the peer may leave at any moment. */
static int connect_peer(struct shm *s, int rank, const struct shm_description *d)
{
    const struct transport_events *e = &s->config.events;
    struct shm_peer *peer = calloc(1, sizeof *peer);
    int error = 0;

    if (peer == NULL)
        return e->fail(e->arg, NCOLL_ERR_MEMORY, rank, NULL, "no memory to connect rank %d", rank);
    peer->endpoint = (struct endpoint){rank, &s->transport};
    peer->process.fd = peer->bell = -1;
    peer->owner = s;
    peer->no_futex = d->bell >= 0;
    peer->fenced = !s->membarrier || !d->membarrier;
    if (d->board.pid != getpid())
        error = -ncoll__process_watch(&peer->process, d->board.pid);
    if (error == 0)
        error = -ncoll__segment_attach(&peer->board_segment, &d->board);
    peer->board_name = d->board;
    if (error == 0 && d->bell >= 0)
        error = -ncoll__shm_open_bell(peer, d->bell, d->bell_inode);
    if (error == 0 && peer->process.pid != 0 && ncoll__process_ended(&peer->process))
        error = ESRCH;
    if (error != 0) {
        ncoll__shm_disconnect(peer);
        if (ncoll__shm_has_said_goodbye(s, rank))
            return ncoll__shm_connect_left(s, rank);
        return ncoll__shm_cannot_map(s, rank, &d->board, error);
    }
    peer->board = (struct board *)peer->board_segment.base;
    peer->next = s->connected;
    s->connected = peer;
    s->by_rank[rank] = peer;
    peer->identity = (const void *)(uintptr_t)d->identity; /* NOLINT(performance-no-int-to-ptr) */
    ncoll__shm_try_single_copy(s, peer);
    return NCOLL_OK;
}

/* Returns the view of window `id`, which it makes if necessary; NULL: no memory. */
static struct shm_view *view_of(struct shm_peer *peer, unsigned id)
{
    if (id >= peer->n_views) {
        struct shm_view *views = realloc(peer->views, (id + 1) * sizeof *views);
        if (views == NULL)
            return NULL;
        memset(views + peer->n_views, 0, (id + 1 - peer->n_views) * sizeof *views);
        peer->views = views;
        peer->n_views = id + 1;
    }
    return &peer->views[id];
}

static void set_view(struct shm_view *view, unsigned char *base, const struct window_shape *shape)
{
    view->advertisements = (struct advertisement_box *)base;
    view->slots = (struct slot *)(base + window_slots_at(shape));
    view->got = (_Atomic uint64_t *)(base + window_got_at(shape));
    view->credits = (_Atomic uint64_t *)(base + window_credits_at(shape));
    view->bulk = base + window_bulk_at(shape);
    view->scratch = base + window_scratch_at(shape);
}

static int connect_window(struct shm *s, struct shm_peer *peer, const struct window_shape *shape,
                          const struct shm_offer *offer)
{
    const struct transport_events *e = &s->config.events;
    struct shm_view *view = view_of(peer, shape->id);

    if (view == NULL)
        return e->fail(e->arg, NCOLL_ERR_MEMORY, peer->endpoint.rank, NULL,
                       "no memory to connect rank %d", peer->endpoint.rank);
    if (view->mapping != NULL && view->mapping->segment.nonce == offer->segment.nonce &&
        view->offset == offer->offset)
        return NCOLL_OK;
    ncoll__shm_unmap(view->mapping);
    *view = (struct shm_view){.offset = offer->offset, .id = offer->id};
    uint64_t offset = offer->offset;
    int error = -ncoll__shm_map(peer, &offer->segment, &view->mapping);
    if (error != 0 && ncoll__shm_has_said_goodbye(s, peer->endpoint.rank)) {
        error = -ncoll__shm_map_left(peer, window_bytes(shape), &view->mapping);
        offset = 0;
    } else if (error == 0 && (offer->offset > view->mapping->segment.bytes ||
                              view->mapping->segment.bytes - offer->offset < window_bytes(shape))) {
        error = ESTALE;
    }
    if (error != 0)
        return ncoll__shm_cannot_map(s, peer->endpoint.rank, &offer->segment, error);
    set_view(view, (unsigned char *)view->mapping->segment.base + offset, shape);
    return NCOLL_OK;
}

/* True if the numbers of an offer are valid: the window begins after the header of its segment, at
 * an offset that is aligned for slots, and has a valid number. Its length is checked when the
 * segment is mapped. */
static bool is_possible(const struct shm_offer *offer)
{
    return offer->offset >= CHUNK_HEADER_BYTES && offer->offset % _Alignof(struct slot) == 0 &&
           offer->id < WINDOWS_MAX && offer->segment.pid > 0 && offer->segment.fd >= 0;
}

int ncoll__shm_accept(struct transport *t, struct window *w, int peer, const void *peer_desc,
                      size_t peer_desc_len, const struct offer *offer)
{
    struct shm *s = (struct shm *)t;
    const struct transport_events *e = &s->config.events;
    struct shm_description description;
    struct shm_offer theirs;
    int rc;

    memcpy(&theirs, offer, sizeof theirs);
    if (peer_desc_len != sizeof description || theirs.rank != s->config.rank ||
        theirs.segment.nonce == 0 || !is_possible(&theirs))
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, VERSION_DIFFERS), peer,
                       "check that all ranks run the same ncoll",
                       "the description or the offer of rank %d is not for rank %d", peer,
                       s->config.rank);
    memcpy(&description, peer_desc, sizeof description);
    if (s->by_rank[peer] == NULL) {
        if ((rc = check_description(s, peer, &description)) != NCOLL_OK)
            return rc;
        if ((rc = connect_peer(s, peer, &description)) != NCOLL_OK)
            return rc;
    }
    return connect_window(s, s->by_rank[peer], &w->shape, &theirs);
}

int ncoll__shm_ready(struct transport *t, const int *peers, unsigned n_peers)
{
    (void)t, (void)peers, (void)n_peers;
    return NCOLL_OK;
}

struct endpoint *ncoll__shm_endpoint(struct transport *t, int rank)
{
    struct shm_peer *peer = ((struct shm *)t)->by_rank[rank];

    return peer == NULL ? NULL : &peer->endpoint;
}

bool ncoll__shm_view(struct transport *t, struct endpoint *at, const struct window *w,
                     struct window_view *view)
{
    const struct shm_peer *peer = (const struct shm_peer *)at;
    const struct shm_view *there = w->shape.id < peer->n_views ? &peer->views[w->shape.id] : NULL;

    (void)t;
    if (there == NULL || there->mapping == NULL)
        return false;
    *view = (struct window_view){there->slots, there->got, there->credits, there->bulk};
    return true;
}

void ncoll__shm_disconnect(struct shm_peer *peer)
{
    ncoll__shm_unmap_all(peer);
    ncoll__shm_reach_nothing(peer);
    ncoll__segment_release(&peer->board_segment);
    ncoll__process_forget(&peer->process);
    if (peer->bell >= 0)
        close(peer->bell);
    free(peer->views);
    free(peer);
}
