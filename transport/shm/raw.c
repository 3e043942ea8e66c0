/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bare exchange: each side stores to a cache line of the other and waits for the other's store.
 * A barrier of two ranks consists of this and of the layers above it. The cache lines are the flags
 * of slots that no schedule uses, one slot for each notification at once, written epoch by epoch as
 * put() does. With data, each side first copies the data to the other's bulk memory.
 */
#include <sched.h>
#include <string.h>

#include "transport/relax.h"
#include "transport/shm/shm.h"

/* The number of looks at a flag before this rank yields, and the number of yields before it checks
 * if the peer has ended. */
#define LOOKS_PER_YIELD  1000
#define YIELDS_PER_CHECK 1000

/* Pings are counted from this number, so that none looks like the epoch of a message. */
#define PING_BASE (UINT64_C(1) << 63)

static int await_ping(struct shm *s, struct window *w, const struct shm_peer *peer, uint64_t ping,
                      unsigned slot)
{
    for (unsigned yields = 0;; yields++) {
        for (unsigned looks = 0; looks < LOOKS_PER_YIELD; looks++) {
            if (window_raised(w, ping, slot))
                return NCOLL_OK;
            ncoll__relax();
        }
        if (yields % YIELDS_PER_CHECK == YIELDS_PER_CHECK - 1) {
            ncoll__shm_check(&s->transport, peer->endpoint.rank);
            if (peer->gone)
                return s->config.events.fail(
                    s->config.events.arg, BECAUSE(NCOLL_ERR_PEER, PEER_DIED), peer->endpoint.rank,
                    NULL, "rank %d is gone in the middle of a raw exchange", peer->endpoint.rank);
        }
        sched_yield();
    }
}

static void copy_all(unsigned char *to, const unsigned char *from, size_t room_bytes,
                     size_t len_bytes)
{
    for (; len_bytes > room_bytes; len_bytes -= room_bytes)
        memcpy(to, from, room_bytes);
    memcpy(to, from, len_bytes);
}

int ncoll__shm_raw_exchange(struct transport *t, struct window *w, struct endpoint *endpoint,
                            unsigned writes, size_t len_bytes, unsigned iterations,
                            uint64_t *samples_ns)
{
    struct shm *s = (struct shm *)t;
    struct shm_peer *peer = (struct shm_peer *)endpoint;
    const struct transport_events *events = &s->config.events;
    const struct shm_view *view = &peer->views[w->shape.id];
    struct slot *theirs = view->slots;
    unsigned first = w->shape.n_slots - writes;
    int rc = NCOLL_OK;
    size_t room = EPOCHS * (w->shape.bulk_bytes < w->shape.scratch_bytes ? w->shape.bulk_bytes
                                                                         : w->shape.scratch_bytes);

    /* Write the pages first: otherwise they are all mapped to one page of zeroes, which would stay
     * in the cache. */
    memset(w->scratch, 1, len_bytes < room ? len_bytes : room);
    uint64_t at = events->now_ns(events->arg);
    for (unsigned i = 0; i < iterations; i++) {
        uint64_t ping = PING_BASE + ++peer->pings;
        for (unsigned k = 0; k < writes; k++) {
            if (len_bytes > 0 && k == writes - 1)
                copy_all(view->bulk, w->scratch, room, len_bytes);
            atomic_store_explicit(&theirs[slot_index(ping, first + k)].flag, ping,
                                  memory_order_release);
        }
        for (unsigned k = 0; k < writes && rc == NCOLL_OK; k++)
            rc = await_ping(s, w, peer, ping, first + k);
        if (rc != NCOLL_OK)
            return rc;
        uint64_t end = events->now_ns(events->arg);
        samples_ns[i] = end - at;
        at = end;
    }
    return NCOLL_OK;
}
