/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plans of a group: found, made, kept, forgotten. How a schedule becomes a program is in
 * compile.c and program.c, whom it needs in peers.c.
 */
#include "lib/plan/plan.h"

#include <string.h>

#include "lib/failure/card.h"
#include "lib/plan/compile.h"
#include "lib/inspect.h"
#include "lib/internal.h"

static void plan_free(struct ncoll_group *g, struct plan *plan)
{
    struct ncoll_context *ctx = g->ctx;
    const size_t *arrays[] = {plan->key.counts, plan->key.displs, plan->key.sends,
                              plan->key.send_displs};

    for (unsigned i = 0; i < plan->n_programs; i++) {
        ncoll__release(ctx, plan->programs[i].instructions);
        ncoll__release(ctx, plan->programs[i].landings);
    }
    for (unsigned i = 0; i < 4; i++)
        ncoll__release(ctx, (void *)(uintptr_t)arrays[i]);
    ncoll__release(ctx, plan->programs);
    ncoll__release(ctx, plan->peers);
    ncoll__release(ctx, plan->distances);
    ncoll__release(ctx, plan->senders);
    ncoll__release(ctx, plan);
}

/* The group does not know it any more. */
static void forget(struct ncoll_group *g, struct plan *plan)
{
    plan->kept = false;
    if (g->latest == plan)
        g->latest = NULL;
    for (unsigned i = 0; i < REPEATS; i++)
        if (g->repeats[i].plan == plan)
            g->repeats[i].plan = NULL;
    if (plan->users == 0)
        plan_free(g, plan);
}

void ncoll__plan_leave(struct ncoll_group *g, struct plan *plan)
{
    if (--plan->users == 0 && !plan->kept)
        plan_free(g, plan);
}

void ncoll__plans_free(struct ncoll_group *g)
{
    for (unsigned i = 0; i < PLANS; i++) {
        if (g->plans[i] != NULL)
            forget(g, g->plans[i]);
        g->plans[i] = NULL;
    }
}

/* ------------------------------------------------------------------ keys ---------------------- */

static bool same_array(const size_t *a, const size_t *b, int size)
{
    return a == b || (a != NULL && b != NULL && memcmp(a, b, (size_t)size * sizeof *a) == 0);
}

bool ncoll__same_arrays(const struct ncoll_group *g, const struct plan *plan,
                        const struct call_args *args)
{
    const struct call_args *key = &plan->key;

    return same_array(key->counts, args->counts, g->size) &&
           same_array(key->displs, args->displs, g->size) &&
           same_array(key->sends, args->sends, g->size) &&
           same_array(key->send_displs, args->send_displs, g->size);
}

static inline bool plan_fits(const struct ncoll_group *g, const struct plan *plan,
                             const struct call_args *args, size_t longest)
{
    const struct call_args *key = &plan->key;
    bool arrays = key->counts != NULL || args->counts != NULL;

    return key->collective == args->collective && key->count == args->count &&
           key->type == args->type && key->op == args->op && key->root == args->root &&
           key->radix == args->radix && key->internal == args->internal &&
           key->sync == args->sync && (!key->internal || card_equal(key->errand, args->errand)) &&
           (!arrays || (plan->longest == longest && ncoll__same_arrays(g, plan, args)));
}

static bool copy_array(struct ncoll_group *g, const size_t **array)
{
    size_t bytes = (size_t)g->size * sizeof **array;

    if (*array == NULL)
        return true;
    size_t *copy = ncoll__allocate(g->ctx, bytes);
    if (copy != NULL)
        memcpy(copy, *array, bytes);
    *array = copy;
    return copy != NULL;
}

static bool copy_key(struct ncoll_group *g, const struct call_args *args, struct call_args *key)
{
    *key = *args;
    key->in = NULL;
    key->out = NULL;
    bool counts = copy_array(g, &key->counts), displs = copy_array(g, &key->displs);
    bool sends = copy_array(g, &key->sends), send_displs = copy_array(g, &key->send_displs);
    return counts && displs && sends && send_displs;
}

