/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes plans, frees them, and prepares them to run when their peers are connected. compile.c and
 * program.c turn a schedule into programs, peers.c finds the peers, and table.c keeps the plans.
 */
#include "lib/plan/plan.h"

#include <string.h>

#include "lib/base/signature.h"
#include "lib/plan/compile.h"
#include "lib/inspect.h"
#include "lib/plan/arguments.h"
#include "lib/base/group.h"

void ncoll__plan_free(struct ncoll_group *g, struct plan *plan)
{
    struct ncoll_context *ctx = g->ctx;

    for (unsigned i = 0; i < plan->n_programs; i++) {
        ncoll__release(ctx, plan->programs[i].instructions);
        ncoll__release(ctx, plan->programs[i].placed);
    }
    ncoll__array_leave(ctx, plan->in.at);
    ncoll__array_leave(ctx, plan->out.at);
    ncoll__arrays_leave(ctx, &plan->key);
    ncoll__release(ctx, plan->programs);
    ncoll__release(ctx, plan->peers);
    ncoll__release(ctx, plan->distances);
    ncoll__release(ctx, plan->senders);
    ncoll__release(ctx, plan);
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
           same_array(key->send_displs, args->send_displs, g->size) &&
           same_array(key->rank_at, args->rank_at, g->size);
}

bool ncoll__plan_is_for(const struct ncoll_group *g, const struct plan *plan,
                        const struct call_args *args, size_t longest)
{
    const struct call_args *key = &plan->key;
    bool arrays = key->counts != NULL || args->counts != NULL || key->rank_at != NULL ||
                  args->rank_at != NULL;

    return key->collective == args->collective && key->count == args->count &&
           key->type == args->type && key->op == args->op && key->root == args->root &&
           key->radix == args->radix && key->internal == args->internal &&
           key->sync == args->sync && signature_equal(key->purpose, args->purpose) &&
           ncoll__same_threshold(key, args) &&
           (!arrays || (plan->longest == longest && ncoll__same_arrays(g, plan, args)));
}

static bool copy_key(struct ncoll_group *g, const struct call_args *args, struct call_args *key)
{
    *key = *args;
    key->in = NULL;
    key->out = NULL;
    key->made = NULL;
    return ncoll__arrays_keep(g->ctx, key, (unsigned)g->size);
}

/* ------------------------------------------------------------------ making -------------------- */

static struct signature purpose_signature(const struct plan *plan)
{
    struct signature_fields fields = ncoll__signature_fields(plan->key.purpose);

    if ((fields.collective == COLL_ALLTOALL && fields.purpose == PURPOSE_AGREE) ||
        is_codec_op(fields.op)) {
        fields.algorithm = plan->algorithm;
        fields.radix = plan->radix;
    }
    return ncoll__signature(&fields);
}

