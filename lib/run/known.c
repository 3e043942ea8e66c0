/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds and remembers the recent calls of a group: see lib/base/known_calls.h. */
#include "lib/base/failure.h"
#include "lib/choose/planned.h"
#include "lib/plan/plan.h"
#include "lib/run/call.h"

/* True if k is the blocking call that has timed out, and its threshold is not that of these
 * arguments. */
static bool is_of_another(const struct ncoll_group *g, const struct known_call *k,
                          const struct call_args *args)
{
    return args->made != NULL && k == g->known.unfinished && k->args.made != args->made;
}

static bool is_same(const struct ncoll_group *g, const struct known_call *k,
                    const struct call_args *args)
{
    return k->plan != NULL && ncoll__same_args(&k->args, args) && k->args.sync == args->sync &&
           ncoll__same_threshold(&k->args, args) && !is_of_another(g, k, args) &&
           (!args->needs_counts || ncoll__same_arrays(g, k->plan, args));
}

struct known_call *ncoll__known_find(struct ncoll_group *g, const struct call_args *args)
{
    struct known_calls *known = &g->known;

    if (is_same(g, known->latest->then, args))
        return known->latest->then;
    for (struct known_call *k = known->recent; k < known->recent + RECENT_PLACES; k++)
        if (is_same(g, k, args))
            return k;
    return NULL;
}

/* True for calls that this rank cannot plan before they begin: an alltoall with counts, since no
 * rank knows all counts, or a call whose radix the trial has not chosen yet. */
static bool is_planned_later(const struct ncoll_group *g, const struct call_args *args)
{
    return (args->sends != NULL && g->size > 1) || ncoll__trial_wanted(g, args);
}

/* Returns the place among the recent calls for a new one: that of a call with the same arguments,
 * if the contents of its arrays have changed; or a free place; or, for every RECENT_KEPT-th call,
 * that of another call; or the last place. The blocking call that has timed out keeps its place. */
static struct known_call *find_place(struct known_calls *known, const struct call_args *args,
                                     bool has_plan)
{
    struct known_call *last = &known->recent[RECENT_CALLS], *place = NULL;

    for (struct known_call *k = known->recent; k <= last && has_plan; k++) {
        if (k == known->unfinished)
            continue;
        if (k->plan != NULL && ncoll__same_args(&k->args, args) && k->args.sync == args->sync &&
            ncoll__same_threshold(&k->args, args))
            return k;
        if (k->plan == NULL && place == NULL)
            place = k;
    }
    if (place != NULL)
        return place;
    place = last;
    if (has_plan && known->misses % RECENT_KEPT == 0)
        place = &known->recent[known->misses / RECENT_KEPT % RECENT_CALLS];
    return place != known->unfinished ? place : place == last ? known->recent : place + 1;
}

int ncoll__known_add(struct ncoll_group *g, const struct call_args *args, struct known_call **out)
{
    struct known_calls *known = &g->known;
    struct call_args loose = *args;
    struct plan *plan = NULL;
    int rc = ncoll__failure(g->ctx);

    loose.sync = NCOLL_LOOSE;
    if (rc == NCOLL_OK && !is_planned_later(g, &loose))
        rc = ncoll__plan(g, &loose, 0, &plan);
    if (rc != NCOLL_OK)
        return rc;
    known->misses++;
    struct known_call *k = find_place(known, args, plan != NULL);
    if (k->plan != NULL)
        ncoll__plan_leave(g, k->plan);
    if (known->blocking == k)
        known->blocking = NULL;
    *k = (struct known_call){.args = *args, .plan = plan, .then = &known->start};
    *out = k;
    return NCOLL_OK;
}

static bool is_plain(const struct ncoll_group *g, const struct known_call *k)
{
    return k->plan != NULL && ncoll__plan_is_ready(g, k->plan) && k->plan->runs == 1 &&
           k->args.sync == NCOLL_LOOSE && k->args.threshold.of == 0 &&
           !ncoll__needs_copy(g, &k->args);
}

void ncoll__known_follows(struct ncoll_group *g, struct known_call *k)
{
    g->known.latest->then = k;
    g->known.latest = k;
}

void ncoll__known_ended(struct ncoll_group *g, struct known_call *k)
{
    k->plain = is_plain(g, k);
    g->known.blocking = k->plain ? k : NULL;
    ncoll__known_follows(g, k);
}

/* Replaces the user's arrays by the plan's copies of them. */
static void take_arrays(struct known_call *k)
{
    k->args.counts = k->plan->key.counts;
    k->args.displs = k->plan->key.displs;
    k->args.sends = k->plan->key.sends;
    k->args.send_displs = k->plan->key.send_displs;
    k->args.rank_at = k->plan->key.rank_at;
}

void ncoll__known_keep(struct known_call *k, const struct known_call *from)
{
    *k = (struct known_call){.args = from->args, .plan = from->plan};
    k->plan->users++;
    take_arrays(k);
}

int ncoll__known_renew(struct ncoll_group *g, struct known_call *k)
{
    struct call_args loose = k->args;
    struct plan *plan;

    loose.sync = NCOLL_LOOSE;
    int rc = ncoll__plan(g, &loose, 0, &plan);
    if (rc != NCOLL_OK)
        return rc;
    ncoll__plan_leave(g, k->plan);
    k->plan = plan;
    take_arrays(k);
    return NCOLL_OK;
}
