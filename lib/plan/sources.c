/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory from which long puts of the user's data are sent. Some transports can send only from
 * memory that they know. Then such puts are sent from a copy in scratch or, in calls whose buffers
 * the transport knows, from these buffers; a program is compiled for both. Data that goes to
 * several ranks of the node is also copied once, and these ranks read the copy: see
 * lib/deliver/peer_read.c.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/base/group.h"
#include "lib/plan/plan.h"
#include "lib/plan/compiler.h"

bool ncoll__reads_peer(const struct ncoll_group *g, unsigned rank)
{
    const struct ncoll_context *ctx = g->ctx;

    return ctx->transport->peer_reads && rank != (unsigned)g->rank &&
           ctx->peers[ncoll__world_rank(g, rank)].node == ctx->peers[ctx->rank].node;
}

bool ncoll__may_peer_read(const struct ncoll_group *g, unsigned rank)
{
    return g->ctx->settings.show_bytes > 0 && ncoll__reads_peer(g, rank);
}

bool ncoll__messages_reach(struct ncoll_group *g, unsigned slot)
{
    unsigned wanted = slot + slot / 2 + 1, most = g->window->shape.n_slots;
    const size_t each = LANES * sizeof *g->messages;

    if (slot < g->n_messages)
        return true;
    wanted = wanted < most ? wanted : most;
    struct message *grown = ncoll__allocate(g->ctx, wanted * each);
    if (grown == NULL)
        return false;
    if (g->n_messages > 0) /* unfinished runs need the places of their messages */
        memcpy(grown, g->messages, g->n_messages * each);
    ncoll__release(g->ctx, g->messages);
    g->messages = grown;
    g->n_messages = wanted;
    return true;
}

int ncoll__routes_prepare(struct ncoll_group *g)
{
    struct readers *s = &g->readers;
    unsigned words = ((unsigned)g->size + 63) / 64;

    if (s->words > 0 || !g->ctx->transport->peer_reads)
        return NCOLL_OK;
    uint64_t *room = ncoll__allocate(g->ctx, (size_t)2 * EPOCHS * words * sizeof *room);
    if (room == NULL)
        return NCOLL_ERR_MEMORY;
    for (unsigned set = 0; set < EPOCHS; set++) {
        s->to[set] = room + (size_t)2 * set * words;
        s->by[set] = s->to[set] + words;
    }
    s->words = words;
    return NCOLL_OK;
}

/* Returns the stretch of the user's memory that has `count` elements from `ref` on. */
static struct stretch stretch_of(const struct compiler *c, struct ref ref, size_t count)
{
    size_t first = ncoll__compiler_operand(c, ref).offset / c->plan->element;
    return (struct stretch){.buffer = ref.buffer, .first = first, .end = first + count};
}

bool ncoll__sends_any(const struct ncoll_group *g, unsigned rank)
{
    const struct ncoll_context *ctx = g->ctx;
    const struct transport *t = ctx->transport;
    bool on_node = ctx->peers[ncoll__world_rank(g, rank)].node == ctx->peers[ctx->rank].node;

    return t->sends_any_memory || (t->sends_any_on_node && on_node);
}

static bool is_users(const struct step *s)
{
    return s->a.buffer == BUF_IN || s->a.buffer == BUF_OUT;
}

/* True if the receiver may read the data of a put in this rank's memory, provided that it can map
 * that memory. */
static bool may_peer_read(const struct compiler *c, const struct step *s)
{
    size_t bytes = s->count * c->plan->element;

    return s->kind == STEP_PUT && s->a.buffer != BUF_ARRIVED && bytes > SLOT_PAYLOAD &&
           bytes >= c->g->ctx->settings.show_bytes && ncoll__may_peer_read(c->g, s->peer);
}

/* True if the receiver may copy the data of a put out of the user's memory: the data is in IN or
 * OUT, or in a message that may have been placed in OUT. */
static bool may_single_copy(const struct compiler *c, const struct step *s)
{
    size_t bytes = s->count * c->plan->element, least = c->g->ctx->settings.single_copy_bytes;
    bool is_placed = s->a.buffer == BUF_ARRIVED && c->placed_of[s->a.slot] != NULL;

    return s->kind == STEP_PUT && (is_users(s) || is_placed) && bytes > SLOT_PAYLOAD && least > 0 &&
           bytes >= least && !c->plan->shares && ncoll__reads_peer(c->g, s->peer);
}

bool ncoll__is_staged(const struct compiler *c, const struct step *s)
{
    return s->kind == STEP_PUT && is_users(s) && s->count * c->plan->element > SLOT_PAYLOAD &&
           (!ncoll__sends_any(c->g, s->peer) || c->staging.shared[s - c->steps]);
}

unsigned ncoll__put_routes(const struct compiler *c, const struct step *s)
{
    bool acknowledged =
        c->plan->parts == 1 && (c->plan->algorithm->acknowledges & 1u << c->shape.collective) != 0;
    bool shared = c->staging.shared[s - c->steps], any = ncoll__sends_any(c->g, s->peer);
    bool peer_read = !c->plan->shares && may_peer_read(c, s);
    unsigned routes = MAY_BULK | MAY_PLACED;

    if (ncoll__is_staged(c, s))
        routes |= FROM_COPY;
    if (may_single_copy(c, s))
        routes |= MAY_SINGLE_COPY;
    if (peer_read && (!is_users(s) || shared))
        routes |= MAY_PEER_READ;
    if (peer_read && s->a.buffer == BUF_IN && acknowledged)
        routes |= MAY_PEER_READ_IN;
    if (s->a.buffer == BUF_ARRIVED && c->routes_of[s->a.slot] & MAY_PEER_READ && !any)
        routes |= FROM_WINDOW;
    return routes;
}

