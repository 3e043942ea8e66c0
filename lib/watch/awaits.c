/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the event that an unfinished run waits for. */
#include "lib/deliver/memory.h"
#include "lib/plan/plan.h"
#include "lib/run/call.h"
#include "lib/stale/stale.h"
#include "lib/watch/failure.h"

bool ncoll__waits_for(struct ncoll_group *g, struct run *run, unsigned *peer, uint32_t *slot)
{
    struct holder holder;

    if (ncoll__is_stale(run->call))
        return ncoll__stale_waits_for(g, peer, slot);
    if (run->credits < run->call->plan->n_senders)
        return false; /* the run waits for its own device */
    if (ncoll__find_holder(g, run, &holder)) {
        *peer = holder.rank;
        *slot = holder.slot != NO_SLOT ? SLOT_SINGLE_COPY | holder.slot : NO_SLOT;
        return true;
    }
    if (run->next == run->program->count)
        return false; /* the run waits for its own device */
    const struct instruction *i = &run->program->instructions[run->next];
    *peer = i->peer;
    *slot = i->kind == STEP_WAIT ? i->slot : NO_SLOT;
    if (i->kind == STEP_LOOK) {
        *peer = run->call->plan->neighbours[i->neighbour].rank;
        *slot = SLOT_LOOKS | i->slot;
        return !ncoll__run_has_come(g, run);
    }
    if (i->kind == STEP_WAIT)
        return !window_raised(g->window, run->epoch, i->slot);
    return i->kind == STEP_PUT && ncoll__lacks_credit(g, i->peer, run->epoch);
}

bool ncoll__run_awaits(struct ncoll_group *g, struct run *run, struct awaits *out)
{
    unsigned peer;
    uint32_t slot;

    if (!ncoll__waits_for(g, run, &peer, &slot))
        return false;
    out->rank = ncoll__world_rank(g, peer);
    out->what = slot == NO_SLOT                  ? AWAITS_CREDIT
                : (slot & SLOT_LOOKS) != 0       ? AWAITS_SHARED
                : (slot & SLOT_SINGLE_COPY) != 0 ? AWAITS_RETURN
                                                 : AWAITS_MESSAGE;
    return true;
}
