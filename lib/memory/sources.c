/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where long puts of the user's data are sent from, over a transport that sends from memory that it
 * knows only: from a copy in scratch, or, in runs of calls whose buffers lie in such memory, from
 * these themselves. A program is compiled for both. What several ranks of the node get is copied as
 * well, once, and shown to them: see show.c.
 */
#include <stdlib.h>

#include "lib/internal.h"
#include "lib/memory/memory.h"
#include "lib/plan/compiler.h"

/* Where elements lie in the user's memory. */
static struct stretch stretch_of(const struct compiler *c, struct ref ref, size_t count)
{
    size_t first = ncoll__compiler_operand(c, ref).offset / c->plan->element;
    return (struct stretch){.buffer = ref.buffer, .first = first, .end = first + count};
}

bool ncoll__sends_any(const struct ncoll_group *g, unsigned rank)
{
    const struct ncoll_context *ctx = g->ctx;
    const struct transport *t = ctx->transport;
    bool near = ctx->peers[ncoll__world_rank(g, rank)].node == ctx->peers[ctx->rank].node;

    return t->sends_any_memory || (t->sends_any_near && near);
}

static bool is_users(const struct step *s)
{
    return s->a.buffer == BUF_IN || s->a.buffer == BUF_OUT;
}

/* Whether a put may be shown, from wherever it can be seen. */
static bool may_be_shown(const struct compiler *c, const struct step *s)
{
    size_t bytes = s->count * c->plan->element;

    return s->kind == STEP_PUT && s->a.buffer != BUF_LANDED && bytes > SLOT_PAYLOAD &&
           bytes >= c->g->ctx->settings.show_bytes && ncoll__may_show(c->g, s->peer);
}

/* Whether a put, of the user's data or of a message that may have landed there, may be lent. */
static bool may_be_lent(const struct compiler *c, const struct step *s)
{
    size_t bytes = s->count * c->plan->element, least = c->g->ctx->settings.single_copy_bytes;
    bool lands = s->a.buffer == BUF_LANDED && c->landing_of[s->a.slot] != NULL;

    return s->kind == STEP_PUT && (is_users(s) || lands) && bytes > SLOT_PAYLOAD && least > 0 &&
           bytes >= least && !c->plan->shares && ncoll__reads(c->g, s->peer);
}

bool ncoll__is_staged(const struct compiler *c, const struct step *s)
{
    return s->kind == STEP_PUT && is_users(s) && s->count * c->plan->element > SLOT_PAYLOAD &&
           (!ncoll__sends_any(c->g, s->peer) || c->staging.shared[s - c->steps]);
}

unsigned char ncoll__shows(const struct compiler *c, const struct step *s)
{
    bool answered = (c->plan->algorithm->answers & 1u << c->shape.collective) != 0;

    unsigned shows = may_be_lent(c, s) ? LENDS : 0;
    if (may_be_shown(c, s) && (!is_users(s) || c->staging.shared[s - c->steps]))
        shows |= SHOWS_SCRATCH;
    if (may_be_shown(c, s) && s->a.buffer == BUF_IN && answered)
        shows |= SHOWS_IN;
    return (unsigned char)shows;
}

static bool same_source(const struct step *s, const struct step *t)
{
    return s->a.buffer == t->a.buffer && s->a.block == t->a.block && s->a.offset == t->a.offset &&
           s->count == t->count;
}

/* Which puts send the same to several ranks of this node: for these one copy is enough, which all
 * of them are shown. A transport that sends from any memory has made no room for copies: as long
 * as there is some. */
static void find_shared(struct compiler *c, const struct step *steps, unsigned count)
{
    bool *shared = c->staging.shared;
    size_t all = c->g->window->shape.scratch_bytes / c->plan->element;
    size_t room = all > c->layout.footprint.scratch ? all - c->layout.footprint.scratch : 0;

    for (unsigned i = 0; i < count; i++) {
        if (shared[i] || !is_users(&steps[i]) || !may_be_shown(c, &steps[i]) ||
            steps[i].count > room)
            continue;
        for (unsigned k = i + 1; k < count; k++)
            if (same_source(&steps[i], &steps[k]) && may_be_shown(c, &steps[k]))
                shared[i] = shared[k] = true;
        room -= shared[i] ? steps[i].count : 0;
    }
}

