/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The executor: carries out a plan's program, instruction after instruction, and returns when the
 * next one has to wait. What it needs to go on is in struct call; a time-out is simply a return.
 */
#include <string.h>

#include "lib/internal.h"

void ncoll__execute_begin(struct ncoll_group *g)
{
    struct call *c = &g->call;
    const struct plan *plan = c->plan;
    struct window *w = g->window;
    size_t half = ++w->epoch & 1;
    size_t left = plan->count - c->done;

    c->state = CALL_RUNNING;
    c->program = left >= plan->segment ? &plan->whole : &plan->rest;
    c->next = 0;
    /* IN is only read through its base; the cast drops const for the array's sake. */
    c->base[BASE_IN] = (unsigned char *)(uintptr_t)c->args.in + c->done * plan->element;
    c->base[BASE_OUT] = (unsigned char *)c->args.out + c->done * plan->element;
    c->base[BASE_SCRATCH] = w->scratch + half * w->scratch_bytes;
    c->base[BASE_SLOTS] = (unsigned char *)(w->slots + half * WINDOW_SLOTS);
    c->base[BASE_BULK] = w->bulk + half * w->bulk_bytes;
}

static inline void *at(const struct call *c, struct operand o)
{
    return c->base[o.base] + o.offset;
}

static int execute_put(struct ncoll_group *g, const struct instruction *i)
{
    struct ncoll_context *ctx = g->ctx;
    struct transport *t = ctx->transport;
    struct put put = {
        .to = i->to,
        .window = g->window,
        .epoch = g->window->epoch,
        .card = g->call.plan->card,
        .slot = i->slot,
        .src = at(&g->call, i->a),
        .len_bytes = i->len_bytes,
        .bulk_offset = i->bulk_offset,
    };

    int rc = t->ops->put(t, &put);
    if (rc == NCOLL_TIMEOUT) {
        g->call.waits_for = WINDOW_SLOTS;
        g->call.waits_for_rank = i->peer;
    } else if (rc == NCOLL_OK) {
        ctx->puts++;
        ctx->put_bytes += i->len_bytes;
    } else if (rc == NCOLL_ERR_PEER) {
        return ncoll__peer_unreachable(ctx, i->peer);
    }
    return rc;
}

static int execute_wait(struct ncoll_group *g, const struct instruction *i)
{
    struct window *w = g->window;

    if (!window_raised(w, w->epoch, i->slot)) {
        g->call.waits_for = i->slot;
        g->call.waits_for_rank = i->peer;
        return NCOLL_TIMEOUT;
    }
    if (__builtin_expect(window_slot(w, w->epoch, i->slot)->card != g->call.plan->card, 0))
        return ncoll__mismatch_in_slot(g, w->epoch, i->slot);
    return NCOLL_OK;
}

static int execute_one(struct ncoll_group *g, const struct instruction *i)
{
    const struct call *c = &g->call;
    const struct op *op = &c->plan->op;
    ncoll_type type = c->plan->type;

    switch (i->kind) {
    case STEP_PUT:
        return execute_put(g, i);
    case STEP_WAIT:
        return execute_wait(g, i);
    case STEP_REDUCE:
        op->combine(at(c, i->dst), at(c, i->a), at(c, i->b), i->count, type, op->arg);
        return NCOLL_OK;
    case STEP_TAKEOUT:
        op->inverse(at(c, i->dst), at(c, i->a), at(c, i->b), i->count, type, op->arg);
        return NCOLL_OK;
    case STEP_COPY:
        memmove(at(c, i->dst), at(c, i->a), i->len_bytes);
        return NCOLL_OK;
    }
    return NCOLL_ERR_INTERNAL;
}

int ncoll__execute(struct ncoll_group *g)
{
    struct call *c = &g->call;

    for (;;) {
        while (c->next < c->program->count) {
            int rc = execute_one(g, &c->program->instructions[c->next]);
            if (rc != NCOLL_OK)
                return rc;
            c->next++;
        }
        if (c->plan->count - c->done <= c->plan->segment)
            return NCOLL_OK;
        c->done += c->plan->segment;
        ncoll__execute_begin(g);
    }
}
