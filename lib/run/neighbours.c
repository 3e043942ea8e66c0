/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that the executor needs for runs in which ranks look at their neighbours' slots. */
#include "lib/plan/plan.h"
#include "lib/run/call.h"

void ncoll__neighbours_begin(struct ncoll_group *g, struct run *run)
{
    const struct plan *plan = run->call->plan;
    size_t set = run->epoch % EPOCHS;

    for (unsigned i = 0; i < plan->n_neighbours; i++) {
        const struct window_view *there = &plan->neighbours[i].window;
        unsigned char **base = &run->base[BASES + 2 * i];
        /* Neighbours' windows are only read; the casts drop const because all bases share one
         * array. */
        base[0] = (unsigned char *)(uintptr_t)&there->slots[set];
        base[1] = (unsigned char *)(uintptr_t)there->bulk + set * g->window->shape.bulk_bytes;
    }
    g->shares = true;
    ncoll__credit_on_start_shared(&g->credits, run->epoch);
}

/*
 * Finds out whether neighbours have finished the runs in which they look at this rank's slots. A
 * neighbour that has read everything it looked at writes this to its window (release). This rank
 * acquires that word before it gives a credit, and the sender acquires the credit before it puts.
 * So a neighbour never reads a later message by mistake. Returns a neighbour that has not finished;
 * this rank if all have.
 */
unsigned ncoll__neighbours_ask(struct ncoll_group *g)
{
    struct transport *t = g->ctx->transport;
    const struct nodes *nodes = &g->nodes;
    unsigned own = (unsigned)g->rank, node = node_of(nodes, own), late = own;
    uint64_t least = UINT64_MAX;

    for (unsigned l = 0; l < ranks_on(nodes, node); l++) {
        unsigned rank = rank_on(nodes, node, l);
        struct endpoint *at = t->ops->endpoint(t, ncoll__world_rank(g, rank));
        struct window_view there;
        if (rank == own || at == NULL || !t->ops->view(t, at, g->window, &there))
            continue; /* a rank that is not connected has never looked */
        uint64_t finished = atomic_load_explicit(&there.credits[rank], memory_order_acquire);
        late = finished < least ? rank : late;
        least = finished < least ? finished : least;
    }
    ncoll__credit_on_seen(&g->credits, least);
    return g->credits.unseen != 0 ? late : own;
}
