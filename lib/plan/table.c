/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the plans of a group, and begins a new era: see lib/base/known_calls.h. */
#include "lib/base/group.h"
#include "lib/base/signature.h"
#include "lib/plan/plan.h"

/* Returns a hash of a call. Arrays are hashed by their contents, not by their addresses, so that
 * the same calls find the same plans wherever the user's memory lies. */
static unsigned hash(const struct ncoll_group *g, const struct call_args *args)
{
    uint64_t h = args->count * COLLECTIVES + args->collective;

    if (args->counts != NULL)
        h += ncoll__signature_hash(args->counts, (unsigned)g->size);
    if (args->sends != NULL)
        h += ncoll__signature_hash(args->sends, (unsigned)g->size);
    h = (h * 256 + (unsigned)args->type) * 67 + args->op;
    h = h * 8191 + (unsigned)args->root + args->sync + args->threshold.hash;
    return (unsigned)(h * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* ------------------------------------------------------------------ forgetting ---------------- */

static void forget(struct ncoll_group *g, struct plan **place)
{
    struct plan *plan = *place;

    *place = NULL;
    g->known.plans_bytes -= plan->bytes;
    plan->kept = false;
    if (plan->users == 0)
        ncoll__plan_free(g, plan);
}

/* Returns the one of two places whose plan is to be forgotten first: a plan without users; of two
 * such plans the one that was looked up less recently. Either place may be NULL. */
static struct plan **older(struct plan **a, struct plan **b)
{
    if (b == NULL || *b == NULL || (*b)->users > 0)
        return a;
    return a == NULL || (*b)->looked_up < (*a)->looked_up ? b : a;
}

void ncoll__plan_leave(struct ncoll_group *g, struct plan *plan)
{
    if (--plan->users == 0 && !plan->kept)
        ncoll__plan_free(g, plan);
}

/* ------------------------------------------------------------------ finding, keeping ---------- */

struct plan *ncoll__plan_find(struct ncoll_group *g, const struct call_args *args, size_t longest)
{
    if (args->once)
        return NULL;
    unsigned first = hash(g, args);
    for (unsigned i = 0; i < PLAN_PLACES; i++) {
        struct plan *plan = g->known.plans[(first + i) % PLANS];
        if (plan != NULL && ncoll__plan_is_for(g, plan, args, longest)) {
            plan->looked_up = ++g->known.lookups;
            return plan;
        }
    }
    return NULL;
}

/* Returns a place for the plan of a call: a free one, or one whose plan may be forgotten. NULL: the
 * plans in all possible places have users. */
static struct plan **find_place(struct ncoll_group *g, const struct call_args *args)
{
    unsigned first = hash(g, args);
    struct plan **oldest = NULL;

    for (unsigned i = 0; i < PLAN_PLACES; i++) {
        struct plan **place = &g->known.plans[(first + i) % PLANS];
        if (*place == NULL)
            return place;
        oldest = older(oldest, place);
    }
    return oldest;
}

/* Forgets plans without users until all plans of the table take at most plans_bytes_most bytes. The
 * new plan stays in any case. */
static void make_room(struct ncoll_group *g, const struct plan *new)
{
    struct known_calls *known = &g->known;

    while (known->plans_bytes > known->plans_bytes_most) {
        struct plan **oldest = NULL;
        for (unsigned i = 0; i < PLANS; i++)
            if (known->plans[i] != new)
                oldest = older(oldest, &known->plans[i]);
        if (oldest == NULL)
            return;
        forget(g, oldest);
    }
}

void ncoll__plan_keep(struct ncoll_group *g, const struct call_args *args, struct plan *plan)
{
    struct plan **place = args->once ? NULL : find_place(g, args);

    if (place == NULL)
        return;
    if (*place != NULL)
        forget(g, place);
    *place = plan;
    plan->kept = true;
    plan->looked_up = ++g->known.lookups;
    g->known.plans_bytes += plan->bytes;
    make_room(g, plan);
}

/* ------------------------------------------------------------------ eras ---------------------- */

void ncoll__known_calls_init(struct ncoll_group *g)
{
    struct known_calls *known = &g->known;

    known->era = 1;
    known->plans_bytes_most = PLANS_BYTES;
    known->latest = known->start.then = &known->start;
}

void ncoll__known_calls_forget(struct ncoll_group *g)
{
    struct known_calls *known = &g->known;

    for (unsigned i = 0; i < RECENT_PLACES; i++) {
        struct known_call *k = &known->recent[i];
        if (k->plan != NULL)
            ncoll__plan_leave(g, k->plan);
        k->plan = NULL;
        k->plain = false;
    }
    for (unsigned i = 0; i < PLANS; i++)
        if (known->plans[i] != NULL)
            forget(g, &known->plans[i]);
    known->era++;
}