static struct signature signature_of(const struct ncoll_group *g, const struct plan *plan)
{
    const struct call_args *key = &plan->key;
    struct signature_fields fields = {
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
        fields.amount = key->sends != NULL ? AMOUNT_WHOLE
                                           : ncoll__signature_hash(key->counts, (unsigned)g->size);
    if (key->threshold.of != 0) {
        fields.of = key->threshold.of;
        fields.percent = key->threshold.percent;
        fields.type = key->threshold.type;
        fields.amount = key->threshold.count;
    }
    fields.definition = ncoll__definition(&g->ctx->types, &g->ctx->ops, fields.type, fields.op);
    if (key->threshold.of != 0)
        fields.definition ^= (unsigned)(key->threshold.hash >> 48);
    return ncoll__signature(&fields);
}

/* Returns the bytes of a plan and of all that it points to. */
static size_t bytes_of(const struct ncoll_group *g, const struct plan *plan)
{
    const struct call_args *key = &plan->key;
    size_t arrays = (size_t)(key->counts != NULL) + (size_t)(key->displs != NULL) +
                    (size_t)(key->sends != NULL) + (size_t)(key->send_displs != NULL) +
                    (size_t)(key->rank_at != NULL);
    size_t added_up = (size_t)(plan->in.counts != NULL) + (size_t)(plan->out.counts != NULL);
    size_t numbers = arrays * (size_t)g->size + added_up * starts_in((unsigned)g->size);
    size_t bytes = sizeof *plan + numbers * sizeof *key->counts +
                   plan->n_peers * (sizeof *plan->peers + sizeof *plan->distances) +
                   plan->n_senders * sizeof *plan->senders;

    for (unsigned p = 0; p < plan->n_programs; p++) {
        const struct program *program = &plan->programs[p];
        bytes += sizeof *program + program->capacity * sizeof *program->instructions +
                 program->n_placed * sizeof *program->placed;
    }
    return bytes;
}

int ncoll__plan_make(struct ncoll_group *g, const struct call_args *args, size_t longest,
                     const struct op *op, const struct choice *choice, struct plan **out)
{
    struct plan *plan = ncoll__allocate(g->ctx, sizeof *plan);
    int rc = NCOLL_ERR_MEMORY;

    if (plan == NULL)
        goto fail;
    if (!copy_key(g, args, &plan->key))
        goto free_plan;
    plan->element = ncoll__element_bytes(g->ctx, args);
    plan->op = *op;
    plan->algorithm = choice->algorithm;
    plan->radix = choice->radix;
    plan->segment = choice->segment;
    plan->segments = choice->segments;
    plan->parts = choice->parts > 0 ? choice->parts : 1;
    plan->runs = plan->segments * plan->parts;
    plan->lanes = choice->lanes;
    plan->from = choice->from;
    plan->why = choice->why;
    plan->synchronises = plan->parts == 1 && (choice->algorithm->properties & SYNCHRONISES) != 0;
    plan->shares = (choice->algorithm->properties & SHARES) != 0;
    plan->longest = longest;
    plan->signature = args->purpose.what != 0 ? purpose_signature(plan) : signature_of(g, plan);
    if ((rc = ncoll__compile(g, plan)) != NCOLL_OK || (rc = ncoll__find_peers(g, plan)) != NCOLL_OK)
        goto free_plan;
    plan->era = g->known.era;
    plan->bytes = bytes_of(g, plan);
    *out = plan;
    return NCOLL_OK;

free_plan:
    ncoll__plan_free(g, plan);
fail:
    if (rc == NCOLL_ERR_MEMORY)
        ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to plan a collective");
    return rc;
}

/* ------------------------------------------------------------------ wiring -------------------- */

struct window_extent ncoll__plan_extent(const struct plan *plan)
{
    struct window_extent e = {0};

    for (unsigned p = 0; p < plan->n_programs; p++)
        for (unsigned i = 0; i < plan->programs[p].count; i++) {
            const struct instruction *s = &plan->programs[p].instructions[i];
            bool is_long = s->len_bytes > SLOT_PAYLOAD;
            size_t bulk_end = s->bulk_offset + s->len_bytes, end = s->a.offset + s->len_bytes;
            if (s->kind == STEP_WAIT && s->slot >= e.slots)
                e.slots = s->slot + 1;
            if (s->kind == STEP_WAIT && is_long && bulk_end > e.bulk_bytes)
                e.bulk_bytes = bulk_end;
            if (s->kind == STEP_PUT && is_long && s->a.base == BASE_SCRATCH &&
                end > e.scratch_bytes)
                e.scratch_bytes = end;
        }
    return e;
}

/* Extends the window for the messages that the plan receives, and lets the plan's senders put
 * there. */
static int admit_senders(struct ncoll_group *g, const struct plan *plan)
{
    struct transport *t = g->ctx->transport;
    const struct window_extent need = ncoll__plan_extent(plan);

    if (t->ops->extend == NULL)
        return NCOLL_OK;
    int rc = t->ops->extend(t, g->window, &need);
    for (unsigned i = 0; rc == NCOLL_OK && i < plan->n_senders; i++)
        t->ops->admit(t, g->window, ncoll__world_rank(g, plan->senders[i]));
    return rc;
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
            g->window->had_long |= s->len_bytes > SLOT_PAYLOAD;
            if (s->kind == STEP_WAIT && s->slot >= g->window->used_slots)
                g->window->used_slots = s->slot + 1;
            if (s->kind != STEP_PUT)
                continue;
            int rank = ncoll__world_rank(g, s->peer);
            s->to = ops->endpoint(g->ctx->transport, rank);
            if (s->to == NULL)
                return ncoll__fail(g->ctx, NCOLL_ERR_INTERNAL, rank, "please report this",
                                   "no connection to rank %d after wiring", rank);
        }
    if ((rc = admit_senders(g, plan)) != NCOLL_OK)
        return rc;
    plan->wired = true;
    return NCOLL_OK;
}
