/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leaving, and peers that have left before this rank could map their memory.
 *
 * A schedule connects its peers at its first use. A rank that has done its part of the schedule may
 * destroy its context while other ranks still connect their peers. Then its memory can no longer be
 * mapped. But all its messages lie in the windows of its peers, which it had mapped, and no rank
 * has to put anything to it any more. So the peers go on without it. In place of its memory they
 * use zeroed memory of their own; writes to that memory (credits) have no effect.
 *
 * Before its memory is freed, a leaving rank writes to its mailbox at every peer whose memory it
 * has mapped. A peer reads the mailbox when it fails to map the memory of the rank. A rank that
 * leaves without having mapped a peer's memory has not finished the call that connects them. That
 * is a failure, which the rank reports itself (ncoll__quit()).
 *
 * The mailbox also takes the farewell. Each of two ranks first writes its own farewell and then
 * looks for the other's, and all these accesses are sequentially consistent. So the rank that is
 * later finds the farewell of the other.
 */
#include <errno.h>
#include <stdlib.h>

#include "transport/shm/shm.h"

/* Tells all peers that this rank leaves, and wakes those that sleep, so that they notice. A peer
 * that is just falling asleep notices when it wakes. */
void ncoll__shm_leave(struct transport *t, farewell_fn say, void *arg)
{
    struct shm *s = (struct shm *)t;

    if (s->has_left)
        return;
    s->has_left = true;
    atomic_store(&s->board->state, BOARD_LEFT);
    for (struct shm_peer *peer = s->connected; peer != NULL; peer = peer->next) {
        struct mailbox *box = &peer->board->boxes[s->config.rank];
        if (say != NULL)
            say(arg, peer->endpoint.rank, &box->farewell);
        atomic_store(&box->left, 1);
        ncoll__shm_wake_up(peer);
    }
}

bool ncoll__shm_farewell(struct transport *t, const struct endpoint *from, struct farewell *out)
{
    const struct mailbox *box = &((struct shm *)t)->board->boxes[from->rank];

    if (atomic_load(&box->left) == 0)
        return false;
    *out = box->farewell;
    return true;
}

bool ncoll__shm_has_said_goodbye(const struct shm *s, int rank)
{
    /* Acquire: all earlier messages of the peer are visible after this load. */
    return atomic_load_explicit(&s->board->boxes[rank].left, memory_order_acquire) != 0;
}

int ncoll__shm_connect_left(struct shm *s, int rank)
{
    const struct transport_events *e = &s->config.events;
    struct shm_peer *peer = calloc(1, sizeof *peer);

    if (peer == NULL ||
        ncoll__segment_stand_in(&peer->board_segment, s->board_segment.bytes) != 0) {
        free(peer);
        return e->fail(e->arg, NCOLL_ERR_MEMORY, rank, NULL, "no memory to connect rank %d", rank);
    }
    peer->endpoint = (struct endpoint){rank, &s->transport};
    peer->process.fd = peer->bell = -1;
    peer->owner = s;
    peer->board = (struct board *)peer->board_segment.base;
    atomic_store(&peer->board->state, BOARD_LEFT);
    peer->next = s->connected;
    s->connected = peer;
    s->by_rank[rank] = peer;
    return NCOLL_OK;
}

int ncoll__shm_map_left(struct shm_peer *peer, size_t bytes, struct mapping **out)
{
    struct mapping *m = calloc(1, sizeof *m);

    if (m == NULL)
        return -ENOMEM;
    int rc = ncoll__segment_stand_in(&m->segment, bytes);
    if (rc != 0) {
        free(m);
        return rc;
    }
    m->views = 1;
    m->next = peer->mappings;
    peer->mappings = m;
    *out = m;
    return 0;
}