/* Of arrays by where they are, if it is the user who has them. */
static unsigned hash(const struct ncoll_group *g, const struct call_args *args)
{
    uint64_t h = args->count * COLLECTIVES + args->collective;

    if (args->sends != NULL)
        h += ncoll__card_hash(args->counts, (unsigned)g->size) +
             ncoll__card_hash(args->sends, (unsigned)g->size);
    else if (args->counts != NULL)
        h += (uintptr_t)args->counts >> 3;
    h = (h * 256 + (unsigned)args->type) * 67 + args->op;
    h = h * 8191 + (unsigned)args->root + args->sync;
    return (unsigned)(h * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* ------------------------------------------------------------------ making -------------------- */

static struct card errand_card(const struct plan *plan)
{
    struct card_fields fields = ncoll__card_fields(plan->key.errand);

    if (fields.collective == COLL_ALLTOALL && fields.errand == ERRAND_AGREE) {
        fields.algorithm = plan->algorithm;
        fields.radix = plan->radix;
    }
    return ncoll__card(&fields);
}

static struct card card_of(const struct ncoll_group *g, const struct plan *plan)
{
    const struct call_args *key = &plan->key;
    struct card_fields fields = {
        .collective = key->collective,
        .type = key->collective == COLL_BARRIER ? 0 : (unsigned)key->type,
        .op = reduces(key->collective) ? key->op : 0,
        .algorithm = plan->algorithm,
        .radix = plan->radix,
        .root = (unsigned)key->root,
        .irregular = key->counts != NULL,
        .amount = key->collective == COLL_BARRIER ? key->sync : key->count,
    };

    if (key->counts != NULL)
        fields.amount =
            key->sends != NULL ? AMOUNT_WHOLE : ncoll__card_hash(key->counts, (unsigned)g->size);
    return ncoll__card(&fields);
}

static int plan_make(struct ncoll_group *g, const struct call_args *args, size_t longest,
                     struct plan **out)
{
    struct plan *plan = ncoll__allocate(g->ctx, sizeof *plan);
    struct choice choice;
    int rc = NCOLL_ERR_MEMORY;

    if (plan == NULL)
        goto fail;
    if (!copy_key(g, args, &plan->key))
        goto free_plan;
    plan->element = ncoll__element_bytes(g->ctx, args);
    if (args->own_op != NULL)
        plan->op = *args->own_op;
    else if (reduces(args->collective) &&
             (rc = ncoll__op_resolve(g->ctx, args->op, args->type, &plan->op)) != NCOLL_OK)
        goto free_plan;
    if ((rc = ncoll__select(g, args, &plan->op, longest, &choice)) != NCOLL_OK)
        goto free_plan;
    plan->algorithm = choice.algorithm;
    plan->radix = choice.radix;
    plan->segment = choice.segment;
    plan->segments = choice.segments;
    plan->lanes = choice.lanes;
    plan->from = choice.from;
    plan->why = choice.why;
    plan->synchronises = (choice.algorithm->properties & SYNCHRONISES) != 0;
    plan->shares = (choice.algorithm->properties & SHARES) != 0;
    plan->longest = longest;
    plan->card = args->errand.what != 0 ? errand_card(plan) : card_of(g, plan);
    if ((rc = ncoll__compile(g, plan)) != NCOLL_OK || (rc = ncoll__find_peers(g, plan)) != NCOLL_OK)
        goto free_plan;
    *out = plan;
    return NCOLL_OK;

free_plan:
    plan_free(g, plan);
fail:
    if (rc == NCOLL_ERR_MEMORY)
        ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to plan a collective");
    return rc;
}

/* ------------------------------------------------------------------ finding ------------------- */

/* Where the plan of a call is, or may go: one of a few places, the next in turn if all are taken by
 * plans without users. NULL: nowhere. */
static struct plan **find_place(struct ncoll_group *g, const struct call_args *args, size_t longest)
{
    unsigned first = hash(g, args);

    for (unsigned i = 0; i < PLAN_PLACES; i++) {
        struct plan **place = &g->plans[(first + i) % PLANS];
        if (*place != NULL && plan_fits(g, *place, args, longest))
            return place;
    }
    for (unsigned i = 0; i < PLAN_PLACES; i++)
        if (g->plans[(first + i) % PLANS] == NULL)
            return &g->plans[(first + i) % PLANS];
    for (unsigned i = 0; i < PLAN_PLACES; i++) {
        struct plan **place = &g->plans[(first + g->evictions++ % PLAN_PLACES) % PLANS];
        if ((*place)->users == 0)
            return place;
    }
    return NULL;
}

int ncoll__plan(struct ncoll_group *g, const struct call_args *args, size_t longest,
                struct plan **out)
{
    struct plan **place = NULL, *plan = g->latest;

    if (plan == NULL || !plan_fits(g, plan, args, longest) || args->once) {
        if (!args->once)
            place = find_place(g, args, longest);
        plan = place != NULL ? *place : NULL;
        if (plan == NULL || !plan_fits(g, plan, args, longest)) {
            int rc = plan_make(g, args, longest, &plan);
            if (rc != NCOLL_OK)
                return rc;
            if (place != NULL && *place != NULL)
                forget(g, *place);
            if (place != NULL)
                *place = plan;
            plan->kept = place != NULL;
        }
        g->latest = plan->kept ? plan : g->latest;
    }
    plan->users++;
    *out = plan;
    return NCOLL_OK;
}

int ncoll__plan_wire(struct ncoll_group *g, struct plan *plan)
{
    const struct transport_ops *ops = g->ctx->transport->ops;
    int rc = ncoll__neighbours_view(g, plan);

    if (rc != NCOLL_OK)
        return rc;

    for (unsigned p = 0; p < plan->n_programs; p++)
        for (unsigned i = 0; i < plan->programs[p].count; i++) {
            struct instruction *s = &plan->programs[p].instructions[i];
            if (s->kind != STEP_PUT)
                continue;
            int rank = ncoll__world_rank(g, s->peer);
            s->to = ops->endpoint(g->ctx->transport, rank);
            if (s->to == NULL)
                return ncoll__fail(g->ctx, NCOLL_ERR_INTERNAL, rank, "please report this",
                                   "no connection to rank %d after wiring", rank);
        }
    plan->wired = true;
    return NCOLL_OK;
}
