/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs in which ranks look at slots of their neighbours: what the executor does for them. */
#include "lib/call/call.h"

void ncoll__neighbours_begin(struct ncoll_group *g, struct run *run)
{
    const struct plan *plan = run->call->plan;
    size_t set = run->epoch % EPOCHS;

    for (unsigned i = 0; i < plan->n_neighbours; i++) {
        const struct window_view *there = &plan->neighbours[i].window;
        unsigned char **base = &run->base[BASES + 2 * i];
        /* They are only read; the casts drop const for the array's sake. */
        base[0] = (unsigned char *)(uintptr_t)&there->slots[set];
        base[1] = (unsigned char *)(uintptr_t)there->bulk + set * g->window->shape.bulk_bytes;
    }
    g->shares = true;
    ncoll__credit_on_start_shared(&g->credits, run->epoch);
}

/*
 * Finds out whether neighbours have finished the calls in which they look here. Who has finished a
 * call says so (release) when it has read all that it looked at, and this rank acquires that before
 * it gives a credit, which the sender acquires before it puts: so what they read is what was there.
 * Returns one that has not; the own rank if all have.
 */
unsigned ncoll__neighbours_ask(struct ncoll_group *g)
{
    struct transport *t = g->ctx->transport;
    const struct nodes *nodes = &g->nodes;
    unsigned own = (unsigned)g->rank, node = nodes->of[own], late = own;
    uint64_t least = UINT64_MAX;

    for (unsigned l = 0; l < ranks_on(nodes, node); l++) {
        unsigned rank = rank_on(nodes, node, l);
        struct endpoint *at = t->ops->endpoint(t, ncoll__world_rank(g, rank));
        struct window_view there;
        if (rank == own || at == NULL || !t->ops->view(t, at, g->window, &there))
            continue; /* who is not connected has never looked */
        uint64_t finished = atomic_load_explicit(&there.credits[rank], memory_order_acquire);
        late = finished < least ? rank : late;
        least = finished < least ? finished : least;
    }
    ncoll__credit_on_seen(&g->credits, least);
    return g->credits.unseen != 0 ? late : own;
}
