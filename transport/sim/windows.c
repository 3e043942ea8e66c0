/* SPDX-License-Identifier: BSD-3-Clause */
/* extend() and admit(), for checks of puts like those of a device: a rank may put only where its
 * peer has admitted it, and may send long messages of its window only from the part that it has
 * extended. */
#include "transport/sim/sim_transport.h"

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

int ncoll__sim_extend(struct transport *t, struct window *window, const struct window_extent *need)
{
    struct window_extent *now = &((struct sim_window *)window)->extent;

    (void)t;
    *now = (struct window_extent){
        .slots = (unsigned)most(now->slots, need->slots),
        .bulk_bytes = most(now->bulk_bytes, need->bulk_bytes),
        .scratch_bytes = most(now->scratch_bytes, need->scratch_bytes),
    };
    return NCOLL_OK;
}

/* Tells the peer the new extent at once. If the peer waits, it is woken after the latency of a
 * message. */
void ncoll__sim_admit(struct transport *transport, struct window *window, int peer)
{
    struct sim_transport *t = sim_of(transport), *theirs = sim_rank_of(peer)->transport;
    const struct sim_window *w = (const struct sim_window *)window;
    struct link *link = theirs != NULL ? ncoll__sim_link(theirs, t->config.rank) : NULL;

    for (unsigned id = 0; link != NULL && id < link->n_views; id++)
        if (link->views[id].name.unique == w->unique)
            link->views[id].admitted = w->extent;
    if (link != NULL && theirs->owner->n_awaited == 0)
        ncoll__sim_wake(theirs->owner, t->owner->now_ns + ncoll__sim->config.latency_ns);
}