static int by_place(const void *left, const void *right)
{
    const struct stretch *a = left, *b = right;

    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* Whether a later step overwrites, in place, what a put sends from IN. A copy of IN to where it is
 * already does not. */
static bool is_overwritten(const struct compiler *c, const struct step *steps, unsigned count,
                           unsigned put)
{
    struct stretch in = stretch_of(c, steps[put].a, steps[put].count);
    ptrdiff_t shift = ncoll__in_place_shift(&c->shape, c->places);

    for (unsigned i = put + 1; i < count; i++) {
        const struct step *s = &steps[i];
        if (s->kind == STEP_PUT || s->kind == STEP_WAIT || s->kind == STEP_LOOK ||
            s->dst.buffer != BUF_OUT)
            continue;
        struct stretch out = stretch_of(c, s->dst, s->count), from = stretch_of(c, s->a, s->count);
        size_t first = in.first + (size_t)shift, end = in.end + (size_t)shift;
        bool onto_itself = s->kind == STEP_COPY && s->a.buffer == BUF_IN &&
                           from.first + (size_t)shift == out.first;
        if (!onto_itself && out.first < end && first < out.end)
            return true;
    }
    return false;
}

/* Whether what is lent from IN may be overwritten before it has been fetched. */
static void note_lent(struct compiler *c, const struct step *steps, unsigned count, unsigned put)
{
    bool unanswered = !(ncoll__shows(c, &steps[put]) & SHOWS_IN);

    if (steps[put].a.buffer == BUF_IN && may_be_lent(c, &steps[put]) && unanswered &&
        !c->out->lent_is_overwritten)
        c->out->lent_is_overwritten = is_overwritten(c, steps, count, put);
}

static void note_user_source(struct compiler *c, const struct step *steps, unsigned count,
                             unsigned put)
{
    size_t bytes = steps[put].count * c->plan->element;

    if (ncoll__sends_any(c->g, steps[put].peer)) /* shared */
        return;
    c->out->stages_for_far = true;
    if (bytes > c->out->longest_staged)
        c->out->longest_staged = bytes;
    if (steps[put].a.buffer == BUF_IN && !c->out->in_is_overwritten)
        c->out->in_is_overwritten = is_overwritten(c, steps, count, put);
}

/* Joins what overlaps, and gives each place that is put one place in scratch. */
void ncoll__plan_staging(struct compiler *c, const struct step *steps, unsigned count)
{
    struct staging *st = &c->staging;
    size_t at = c->layout.footprint.scratch;
    unsigned n = 0;

    find_shared(c, steps, count);
    st->n_wholes = st->n_copied = 0;
    for (unsigned i = 0; i < count; i++) {
        note_lent(c, steps, count, i);
        if (!ncoll__is_staged(c, &steps[i]))
            continue;
        st->wholes[n++] = stretch_of(c, steps[i].a, steps[i].count);
        note_user_source(c, steps, count, i);
    }
    qsort(st->wholes, n, sizeof *st->wholes, by_place);
    for (unsigned i = 0; i < n; i++) {
        struct stretch next = st->wholes[i],
                       *last = st->n_wholes > 0 ? &st->wholes[st->n_wholes - 1] : NULL;
        if (last == NULL || last->buffer != next.buffer || last->end <= next.first)
            st->wholes[st->n_wholes++] = next;
        else if (last->end < next.end)
            last->end = next.end;
    }
    for (unsigned i = 0; i < st->n_wholes; i++) {
        st->wholes[i].at = at;
        at += st->wholes[i].end - st->wholes[i].first;
    }
}

/* The end of what has been copied from `first` on; else *next is where the next copied stretch
 * begins, at most `end`. */
static size_t copied_to(const struct staging *st, const struct stretch *s, size_t first,
                        size_t *next)
{
    *next = s->end;
    for (unsigned i = 0; i < st->n_copied; i++) {
        const struct stretch *had = &st->copied[i];
        if (had->buffer != s->buffer)
            continue;
        if (had->first <= first && first < had->end)
            return had->end;
        if (first < had->first)
            *next = least(*next, had->first);
    }
    return first;
}

/* What a long put sends must lie in the window for transports that send from registered memory
 * only. Places that several puts send are copied once, before the first. */
struct ref ncoll__stage_put(struct compiler *c, const struct step *step)
{
    struct staging *st = &c->staging;
    struct stretch s = stretch_of(c, step->a, step->count), *whole = st->wholes;
    size_t element = c->plan->element, next;

    while (whole->buffer != s.buffer || whole->end < s.end)
        whole++;
    for (size_t first = s.first, end; first < s.end; first = end) {
        end = copied_to(st, &s, first, &next);
        if (end > first)
            continue;
        end = next;
        ncoll__compiler_add(
            c, (struct instruction){
                   .kind = STEP_COPY,
                   .staged = true,
                   .dst = ncoll__compiler_operand(c, scratch_at(whole->at + first - whole->first)),
                   .a = {ncoll__compiler_operand(c, step->a).base, first * element},
                   .count = end - first,
                   .len_bytes = (end - first) * element});
        st->copied[st->n_copied++] =
            (struct stretch){.buffer = s.buffer, .first = first, .end = end};
    }
    return scratch_at(whole->at + s.first - whole->first);
}
