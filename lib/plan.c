/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/plan.h"

#include <string.h>

#include "lib/card.h"
#include "lib/inspect.h"
#include "lib/internal.h"

#define LINE 64
/* Room for a few messages more costs little and saves connecting the same peers again. */
#define DEPTH_MIN 8u
/* Segments longer than this gain nothing: they fall out of the caches between being written by one
 * rank and read by the next. */
#define SEGMENT_BYTES ((size_t)128 << 10)

static size_t round_up(size_t n)
{
    return (n + LINE - 1) / LINE * LINE;
}

/* How long the messages of a run are, and where they lie. */
struct layout {
    struct footprint footprint;
    size_t stride; /* bytes of the bulk area per slot */
};

static struct layout layout_of(const struct algorithm *algorithm, struct shape shape,
                               size_t element, size_t count)
{
    struct layout layout;
    shape.count = count;
    layout.footprint = algorithm->footprint(&shape);
    layout.stride = round_up(layout.footprint.message * element);
    return layout;
}

size_t ncoll__plan_segment(const struct ncoll_group *g, const struct algorithm *algorithm,
                           const struct shape *shape, size_t element, size_t count)
{
    const struct window *w = g->window;
    struct layout one = layout_of(algorithm, *shape, element, count > 0 ? 1 : 0);
    size_t segment = count;

    if (count == 0 || one.footprint.slots == 0)
        return count;
    if (one.footprint.message * element > SLOT_PAYLOAD / count) {
        size_t room = w->bulk_bytes / one.footprint.slots;
        size_t fits = room < LINE ? 0 : (room - (LINE - 1)) / (one.footprint.message * element);
        segment = segment < fits ? segment : fits;
        fits = SEGMENT_BYTES / element > 0 ? SEGMENT_BYTES / element : 1;
        segment = segment < fits ? segment : fits;
    }
    /* one vector more: where IN is staged for transports that cannot send from any memory */
    size_t fits = w->scratch_bytes / ((one.footprint.scratch + 1) * element);
    return segment < fits ? segment : fits;
}

/* ------------------------------------------------------------------ compiling ----------------- */

/* One schedule being turned into a program. */
struct compiler {
    struct ncoll_group *g;
    const struct plan *plan;
    struct shape shape;
    struct layout layout;
    size_t landed[WINDOW_SLOTS]; /* elements of the message on each slot */
    bool staged;                 /* IN has been copied to scratch */
    struct program *out;
    unsigned capacity;
    bool failed;
};

static void add(struct compiler *c, struct instruction instruction)
{
    struct program *p = c->out;

    if (p->count == c->capacity) {
        unsigned capacity = c->capacity ? 2 * c->capacity : 16;
        struct instruction *grown = ncoll__allocate(c->g->ctx, capacity * sizeof *grown);
        if (grown == NULL) {
            c->failed = true;
            return;
        }
        if (p->count > 0)
            memcpy(grown, p->instructions, p->count * sizeof *grown);
        ncoll__release(c->g->ctx, p->instructions);
        p->instructions = grown;
        c->capacity = capacity;
    }
    p->instructions[p->count++] = instruction;
}

static struct operand operand(const struct compiler *c, struct ref ref)
{
    size_t offset = ref.offset * c->plan->element;

    switch (ref.buffer) {
    case BUF_IN:
        return (struct operand){BASE_IN, offset};
    case BUF_OUT:
        return (struct operand){BASE_OUT, offset};
    case BUF_SCRATCH:
        return (struct operand){BASE_SCRATCH, offset};
    case BUF_LANDED:
        if (c->landed[ref.slot] * c->plan->element > SLOT_PAYLOAD)
            return (struct operand){BASE_BULK, ref.slot * c->layout.stride + offset};
        return (struct operand){BASE_SLOTS, ref.slot * sizeof(struct slot) +
                                                offsetof(struct slot, payload) + offset};
    }
    return (struct operand){BASES, 0};
}

/* What a long put sends must lie in scratch for transports that send from registered memory only.
 */
static struct ref stage(struct compiler *c, const struct step *s)
{
    size_t at = c->layout.footprint.scratch;

