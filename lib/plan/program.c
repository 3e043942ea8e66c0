/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiles steps on symbolic buffers to instructions on (base, offset) pairs: the program for
 * segments of one length. */
#include "lib/plan/compiler.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/group.h"
#include "lib/base/signature.h"
#include "lib/plan/plan.h"

/* ------------------------------------------------------------------ steps --------------------- */

/* Returns the part of a message's signature that differs from that of the call. */
static uint64_t amount_of(const struct plan *plan, const struct step *s)
{
    if (plan->key.sends == NULL || plan->algorithm->properties & PADS_BLOCKS)
        return plan->signature.amount;
    return ncoll__signature_amount(plan->signature, s->kind == STEP_PUT
                                                        ? plan->key.sends[s->peer]
                                                        : plan->key.counts[s->peer]);
}

/* True if an operand is part of a message that may come by another route than slot or bulk
 * memory. */
static bool is_message(const struct compiler *c, struct ref ref)
{
    return ref.buffer == BUF_ARRIVED && c->routes_of[ref.slot] != 0;
}

static void note_messages(const struct compiler *c, const struct step *s, struct instruction *i)
{
    bool combines = s->kind == STEP_REDUCE || s->kind == STEP_TAKEOUT;

    if (is_message(c, s->a)) {
        i->routes |= FROM_MESSAGE;
        i->message_a = s->a.slot;
    }
    if (combines && is_message(c, s->b)) {
        i->routes |= FROM_MESSAGE_B;
        i->message_b = s->b.slot;
    }
}

/* Compiles a wait: the routes by which the message may come, and its place in OUT. */
static void compile_wait(struct compiler *c, const struct step *s, struct instruction *i)
{
    const struct placed *placed = c->placed_of[s->slot];

    c->arrived[s->slot] = s->count;
    c->routes_of[s->slot] = i->routes = ncoll__wait_routes(c, s);
    c->failed |= i->routes != 0 && !ncoll__messages_reach(c->g, s->slot);
    if (i->routes & MAY_PLACED)
        i->user = (struct operand){BASE_OUT, placed->at * c->plan->element};
}

static void compile_put(struct compiler *c, const struct step *s, struct instruction *i)
{
    if (i->len_bytes <= SLOT_PAYLOAD)
        i->routes |= MAY_SLOT;
    else
        i->routes |= ncoll__put_routes(c, s);
    if (i->routes & FROM_COPY)
        i->a = ncoll__compiler_operand(c, ncoll__stage_put(c, s));
    c->plan->routes |= i->routes;
    c->out->stages_always |= (i->routes & (FROM_COPY | MAY_SINGLE_COPY)) == FROM_COPY;
}

static ptrdiff_t bytes_between(struct operand from, struct operand to)
{
    return (ptrdiff_t)to.offset - (ptrdiff_t)from.offset;
}

/* Compiles a repeated step. Such steps are made only if blocks lie at even distances, so the
 * distance from the first time to the second is that of all further times. */
static void compile_repeated(const struct compiler *c, const struct step *s, struct instruction *i)
{
    struct step next = ncoll__step_of(s, 1);

    i->repeated = s->kind;
    i->uneven = EVEN;
    i->kind = STEP_REPEATED;
    i->more = s->more;
    i->dst_by = bytes_between(i->dst, ncoll__compiler_operand(c, next.dst));
    i->a_by = bytes_between(i->a, ncoll__compiler_operand(c, next.a));
    i->b_by = bytes_between(i->b, ncoll__compiler_operand(c, next.b));
}

/* Compiles a step that is repeated on blocks with counts. The executor finds the blocks. */
static void compile_uneven(const struct compiler *c, const struct step *s, struct instruction *i)
{
    ptrdiff_t element = (ptrdiff_t)c->plan->element;

    i->repeated = s->kind;
    i->kind = STEP_REPEATED;
    i->more = s->more;
    i->dst_by = s->dst_by.blocks != 0 ? s->dst_by.blocks : s->dst_by.elements * element;
    i->a_by = s->a_by.blocks != 0 ? s->a_by.blocks : s->a_by.elements * element;
    i->b_by = s->b_by.blocks != 0 ? s->b_by.blocks : s->b_by.elements * element;
    i->uneven = s->dst_by.blocks != 0 ? UNEVEN_DST : s->a_by.blocks != 0 ? UNEVEN_A : UNEVEN_B;
    i->count = i->uneven == UNEVEN_DST ? s->dst.block
               : i->uneven == UNEVEN_A ? s->a.block
                                       : s->b.block;
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
        .shared_wait = s->shared_wait,
    };

    if (s->kind == STEP_WAIT) {
        compile_wait(c, s, &i);
    } else if (s->kind == STEP_LOOK) {
        i.a = ncoll__compile_look(c, s);
        i.neighbour = ncoll__neighbour(c, s->at);
    } else {
        i.a = ncoll__compiler_operand(c, s->a);
        i.b = ncoll__compiler_operand(c, s->b);
        i.dst = ncoll__compiler_operand(c, s->dst);
        i.user = i.a;
        note_messages(c, s, &i);
        if (s->kind == STEP_PUT)
            compile_put(c, s, &i);
        else if (s->uneven)
            compile_uneven(c, s, &i);
        else if (s->more > 0)
            compile_repeated(c, s, &i);
    }
    ncoll__compiler_add(c, i);
}

