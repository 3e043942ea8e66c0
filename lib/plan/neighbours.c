/* SPDX-License-Identifier: BSD-3-Clause */
/* The neighbours of a plan: ranks of the node whose slots this rank looks at. */
#include "lib/plan/compiler.h"
#include "lib/plan/plan.h"
#include "lib/base/group.h"

unsigned ncoll__neighbour(const struct compiler *c, unsigned rank)
{
    unsigned k = 0;

    while (k < c->plan->n_neighbours && c->plan->neighbours[k].rank != rank)
        k++;
    return k;
}

struct operand ncoll__compile_look(struct compiler *c, const struct step *s)
{
    unsigned neighbour = ncoll__neighbour(c, s->at);

    if (neighbour == c->plan->n_neighbours) {
        if (neighbour == NEIGHBOURS_MAX) { /* never happens: the verifier checks it */
            c->failed = true;
            return (struct operand){BASES, 0};
        }
        c->plan->neighbours[c->plan->n_neighbours++].rank = s->at;
    }
    c->arrived_at_neighbour[neighbour * c->layout.footprint.slots + s->slot] = s->count;
    return (struct operand){BASES + 2 * neighbour, s->slot * EPOCHS * sizeof(struct slot)};
}

int ncoll__neighbours_view(struct ncoll_group *g, struct plan *plan)
{
    struct transport *t = g->ctx->transport;

    for (unsigned i = 0; i < plan->n_neighbours; i++) {
        struct neighbour *n = &plan->neighbours[i];
        int rank = ncoll__world_rank(g, n->rank);
        struct endpoint *at = t->ops->endpoint(t, rank);
        if (at == NULL || !t->ops->view(t, at, g->window, &n->window))
            return ncoll__fail(g->ctx, NCOLL_ERR_INTERNAL, rank, "please report this",
                               "no view of the window of rank %d after wiring", rank);
    }
    return NCOLL_OK;
}
