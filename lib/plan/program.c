/* SPDX-License-Identifier: BSD-3-Clause */
/* From steps on symbolic buffers to instructions on (base, offset) pairs: the program of segments
 * of one length. */
#include "lib/plan/compiler.h"

#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"
#include "lib/memory/memory.h"

void ncoll__compiler_add(struct compiler *c, struct instruction instruction)
{
    struct program *p = c->out;

    if (p->count == p->capacity) {
        unsigned capacity = p->capacity ? 2 * p->capacity : 16;
        struct instruction *grown = ncoll__allocate(c->g->ctx, capacity * sizeof *grown);
        if (grown == NULL) {
            c->failed = true;
            return;
        }
        if (p->count > 0)
            memcpy(grown, p->instructions, p->count * sizeof *grown);
        ncoll__release(c->g->ctx, p->instructions);
        p->instructions = grown;
        p->capacity = capacity;
    }
    p->instructions[p->count++] = instruction;
}

static size_t block_at(const size_t *at, struct ref ref)
{
    return at != NULL ? at[ref.block] : 0;
}

/* The message in a slot: of this rank, or of a neighbour, by bases for its slots and its bulk. */
static struct operand landed(const struct compiler *c, struct ref ref, const size_t *counts,
                             uint32_t slots, uint32_t bulk)
{
    size_t offset = ref.offset * c->plan->element;

    if (counts[ref.slot] * c->plan->element > SLOT_PAYLOAD)
        return (struct operand){bulk, ref.slot * c->layout.stride + offset};
    return (struct operand){slots, ref.slot * EPOCHS * sizeof(struct slot) +
                                       offsetof(struct slot, payload) + offset};
}

struct operand ncoll__compiler_operand(const struct compiler *c, struct ref ref)
{
    uint32_t near;

    size_t element = c->plan->element, offset = ref.offset * element;

    switch (ref.buffer) {
    case BUF_IN:
        return (struct operand){BASE_IN, offset + block_at(c->places.in_at, ref) * element};
    case BUF_OUT:
        return (struct operand){BASE_OUT, offset + block_at(c->places.out_at, ref) * element};
    case BUF_SCRATCH:
        return (struct operand){BASE_SCRATCH, offset};
    case BUF_LANDED:
        return landed(c, ref, c->landed, BASE_SLOTS, BASE_BULK);
    case BUF_NEAR:
        near = ncoll__neighbour(c, ref.rank);
        return landed(c, ref, c->landed_near + near * c->layout.footprint.slots, BASES + 2 * near,
                      BASES + 2 * near + 1);
    }
    return (struct operand){BASES, 0};
}

/* ------------------------------------------------------------------ steps --------------------- */

/* What the card of a message says besides the call. */
static uint64_t amount_of(const struct plan *plan, const struct step *s)
{
    if (plan->key.sends == NULL)
        return plan->card.amount;
    return s->kind == STEP_PUT ? plan->key.sends[s->peer] : plan->key.counts[s->peer];
}

/* A message that may have landed in OUT is read there, if it has. */
static void note_landed(struct compiler *c, const struct step *s, struct instruction *i)
{
    const struct landing *landing;

    if (s->a.buffer != BUF_LANDED || (landing = c->landing_of[s->a.slot]) == NULL)
        return;
    i->lands = true;
    i->landed = s->a.slot;
    i->user = (struct operand){BASE_OUT, (landing->at + s->a.offset) * c->plan->element};
}

/* Whether an operand is a long message of a rank of this node, which may be shown. Not where
 * neighbours look at messages, for which they have to lie in the receiver's window. */
static bool may_be_shown(const struct compiler *c, struct ref ref)
{
    return !c->plan->shares && ref.buffer == BUF_LANDED &&
           c->landed[ref.slot] * c->plan->element > SLOT_PAYLOAD &&
           ncoll__may_show(c->g, c->landed_from[ref.slot]);
}

static void note_shown(const struct compiler *c, const struct step *s, struct instruction *i)
{
    bool combines = s->kind == STEP_REDUCE || s->kind == STEP_TAKEOUT;

    if (may_be_shown(c, s->a)) {
        i->reads |= READS_A;
        i->landed = s->a.slot;
        i->far = s->kind == STEP_PUT && !ncoll__sends_any(c->g, s->peer);
    }
    if (combines && may_be_shown(c, s->b)) {
        i->reads |= READS_B;
        i->landed_b = s->b.slot;
    }
    if (s->kind == STEP_PUT) {
        i->shows = c->plan->shares ? 0 : ncoll__shows(c, s);
        c->plan->shows_in |= (i->shows & SHOWS_IN) != 0;
        c->plan->lends |= (i->shows & LENDS) != 0;
        c->out->stages_unlent |= i->staged && !(i->shows & LENDS);
    }
}

/* A message that may be shown to this rank, or lent: then it may be fetched to OUT. */
static void note_reading(const struct compiler *c, const struct step *s, struct instruction *i)
{
    const struct landing *landing = c->landing_of[s->slot];

    if (c->plan->shares || i->len_bytes <= SLOT_PAYLOAD || !ncoll__reads(c->g, s->peer))
        return;
    i->reads = READS_A;
    if (landing == NULL)
        return;
    i->lands = true;
    i->apart = landing->apart;
    i->user = (struct operand){BASE_OUT, landing->at * c->plan->element};
}