static int by_sender(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;

    if (a->peer != b->peer)
        return a->peer < b->peer ? -1 : 1;
    return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/* Finds the long messages that may be placed in OUT. */
static void find_placed(struct compiler *c, const struct step *steps, unsigned count)
{
    struct ncoll_context *ctx = c->g->ctx;
    struct program *p = c->out;
    size_t element = c->plan->element, bytes = ctx->settings.zero_copy_bytes;
    size_t least =
        bytes > SLOT_PAYLOAD ? (bytes + element - 1) / element : SLOT_PAYLOAD / element + 1;

    if (c->plan->parts > 1) /* an advertisement does not say which part it is for */
        return;
    struct placed *found =
        ncoll__allocate(ctx, (c->layout.footprint.slots + 1) * sizeof *p->placed);
    unsigned n =
        found != NULL ? ncoll__list_placed(&c->shape, steps, count, c->places, least, found) : 0;
    if (n > 0)
        p->placed = ncoll__allocate(ctx, n * sizeof *p->placed);
    c->failed |= found == NULL || (n > 0 && p->placed == NULL);
    if (n > 0 && p->placed != NULL) {
        memcpy(p->placed, found, n * sizeof *found);
        p->n_placed = n;
        qsort(p->placed, n, sizeof *p->placed, by_sender);
    }
    ncoll__release(ctx, found);
    for (unsigned i = 0; i < p->n_placed; i++)
        c->placed_of[p->placed[i].slot] = &p->placed[i];
}

/* True if the blocks of IN, and those of OUT, lie at even distances. */
static bool is_even(const struct block_starts *places)
{
    return places->in.at == NULL && places->out.at == NULL;
}

static unsigned count_puts(const struct step *steps, unsigned count)
{
    unsigned puts = 0;

    for (unsigned i = 0; steps != NULL && i < count; i++)
        puts += steps[i].kind == STEP_PUT;
    return puts;
}

int ncoll__compile_program(struct compiler *c)
{
    struct ncoll_context *ctx = c->g->ctx;
    struct staging *st = &c->staging;
    unsigned count;
    bool repeats = c->shape.counts != NULL || is_even(&c->places);
    struct step *steps = ncoll__steps(c->g, c->plan->algorithm, &c->shape, repeats, &count);

    c->layout = ncoll__layout(c->plan->algorithm, &c->shape, c->plan->element);
    c->arrived = ncoll__allocate(ctx, (c->layout.footprint.slots + 1) * sizeof *c->arrived);
    c->arrived_at_neighbour = ncoll__allocate(
        ctx, (NEIGHBOURS_MAX * c->layout.footprint.slots + 1) * sizeof *c->arrived_at_neighbour);
    c->routes_of = ncoll__allocate(ctx, (c->layout.footprint.slots + 1) * sizeof *c->routes_of);
    c->placed_of = ncoll__allocate(ctx, (c->layout.footprint.slots + 1) * sizeof(struct placed *));
    /* the data of the puts is copied in at most as many pieces as it has ends: two for each put */
    unsigned puts = count_puts(steps, count);
    st->wholes = ncoll__allocate(ctx, (puts + 1) * sizeof *st->wholes);
    st->copied = ncoll__allocate(ctx, (2 * (size_t)puts + 1) * sizeof *st->copied);
    st->shared = ncoll__allocate(ctx, (count + 1) * sizeof *st->shared);
    c->steps = steps;
    c->failed = steps == NULL || c->arrived == NULL || c->arrived_at_neighbour == NULL ||
                c->routes_of == NULL || c->placed_of == NULL || st->wholes == NULL ||
                st->copied == NULL || st->shared == NULL || ncoll__routes_prepare(c->g) != NCOLL_OK;
    if (!c->failed)
        ncoll__plan_staging(c, steps, count);
    if (!c->failed)
        find_placed(c, steps, count);
    ncoll__compiler_reserve(c, count + st->n_puts);
    for (unsigned i = 0; i < count && !c->failed; i++)
        compile_step(c, &steps[i]);
    ncoll__compiler_trim(c);
    ncoll__release(ctx, c->arrived);
    ncoll__release(ctx, c->arrived_at_neighbour);
    ncoll__release(ctx, c->routes_of);
    ncoll__release(ctx, c->placed_of);
    ncoll__release(ctx, st->shared);
    ncoll__release(ctx, st->wholes);
    ncoll__release(ctx, st->copied);
    ncoll__release(ctx, steps);
    return c->failed ? NCOLL_ERR_MEMORY : NCOLL_OK;
}
