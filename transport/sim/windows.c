/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of puts, as a device makes them: a rank may put only where its peer has admitted it, and
 * sends long messages only from memory that its own plans have announced. */
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

/* The peer learns it at once, and goes on a latency later. */
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
