/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bare exchange: each side stores to a line of the other and waits for the other's store. No
 * synchronisation of two ranks through memory can be faster, so this is what ncoll's own calls are
 * compared with.
 */
#include <sched.h>

#include "transport/relax.h"
#include "transport/shm/shm.h"

/* Looks before it is assumed that the peer is not running, and yields before that it has ended. */
#define LOOKS_PER_YIELD  1000
#define YIELDS_PER_CHECK 1000

static int await_ping(struct shm *s, const struct shm_peer *peer, uint64_t ping)
{
    const struct mailbox *box = &s->board->boxes[peer->endpoint.rank];

    for (unsigned yields = 0;; yields++) {
        for (unsigned looks = 0; looks < LOOKS_PER_YIELD; looks++) {
            if (atomic_load_explicit(&box->ping, memory_order_acquire) >= ping)
                return NCOLL_OK;
            ncoll__relax();
        }
        if (yields % YIELDS_PER_CHECK == YIELDS_PER_CHECK - 1) {
            ncoll__shm_check(&s->transport, peer->endpoint.rank);
            if (peer->gone)
                return s->config.events.fail(
                    s->config.events.arg, NCOLL_ERR_PEER, peer->endpoint.rank, NULL,
                    "rank %d is gone in the middle of a raw exchange", peer->endpoint.rank);
        }
        sched_yield();
    }
}

int ncoll__shm_raw_exchange(struct transport *t, struct window *w, struct endpoint *endpoint,
                            unsigned iterations, uint64_t *samples_ns)
{
    struct shm *s = (struct shm *)t;
    struct shm_peer *peer = (struct shm_peer *)endpoint;
    const struct transport_events *events = &s->config.events;
    struct mailbox *theirs = &peer->board->boxes[s->config.rank];

    (void)w;
    uint64_t at = events->now_ns(events->arg);
    for (unsigned i = 0; i < iterations; i++) {
        atomic_store_explicit(&theirs->ping, ++peer->pings, memory_order_release);
        int rc = await_ping(s, peer, peer->pings);
        if (rc != NCOLL_OK)
            return rc;
        uint64_t end = events->now_ns(events->arg);
        samples_ns[i] = end - at;
        at = end;
    }
    return NCOLL_OK;
}