    if (s->a.buffer != BUF_IN || c->g->ctx->transport->sends_any_memory ||
        s->count * c->plan->element <= SLOT_PAYLOAD)
        return s->a;
    if (!c->staged)
        add(c, (struct instruction){.kind = STEP_COPY,
                                    .dst = operand(c, scratch_at(at)),
                                    .a = operand(c, in_at(0)),
                                    .count = c->shape.count,
                                    .len_bytes = c->shape.count * c->plan->element});
    c->staged = true;
    return scratch_at(at + s->a.offset);
}

static void compile_step(struct compiler *c, const struct step *s)
{
    struct instruction i = {
        .kind = s->kind,
        .slot = s->slot,
        .peer = (int)s->peer,
        .count = s->count,
        .len_bytes = s->count * c->plan->element,
        .bulk_offset = s->slot * c->layout.stride,
    };

    if (s->kind == STEP_WAIT) {
        c->landed[s->slot] = s->count;
    } else {
        struct ref a = s->kind == STEP_PUT ? stage(c, s) : s->a;
        i.a = operand(c, a);
        i.b = operand(c, s->b);
        i.dst = operand(c, s->dst);
    }
    add(c, i);
}

static int compile(struct ncoll_group *g, const struct plan *plan, size_t count,
                   struct program *out)
{
    struct compiler c = {
        .g = g,
        .plan = plan,
        .shape = {.collective = plan->collective,
                  .rank = (unsigned)g->rank,
                  .size = (unsigned)g->size,
                  .radix = plan->radix,
                  .count = count,
                  .inverse = plan->op.inverse != NULL},
        .out = out,
    };
    struct round round = {.capacity = 64};
    unsigned r = 0;

    c.layout = layout_of(plan->algorithm, c.shape, plan->element, count);
    round.steps = ncoll__allocate(g->ctx, round.capacity * sizeof *round.steps);
    while (round.steps != NULL && !c.failed) {
        round.count = 0;
        round.full = false;
        bool more = plan->algorithm->round(&c.shape, r, &round);
        if (round.full) { /* round() is pure: ask again with more room */
            ncoll__release(g->ctx, round.steps);
            round.capacity *= 2;
            round.steps = ncoll__allocate(g->ctx, round.capacity * sizeof *round.steps);
            continue;
        }
        if (!more)
            break;
        for (unsigned i = 0; i < round.count; i++)
            compile_step(&c, &round.steps[i]);
        r++;
    }
    c.failed = c.failed || round.steps == NULL;
    ncoll__release(g->ctx, round.steps);
    return c.failed ? NCOLL_ERR_MEMORY : NCOLL_OK;
}

/* ------------------------------------------------------------------ peers --------------------- */