unsigned ncoll__wait_routes(const struct compiler *c, const struct step *s)
{
    const struct placed *placed = c->placed_of[s->slot];
    unsigned routes = 0;

    if (s->count * c->plan->element <= SLOT_PAYLOAD)
        return 0;
    if (placed != NULL)
        routes |= placed->apart ? MAY_PLACED | IF_APART : MAY_PLACED;
    /* Messages that neighbours look at must lie in the receiver's window. */
    if (!c->plan->shares && ncoll__reads_peer(c->g, s->peer))
        routes |= MAY_PEER_READ | MAY_SINGLE_COPY;
    return routes;
}

static bool same_source(const struct step *s, const struct step *t)
{
    return s->a.buffer == t->a.buffer && s->a.block == t->a.block && s->a.offset == t->a.offset &&
           s->count == t->count;
}

/* Finds puts that send the same data to several ranks of this node, which then all read one copy of
 * it. If the transport sends from any memory, the layout has no room for copies. So copies are made
 * only as long as the window's scratch has room. */
static void find_shared(struct compiler *c, const struct step *steps, unsigned count)
{
    bool *shared = c->staging.shared;
    size_t all = c->g->window->shape.scratch_bytes / c->plan->element;
    size_t room = all > c->layout.footprint.scratch ? all - c->layout.footprint.scratch : 0;

    for (unsigned i = 0; i < count; i++) {
        if (shared[i] || !is_users(&steps[i]) || !may_peer_read(c, &steps[i]) ||
            steps[i].count > room)
            continue;
        for (unsigned k = i + 1; k < count; k++)
            if (same_source(&steps[i], &steps[k]) && may_peer_read(c, &steps[k]))
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

/* Widens `out`, which a repeated step writes the first time, to all memory up to what it writes the
 * last time. */
static void widen(const struct compiler *c, const struct step *s, struct stretch *out)
{
    struct step last = ncoll__step_of(s, s->more);
    struct stretch end = stretch_of(c, last.dst, s->count);

    out->first = least(out->first, end.first);
    out->end = end.end > out->end ? end.end : out->end;
}

/* True if a later step overwrites, in place, the data that a put sends from IN. A copy of IN onto
 * itself does not count. */
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
        if (s->uneven && c->shape.collective == COLL_ALLGATHER &&
            !ncoll__uneven_has(s->dst.block, s->dst_by.blocks, s->more, c->shape.rank))
            continue;
        if (s->uneven)
            return true;
        struct stretch out = stretch_of(c, s->dst, s->count), from = stretch_of(c, s->a, s->count);
        if (s->more > 0)
            widen(c, s, &out);
        size_t first = in.first + (size_t)shift, end = in.end + (size_t)shift;
        bool onto_itself = s->kind == STEP_COPY && s->more == 0 && s->a.buffer == BUF_IN &&
                           from.first + (size_t)shift == out.first;
        if (!onto_itself && out.first < end && first < out.end)
            return true;
    }
    return false;
}

/* Notes if the data of a single copy from IN may be overwritten before the receiver has copied
 * it. */
static void note_single_copy(struct compiler *c, const struct step *steps, unsigned count,
                             unsigned put)
{
    bool unacknowledged = !(ncoll__put_routes(c, &steps[put]) & MAY_PEER_READ_IN);

    if (steps[put].a.buffer == BUF_IN && may_single_copy(c, &steps[put]) && unacknowledged &&
        !c->out->single_copy_is_overwritten)
        c->out->single_copy_is_overwritten = is_overwritten(c, steps, count, put);
}

static void note_user_source(struct compiler *c, const struct step *steps, unsigned count,
                             unsigned put)
{
    size_t bytes = steps[put].count * c->plan->element;

    /* then the put is staged only so that several ranks read one copy */
    if (ncoll__sends_any(c->g, steps[put].peer))
        return;
    c->out->stages_for_far = true;
    if (bytes > c->out->longest_staged)
        c->out->longest_staged = bytes;
    if (steps[put].a.buffer == BUF_IN && !c->out->in_is_overwritten)
        c->out->in_is_overwritten = is_overwritten(c, steps, count, put);
}

/* Joins overlapping stretches of the data to be copied, and gives each stretch a place in
 * scratch. */
void ncoll__plan_staging(struct compiler *c, const struct step *steps, unsigned count)
{
    struct staging *st = &c->staging;
    size_t at = c->layout.footprint.scratch;
    unsigned n = 0;

    find_shared(c, steps, count);
    st->n_wholes = st->n_copied = 0;
    for (unsigned i = 0; i < count; i++) {
        note_single_copy(c, steps, count, i);
        if (!ncoll__is_staged(c, &steps[i]))
            continue;
        st->wholes[n++] = stretch_of(c, steps[i].a, steps[i].count);
        note_user_source(c, steps, count, i);
    }
    st->n_puts = n;
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

/* Returns the end of the copied stretch that contains `first`. If there is none, returns `first`,
 * and sets *next to the start of the next copied stretch, at most the end of *s. */
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

/* Adds copies of those parts of the data that no earlier put has copied, so that data of several
 * puts is copied once. The copies are in the window, since some transports can send long messages
 * only from registered memory. */
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
                   .routes = FROM_COPY,
                   .dst = ncoll__compiler_operand(c, scratch_at(whole->at + first - whole->first)),
                   .a = {ncoll__compiler_operand(c, step->a).base, first * element},
                   .count = end - first,
                   .len_bytes = (end - first) * element});
        st->copied[st->n_copied++] =
            (struct stretch){.buffer = s.buffer, .first = first, .end = end};
    }
    return scratch_at(whole->at + s.first - whole->first);
}