static void compile_step(struct compiler *c, const struct step *s)
{
    bool message = s->kind == STEP_PUT || s->kind == STEP_WAIT || s->kind == STEP_LOOK;
    struct instruction i = {
        .kind = s->kind,
        .slot = s->slot,
        .peer = s->peer,
        .count = s->count,
        .len_bytes = s->count * c->plan->element,
        .bulk_offset = s->slot * c->layout.stride,
        .amount = message ? amount_of(c->plan, s) : 0,
        .watched = s->watched,
    };

    if (s->kind == STEP_WAIT) {
        c->landed[s->slot] = s->count;
        c->landed_from[s->slot] = s->peer;
        note_reading(c, s, &i);
    } else if (s->kind == STEP_LOOK) {
        i.a = ncoll__compile_look(c, s);
        i.near = ncoll__neighbour(c, s->at);
    } else {
        i.a = ncoll__compiler_operand(c, s->a);
        i.b = ncoll__compiler_operand(c, s->b);
        i.dst = ncoll__compiler_operand(c, s->dst);
        i.staged = ncoll__is_staged(c, s);
        i.user = i.a;
        if (i.staged) {
            i.a = ncoll__compiler_operand(c, ncoll__stage_put(c, s));
            c->plan->stages = true;
        }
        note_landed(c, s, &i);
        note_shown(c, s, &i);
        c->plan->has_bulk |= s->kind == STEP_PUT && i.len_bytes > SLOT_PAYLOAD;
    }
    ncoll__compiler_add(c, i);
}

static int by_sender(const void *left, const void *right)
{
    const struct landing *a = left, *b = right;

    if (a->peer != b->peer)
        return a->peer < b->peer ? -1 : 1;
    return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/* Which messages may land in OUT: long ones. */
static void find_landings(struct compiler *c, const struct step *steps, unsigned count)
{
    struct ncoll_context *ctx = c->g->ctx;
    struct program *p = c->out;
    size_t element = c->plan->element, bytes = ctx->settings.zero_copy_bytes;
    size_t least =
        bytes > SLOT_PAYLOAD ? (bytes + element - 1) / element : SLOT_PAYLOAD / element + 1;

    p->landings = ncoll__allocate(ctx, (c->layout.footprint.slots + 1) * sizeof *p->landings);
    if (p->landings == NULL) {
        c->failed = true;
        return;
    }
    p->n_landings = ncoll__landings(&c->shape, steps, count, c->places, least, p->landings);
    qsort(p->landings, p->n_landings, sizeof *p->landings, by_sender);
    for (unsigned i = 0; i < p->n_landings; i++)
        c->landing_of[p->landings[i].slot] = &p->landings[i];
}

int ncoll__compile_program(struct compiler *c)
{
    struct ncoll_context *ctx = c->g->ctx;
    struct staging *st = &c->staging;
    unsigned count;
    struct step *steps = ncoll__steps(c->g, c->plan->algorithm, &c->shape, &count);

    c->layout = ncoll__layout(c->plan->algorithm, &c->shape, c->plan->element);
    if (c->shape.sends != NULL) /* what a rank knows of is not what its peers know of */
        c->layout.stride = whole_lines(c->plan->segment * c->plan->element);
    c->landed = ncoll__allocate(ctx, (c->layout.footprint.slots + 1) * sizeof *c->landed);
    c->landed_near = ncoll__allocate(ctx, (NEIGHBOURS_MAX * c->layout.footprint.slots + 1) *
                                              sizeof *c->landed_near);
    c->landed_from = ncoll__allocate(ctx, (c->layout.footprint.slots + 1) * sizeof *c->landed_from);
    c->landing_of =
        ncoll__allocate(ctx, (c->layout.footprint.slots + 1) * sizeof(struct landing *));
    /* each put adds two ends at most, between which stretches lie */
    st->wholes = ncoll__allocate(ctx, (count + 1) * sizeof *st->wholes);
    st->copied = ncoll__allocate(ctx, (2 * (size_t)count + 1) * sizeof *st->copied);
    st->shared = ncoll__allocate(ctx, (count + 1) * sizeof *st->shared);
    c->steps = steps;
    c->failed = steps == NULL || c->landed == NULL || c->landed_near == NULL ||
                c->landed_from == NULL || c->landing_of == NULL || st->wholes == NULL ||
                st->copied == NULL || st->shared == NULL || ncoll__shown_prepare(c->g) != NCOLL_OK;
    if (!c->failed)
        ncoll__plan_staging(c, steps, count);
    if (!c->failed)
        find_landings(c, steps, count);
    for (unsigned i = 0; i < count && !c->failed; i++)
        compile_step(c, &steps[i]);
    ncoll__release(ctx, c->landed);
    ncoll__release(ctx, c->landed_near);
    ncoll__release(ctx, c->landed_from);
    ncoll__release(ctx, c->landing_of);
    ncoll__release(ctx, st->shared);
    ncoll__release(ctx, st->wholes);
    ncoll__release(ctx, st->copied);
    ncoll__release(ctx, steps);
    return c->failed ? NCOLL_ERR_MEMORY : NCOLL_OK;
}
