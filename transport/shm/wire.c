/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connecting: a peer's board is mapped once, its window for each group. Nothing has to be agreed
 * on: once a rank has mapped a peer's window it can write there, so accepting is all there is to
 * it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

    (void)t, (void)depth; /* slots need no receive queue, so any depth will do */
    memcpy(offer, &mine, sizeof mine);
    return NCOLL_OK;
}

/* What stands in the way of mapping a peer's memory, in words. */
int ncoll__shm_cannot_map(struct shm *s, int rank, const struct segment_name *name, int error)
{
    const struct transport_events *e = &s->config.events;

    switch (error) {
    case ESRCH:
    case ENOENT:
        return e->fail(e->arg, NCOLL_ERR_PEER, rank, "see what that rank printed before it ended",
                       "rank %d (process %d) is gone", rank, (int)name->pid);
    case EMFILE:
    case ENFILE:
        return e->fail(e->arg, NCOLL_ERR_RESOURCE, rank, "raise the limit: ulimit -n 4096",
                       "no file descriptor left to connect rank %d: %s", rank, strerror(error));
    case ENOMEM:
        return e->fail(e->arg, NCOLL_ERR_MEMORY, rank,
                       "raise what this process may map (sysctl vm.max_map_count, ulimit -v), or "
                       "use fewer ranks on the node",
                       "no memory to map %llu bytes of rank %d", (unsigned long long)name->bytes,
                       rank);
    case ESTALE:
        return e->fail(e->arg, NCOLL_ERR_PEER, rank,
                       "make sure that all ranks are started anew, and see the same /proc",
                       "file %d of process %d is not the memory that rank %d offered",
                       (int)name->fd, (int)name->pid, rank);
    case EACCES:
    case EPERM:
        return e->fail(e->arg, NCOLL_ERR_SYSTEM, rank,
                       "run all ranks as the same user, with core dumps allowed (PR_SET_DUMPABLE), "
                       "or set NCOLL_TRANSPORT=verbs",
                       "may not map the memory of rank %d (process %d): %s", rank, (int)name->pid,
                       strerror(error));
    default:
        return e->fail(e->arg, NCOLL_ERR_SYSTEM, rank, NULL,
                       "cannot map the memory of rank %d (process %d): %s", rank, (int)name->pid,
                       strerror(error));
    }
}

/* Why memory cannot be shared with a peer at all. */
static int check_description(struct shm *s, int rank, const struct shm_description *d)
{
    const struct transport_events *e = &s->config.events;

    if (d->machine == s->config.machine && d->pid_namespace != s->pid_namespace)
        return e->fail(e->arg, NCOLL_ERR_UNSUPPORTED, rank,
                       "run the ranks of a node in one pid namespace (`docker run --pid`, or the "
                       "pod's shareProcessNamespace), or set NCOLL_TRANSPORT=verbs",
                       "rank %d and rank %d are on one machine, but in different containers (pid "
                       "namespaces): they share no memory",
                       s->config.rank, rank);
    if (d->node != s->config.node)
        return e->fail(e->arg, NCOLL_ERR_UNSUPPORTED, rank,
                       "set NCOLL_TRANSPORT=verbs for a job of several nodes",
                       "rank %d is on node %016llx, rank %d on node %016llx: they share no memory",
                       s->config.rank, (unsigned long long)s->config.node, rank,
                       (unsigned long long)d->node);
    if (d->uid != geteuid())
        return e->fail(e->arg, NCOLL_ERR_UNSUPPORTED, rank,
                       "run all ranks as the same user, or set NCOLL_TRANSPORT=verbs",
                       "rank %d runs as user %u, rank %d as user %u", s->config.rank,
                       (unsigned)geteuid(), rank, (unsigned)d->uid);
    return NCOLL_OK;
}

/* 0 or -errno. For reading, too: a bell that nobody hears any more is nothing to die of. */
static int find_bell(struct shm_peer *peer, const struct shm_description *d)
{
    char path[64];

    if (d->bell < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)d->board.pid, (int)d->bell);
    peer->bell = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return peer->bell < 0 ? -errno : 0;
}

/* The process is watched before its memory is mapped: if it is still there afterwards, the memory
 * was its own and not that of another one with its number. */
static int connect_peer(struct shm *s, int rank, const struct shm_description *d)
{
    const struct transport_events *e = &s->config.events;
    struct shm_peer *peer = calloc(1, sizeof *peer);
    int error = 0;

    if (peer == NULL)
        return e->fail(e->arg, NCOLL_ERR_MEMORY, rank, NULL, "no memory to connect rank %d", rank);
    peer->endpoint.rank = rank;
    peer->process.fd = peer->bell = -1;
    peer->fenced = !s->membarrier || !d->membarrier;
    if (d->board.pid != getpid())
        error = -ncoll__process_watch(&peer->process, d->board.pid);
    if (error == 0)
        error = -ncoll__segment_attach(&peer->board_segment, &d->board);
    if (error == 0)
        error = -find_bell(peer, d);
    if (error == 0 && peer->process.pid != 0 && ncoll__process_ended(&peer->process))
        error = ESRCH;
    if (error != 0) {
        ncoll__shm_disconnect(peer);
        return ncoll__shm_cannot_map(s, rank, &d->board, error);
    }
    peer->board = (struct board *)peer->board_segment.base;
    peer->next = s->connected;
    s->connected = peer;
    s->by_rank[rank] = peer;
    peer->identity = (const void *)(uintptr_t)d->identity; /* NOLINT(performance-no-int-to-ptr) */
    ncoll__shm_try_fetching(s, peer);
    return NCOLL_OK;
}

/* Room for a view of window `id`. */
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
    ncoll__shm_unmap(peer, view->mapping);
    *view = (struct shm_view){.offset = offer->offset, .id = offer->id};
    int error = -ncoll__shm_map(peer, &offer->segment, &view->mapping);
    if (error == 0 && (offer->offset > view->mapping->segment.bytes ||
                       view->mapping->segment.bytes - offer->offset < shm_window_bytes(shape)))
        error = ESTALE;
    if (error != 0)
        return ncoll__shm_cannot_map(s, peer->endpoint.rank, &offer->segment, error);
    unsigned char *base = (unsigned char *)view->mapping->segment.base + offer->offset;
    view->slots = (struct slot *)base;
    view->fetched = (_Atomic uint64_t *)(base + window_fetched_at(shape));
    view->credits = (_Atomic uint64_t *)(base + window_credits_at(shape));
    view->invitations = (struct invitation_box *)(base + window_invitations_at(shape));
    view->bulk = base + window_bulk_at(shape);
    view->scratch = base + window_bytes(shape);
    return NCOLL_OK;
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
        theirs.segment.nonce == 0)
        return e->fail(e->arg, NCOLL_ERR_BOOTSTRAP, peer, "check that all ranks run the same ncoll",
                       "what rank %d described and offered is not for rank %d", peer,
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
    *view = (struct window_view){there->slots, there->fetched, there->credits, there->bulk};
    return true;
}

void ncoll__shm_disconnect(struct shm_peer *peer)
{
    for (unsigned i = 0; i < peer->n_views; i++)
        ncoll__shm_unmap(peer, peer->views[i].mapping);
    ncoll__shm_reach_nothing(peer);
    ncoll__segment_release(&peer->board_segment);
    ncoll__process_forget(&peer->process);
    if (peer->bell >= 0)
        close(peer->bell);
    free(peer->views);
    free(peer);
}
