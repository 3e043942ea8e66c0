/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives the credits of a run, by the rules of lib/base/credit.h. */
#include "lib/run/call.h"
#include "lib/plan/plan.h"
#include "lib/base/failure.h"
#include "lib/deliver/memory.h"

bool ncoll__drain(struct ncoll_group *g)
{
    struct transport *t = g->ctx->transport;

    if (t->ops->drained == NULL || t->ops->drained(t, false))
        g->undrained = false;
    return !g->undrained;
}

static int give_credit(struct ncoll_group *g, struct run *run, unsigned q, uint64_t credit)
{
    struct transport *t = g->ctx->transport;
    int world = ncoll__world_rank(g, q);

    /* a credit promises that this rank does not need the set any more */
    if (!ncoll__all_drained(g))
        return ncoll__run_waits_for_device(g, run);
    struct endpoint *to = t->ops->endpoint(t, world);
    int rc = to->by->ops->credit(to->by, to, g->window, credit);
    if (rc == NCOLL_OK)
        ncoll__credit_on_sent(&g->credits, q, credit);
    else if (rc == NCOLL_TIMEOUT)
        return ncoll__run_waits_for_device(g, run);
    else if (rc == NCOLL_ERR_PEER) /* a rank that has left needs no credit */
        return g->ctx->peers[world].left ? NCOLL_OK : g->ctx->watch->unreachable(g->ctx, world);
    return rc;
}

int ncoll__credit_at_start(struct ncoll_group *g, struct run *run, unsigned q)
{
    bool known = ncoll__credit_known_at_start(&g->credits, q, run->epoch);
    unsigned late = g->credits.unseen != 0 && !known ? ncoll__neighbours_ask(g) : q;

    if (ncoll__credit_waits_for_neighbours(&g->credits, q, run->epoch))
        return ncoll__run_waits_for(g, run, late);
    uint64_t credit = ncoll__credit_due_at_start(&g->credits, q, run->epoch);
    return credit != 0 ? give_credit(g, run, q, credit) : NCOLL_OK;
}

int ncoll__credits_to_read(struct ncoll_group *g, struct run *run)
{
    unsigned set = run->epoch % EPOCHS, q;

    while (ncoll__first_reader(&g->readers, g->readers.by[set], &g->readers.by_any, set, &q)) {
        int rc = !run->call->last ? ncoll__credit_at_start(g, run, q) : NCOLL_OK;
        if (rc != NCOLL_OK)
            return rc;
        ncoll__clear_reader(g->readers.by[set], q);
    }
    return NCOLL_OK;
}

int ncoll__credits_at_end(struct ncoll_group *g, struct run *run)
{
    const struct plan *plan = run->call->plan;

    for (unsigned i = 0; i < plan->n_senders; i++) {
        uint64_t credit = ncoll__credit_due_at_end(&g->credits, plan->senders[i], run->epoch);
        int rc = credit != 0 ? give_credit(g, run, plan->senders[i], credit) : NCOLL_OK;
        if (rc < 0)
            return rc;
    }
    return NCOLL_OK;
}
