/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From steps on symbolic buffers to instructions on (base, offset) pairs: one program for each
 * length that segments have.
 */
#include "lib/compiler.h"

#include <stdlib.h>
#include <string.h>

#include "lib/inspect.h"
#include "lib/internal.h"

#define LINE 64
/* Messages longer than this gain nothing. */
#define MESSAGE_BYTES ((size_t)128 << 10)
/* All that is on its way to the ranks of a core may fall out of its caches, see cached_bytes in
 * transport.h; but messages shorter than this are too many. */
#define MESSAGE_MIN_BYTES ((size_t)16 << 10)

static size_t round_up(size_t n)
{
    return (n + LINE - 1) / LINE * LINE;
}

struct shape ncoll__shape(const struct ncoll_group *g, const struct call_args *args, unsigned radix,
                          bool inverse)
{
    return (struct shape){
        .collective = args->collective,
        .rank = (unsigned)g->rank,
        .size = (unsigned)g->size,
        .root = (unsigned)args->root,
        .radix = radix,
        .count = args->count,
        .counts = args->counts,
        .sends = args->sends,
        .inverse = inverse,
        .nodes = ncoll__group_nodes(g),
    };
}

struct step *ncoll__steps(struct ncoll_group *g, const struct algorithm *algorithm,
                          const struct shape *shape, unsigned *count)
{
    unsigned capacity = 64, used = 0;
    struct step *steps = ncoll__allocate(g->ctx, capacity * sizeof *steps);

    for (unsigned r = 0; steps != NULL;) {
        struct round round = {.steps = steps + used, .capacity = capacity - used};
        bool more = algorithm->round(shape, r, &round);
        if (!round.full) {
            if (!more)
                break;
            used += round.count;
            r++;
            continue;
        }
        /* round() is pure: ask again with more room */
        struct step *grown = ncoll__allocate(g->ctx, 2 * capacity * sizeof *steps);
        if (grown != NULL)
            memcpy(grown, steps, used * sizeof *steps);
        ncoll__release(g->ctx, steps);
        steps = grown;
        capacity *= 2;
    }
    *count = used;
    return steps;
}

/* ------------------------------------------------------------------ segments ------------------ */

static struct layout layout_of(const struct algorithm *algorithm, const struct shape *shape,
                               size_t element)
{
    struct layout layout = {.footprint = algorithm->footprint(shape)};

    layout.stride = round_up(layout.footprint.message * element);
    return layout;
}

static bool fits(const struct ncoll_group *g, const struct layout *layout, size_t element)
{
    const struct window_shape *w = &g->window->shape;
    const struct footprint *f = &layout->footprint;
    size_t scratch = f->scratch + (g->ctx->transport->sends_any_memory ? 0 : f->sent);

    if (f->slots > w->n_slots || scratch > w->scratch_bytes / element)
        return false;
    return f->message <= SLOT_PAYLOAD / element || f->slots <= w->bulk_bytes / layout->stride;
}

/* Whether shorter segments would not be better. */
static bool is_short_enough(const struct ncoll_group *g, const struct layout *layout)
{
    size_t cached = g->ctx->transport->cached_bytes;
    double on_its_way = (double)(LANES * layout->footprint.slots) * (double)layout->stride;
    bool stays = cached == 0 || on_its_way * g->ctx->places.ranks_per_core <= (double)cached;

    return layout->stride <= MESSAGE_MIN_BYTES || (layout->stride <= MESSAGE_BYTES && stays);
}

/* Counts of the segment that begins at element `begin` of every block. */
static void cut(const size_t *counts, size_t count, unsigned size, size_t begin, size_t segment,
                size_t *out)
{
    for (unsigned q = 0; q < size; q++) {
        size_t whole = counts != NULL ? counts[q] : count;
        out[q] = whole > begin ? least(whole - begin, segment) : 0;
    }
}