/* Every world rank the program puts to or waits for, and how many messages one of them sends. */
static int collect_peers(struct ncoll_group *g, struct plan *plan)
{
    unsigned *messages = ncoll__allocate(g->ctx, (size_t)g->size * sizeof *messages);
    bool *used = ncoll__allocate(g->ctx, (size_t)g->size * sizeof *used);
    unsigned most = 0;

    plan->peers = ncoll__allocate(g->ctx, (size_t)plan->whole.count * sizeof *plan->peers);
    if (messages == NULL || used == NULL || plan->peers == NULL) {
        ncoll__release(g->ctx, messages);
        ncoll__release(g->ctx, used);
        return NCOLL_ERR_MEMORY;
    }
    for (unsigned i = 0; i < plan->whole.count; i++) {
        const struct instruction *s = &plan->whole.instructions[i];
        if (s->kind != STEP_PUT && s->kind != STEP_WAIT)
            continue;
        if (s->kind == STEP_WAIT && ++messages[s->peer] > most)
            most = messages[s->peer];
        if (!used[s->peer])
            plan->peers[plan->n_peers++] = s->peer;
        used[s->peer] = true;
    }
    plan->depth = 2 * most; /* a sender may be one epoch ahead */
    if (plan->depth < DEPTH_MIN)
        plan->depth = DEPTH_MIN;
    ncoll__release(g->ctx, messages);
    ncoll__release(g->ctx, used);
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ plans of a group ---------- */

static void plan_free(struct ncoll_group *g, struct plan *plan)
{
    if (plan == NULL)
        return;
    ncoll__release(g->ctx, plan->whole.instructions);
    ncoll__release(g->ctx, plan->rest.instructions);
    ncoll__release(g->ctx, plan->peers);
    ncoll__release(g->ctx, plan);
}

void ncoll__plans_free(struct ncoll_group *g)
{
    for (unsigned i = 0; i < PLANS; i++) {
        plan_free(g, g->plans[i]);
        g->plans[i] = NULL;
    }
    g->latest = NULL;
}

static int plan_make(struct ncoll_group *g, const struct call_args *args, struct plan **out)
{
    struct plan *plan = ncoll__allocate(g->ctx, sizeof *plan);
    struct choice choice;
    int rc = NCOLL_ERR_MEMORY;

    if (plan == NULL)
        goto fail;
    *plan = (struct plan){.collective = args->collective,
                          .count = args->count,
                          .type = args->type,
                          .op_number = args->op,
                          .element = 1};
    if (args->collective != COLL_BARRIER) {
        plan->element = ncoll_context_type_size(g->ctx, args->type);
        if ((rc = ncoll__op_resolve(g->ctx, args->op, args->type, &plan->op)) != NCOLL_OK)
            goto free_plan;
    }
    if ((rc = ncoll__select(g, args, &plan->op, &choice)) != NCOLL_OK)
        goto free_plan;
    plan->algorithm = choice.algorithm;
    plan->radix = choice.radix;
    plan->segment = choice.segment;
    plan->card = ncoll__card(args->collective, args->count, args->type, args->op,
                             ncoll__algorithm_number(choice.algorithm), choice.radix);
    if ((rc = compile(g, plan, plan->segment, &plan->whole)) != NCOLL_OK)
        goto free_plan;
    if (plan->count > 0 && plan->count % plan->segment != 0 &&
        (rc = compile(g, plan, plan->count % plan->segment, &plan->rest)) != NCOLL_OK)
        goto free_plan;
    if ((rc = collect_peers(g, plan)) != NCOLL_OK)
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

static bool plan_fits(const struct plan *plan, const struct call_args *args)
{
    return plan != NULL && plan->collective == args->collective && plan->count == args->count &&
           plan->type == args->type && plan->op_number == args->op;
}

static unsigned hash(const struct call_args *args)
{
    uint64_t h = args->count * 4 + args->collective;
    h = (h * 16 + (unsigned)args->type) * 67 + args->op;
    return (unsigned)(h * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* Where the plan of a call is, or is to go: one of a few places, the next in turn if all are taken.
 */
static struct plan **find_place(struct ncoll_group *g, const struct call_args *args)
{
    unsigned first = hash(args);

    for (unsigned i = 0; i < PLAN_PLACES; i++)
        if (plan_fits(g->plans[(first + i) % PLANS], args))
            return &g->plans[(first + i) % PLANS];
    for (unsigned i = 0; i < PLAN_PLACES; i++)
        if (g->plans[(first + i) % PLANS] == NULL)
            return &g->plans[(first + i) % PLANS];
    return &g->plans[(first + g->evictions++ % PLAN_PLACES) % PLANS];
}

int ncoll__plan(struct ncoll_group *g, const struct call_args *args, struct plan **out)
{
    if (plan_fits(g->latest, args)) {
        *out = g->latest;
        return NCOLL_OK;
    }
    struct plan **place = find_place(g, args);
    if (!plan_fits(*place, args)) {
        struct plan *made;
        int rc = plan_make(g, args, &made);
        if (rc != NCOLL_OK)
            return rc;
        plan_free(g, *place);
        *place = made;
    }
    g->latest = *out = *place;
    return NCOLL_OK;
}

int ncoll__plan_wire(struct ncoll_group *g, struct plan *plan)
{
    struct program *programs[] = {&plan->whole, &plan->rest};

    for (unsigned p = 0; p < 2; p++)
        for (unsigned i = 0; i < programs[p]->count; i++) {
            struct instruction *s = &programs[p]->instructions[i];
            if (s->kind != STEP_PUT)
                continue;
            s->to = g->ctx->transport->ops->endpoint(g->ctx->transport, s->peer);
            if (s->to == NULL)
                return ncoll__fail(g->ctx, NCOLL_ERR_INTERNAL, s->peer, "please report this",
                                   "no connection to rank %d after wiring", s->peer);
        }
    plan->wired = true;
    return NCOLL_OK;
}