size_t ncoll__plan_segment(const struct ncoll_group *g, const struct algorithm *algorithm,
                           const struct shape *shape, size_t element, size_t longest)
{
    struct shape one = *shape;
    size_t segment = longest > 0 ? longest : 1;

    /* As if all blocks were as long as the longest: every rank comes to the same. */
    one.counts = one.sends = NULL;
    for (;; segment = (segment + 1) / 2) {
        one.count = least(segment, longest);
        if (one.count <= SIZE_MAX / 64 / element / shape->size) {
            struct layout layout = layout_of(algorithm, &one, element);
            if (fits(g, &layout, element) && (is_short_enough(g, &layout) || segment == 1))
                return segment;
        }
        if (segment == 1)
            return 0;
    }
}

/* ------------------------------------------------------------------ compiling ----------------- */

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
        c->plan->shows_in |= i->shows & SHOWS_IN;
    }
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
        i.reads = !c->plan->shares && i.len_bytes > SLOT_PAYLOAD && ncoll__may_show(c->g, s->peer)
                      ? READS_A
                      : 0;
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

/* The program of the segments that have the shape's counts. */
static int compile(struct compiler *c)
{
    struct ncoll_context *ctx = c->g->ctx;
    struct staging *st = &c->staging;
    unsigned count;
    struct step *steps = ncoll__steps(c->g, c->plan->algorithm, &c->shape, &count);

    c->layout = layout_of(c->plan->algorithm, &c->shape, c->plan->element);
    if (c->shape.sends != NULL) /* what a rank knows of is not what its peers know of */
        c->layout.stride = round_up(c->plan->segment * c->plan->element);
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

/* ------------------------------------------------------------------ blocks -------------------- */

/* Where the blocks of a buffer start; *at is NULL if it is a vector. False: no memory. */
static bool places(struct ncoll_group *g, enum data_form form, size_t count, const size_t *counts,
                   const size_t *displs, size_t **at)
{
    *at = NULL;
    if (form != FORM_BLOCKS)
        return true;
    *at = ncoll__allocate(g->ctx, (size_t)g->size * sizeof **at);
    if (*at == NULL)
        return false;
    for (int q = 0; q < g->size; q++)
        (*at)[q] = displs != NULL ? displs[q]
                   : q == 0       ? 0
                                  : (*at)[q - 1] + (counts != NULL ? counts[q - 1] : count);
    return true;
}

/* Whether the next segment, of these counts, needs a program of its own. */
static bool differs(const struct shape *shape, const size_t *counts, const size_t *sends)
{
    size_t bytes = shape->size * sizeof *counts;

    return memcmp(shape->counts, counts, bytes) != 0 ||
           (sends != NULL && memcmp(shape->sends, sends, bytes) != 0);
}

static int add_program(struct compiler *c, uint64_t first_segment)
{
    struct plan *plan = c->plan;
    struct program *grown =
        ncoll__allocate(c->g->ctx, (plan->n_programs + 1) * sizeof *plan->programs);

    if (grown == NULL)
        return NCOLL_ERR_MEMORY;
    if (plan->n_programs > 0)
        memcpy(grown, plan->programs, plan->n_programs * sizeof *grown);
    ncoll__release(c->g->ctx, plan->programs);
    plan->programs = grown;
    c->out = &plan->programs[plan->n_programs++];
    c->out->first_segment = first_segment;
    return compile(c);
}

/* Vectors: all segments but the last are alike. */
static int compile_vectors(struct compiler *c)
{
    struct plan *plan = c->plan;
    size_t last = plan->key.count - (plan->segments - 1) * plan->segment;
    int rc = NCOLL_OK;

    c->shape.count = least(plan->segment, plan->key.count);
    if (plan->segments == 1 || (rc = add_program(c, 0)) != NCOLL_OK || last == c->shape.count)
        return plan->segments == 1 ? add_program(c, 0) : rc;
    c->shape.count = last;
    return add_program(c, plan->segments - 1);
}

/* Blocks, cut: with counts, since what is left of them does not lie side by side. */
static int compile_blocks(struct compiler *c)
{
    struct plan *plan = c->plan;
    const struct call_args *key = &plan->key;
    struct ncoll_context *ctx = c->g->ctx;
    size_t bytes = c->shape.size * sizeof(size_t);
    size_t *now = ncoll__allocate(ctx, 4 * bytes), *counts, *sends, *next, *next_sends;
    bool both = key->collective == COLL_ALLTOALL;
    int rc = NCOLL_ERR_MEMORY;

    if (now == NULL)
        return rc;
    counts = now, sends = counts + c->shape.size, next = sends + c->shape.size,
    next_sends = next + c->shape.size;
    c->shape.counts = counts;
    c->shape.sends = both ? sends : NULL;
    rc = NCOLL_OK;
    for (uint64_t k = 0; k < plan->segments && rc == NCOLL_OK; k++) {
        cut(key->counts, key->count, c->shape.size, k * plan->segment, plan->segment, next);
        if (both)
            cut(key->sends, key->count, c->shape.size, k * plan->segment, plan->segment,
                next_sends);
        if (k > 0 && !differs(&c->shape, next, both ? next_sends : NULL))
            continue;
        memcpy(counts, next, bytes);
        memcpy(sends, next_sends, bytes);
        rc = add_program(c, k);
    }
    ncoll__release(ctx, now);
    return rc;
}

static bool lands_alike(const struct program *a, const struct program *b)
{
    bool alike = a->n_landings == b->n_landings;

    for (unsigned i = 0; alike && i < a->n_landings; i++) {
        const struct landing *l = &a->landings[i], *k = &b->landings[i];
        alike = l->peer == k->peer && l->slot == k->slot && l->at == k->at && l->apart == k->apart;
    }
    return alike;
}

/* How many segments one invitation can speak of. */
static uint64_t inviting(const struct plan *plan)
{
    unsigned p = 1;

    if (plan->programs[0].n_landings == 0)
        return 0;
    while (p < plan->n_programs && lands_alike(&plan->programs[0], &plan->programs[p]))
        p++;
    return p < plan->n_programs ? plan->programs[p].first_segment : plan->segments;
}

/* Bytes from the start of IN or OUT to the end of its last block. */
static size_t extent(const struct compiler *c, enum data_form form, const size_t *counts,
                     const size_t *at)
{
    size_t end = block_count(&c->shape, c->shape.rank), count = c->plan->key.count;

    if (form == FORM_NONE)
        return 0;
    if (form == FORM_BLOCKS)
        end = 0;
    for (unsigned q = 0; form == FORM_BLOCKS && q < c->shape.size; q++) {
        size_t block = counts != NULL ? counts[q] : count;
        if (block > 0 && at[q] + block > end)
            end = at[q] + block;
    }
    return end * c->plan->element;
}

int ncoll__compile(struct ncoll_group *g, struct plan *plan)
{
    const struct call_args *key = &plan->key;
    bool in_blocks = in_form(key->collective) == FORM_BLOCKS;
    bool out_blocks = out_form(key->collective) == FORM_BLOCKS;
    bool alltoall = in_blocks && out_blocks;
    size_t *in_at, *out_at;
    struct compiler c = {
        .g = g,
        .plan = plan,
        .shape = ncoll__shape(g, key, plan->radix, plan->op.inverse != NULL),
    };

    const size_t *in_counts = alltoall && key->sends != NULL ? key->sends : key->counts;
    bool in_ok = places(g, in_form(key->collective), key->count, in_counts,
                        alltoall ? key->send_displs : key->displs, &in_at);
    bool out_ok =
        places(g, out_form(key->collective), key->count, key->counts, key->displs, &out_at);
    c.places = (struct landing_places){in_at, out_at};
    int rc = NCOLL_ERR_MEMORY;
    if (in_ok && out_ok) {
        if (has_in(&c.shape))
            plan->in_bytes = extent(&c, in_form(key->collective), in_counts, in_at);
        if (has_out(&c.shape))
            plan->out_bytes = extent(&c, out_form(key->collective), key->counts, out_at);
        if (!in_blocks && !out_blocks)
            rc = compile_vectors(&c);
        else if (plan->segments == 1)
            rc = add_program(&c, 0);
        else
            rc = compile_blocks(&c);
    }
    if (rc == NCOLL_OK)
        plan->inviting = inviting(plan);
    ncoll__release(g->ctx, in_at);
    ncoll__release(g->ctx, out_at);
    return rc;
}
