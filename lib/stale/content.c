/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the contributions that each put of a schedule, and the result, contain: which messages have
 * gone into them, and whether this rank's own vector has. It follows the data through the steps: a
 * stretch of scratch or OUT contains what the last step that wrote there has read. So for any
 * schedule the clock of a message is the minimum over just those contributions that are in it.
 *
 * In a call in place, a step that writes OUT also overwrites IN. A schedule reads IN only where it
 * has not been overwritten, so a step that reads IN always reads the own vector.
 */
#include <string.h>

#include "lib/stale/stale.h"

/* A stretch of scratch or OUT, and what it contains. bits: one for each slot whose message is in
 * it, and one, the last, for the own vector. */
struct stretch_of_data {
    enum buffer buffer;
    size_t first, end;
    uint64_t *bits;
};

struct flow {
    struct ncoll_stale *s;
    struct stretch_of_data *all;
    unsigned n, capacity;
    unsigned words;
    uint64_t *bits; /* contents of what the present step reads */
    bool failed;
};

static void *grow(struct flow *f, void *old, size_t had, size_t wanted)
{
    void *grown = ncoll__allocate(f->s->group->ctx, wanted);

    if (grown == NULL) {
        f->failed = true;
        return old;
    }
    if (had > 0)
        memcpy(grown, old, had);
    ncoll__release(f->s->group->ctx, old);
    return grown;
}

static void set_bit(uint64_t *bits, unsigned i)
{
    bits[i / 64] |= UINT64_C(1) << i % 64;
}

static bool has_bit(const uint64_t *bits, unsigned i)
{
    return (bits[i / 64] >> i % 64 & 1) != 0;
}

/* Adds the contents of an operand to those of the present step. */
static void read_from(struct flow *f, struct ref ref, size_t count)
{
    if (ref.buffer == BUF_IN)
        set_bit(f->bits, f->s->slots);
    if (ref.buffer == BUF_ARRIVED)
        set_bit(f->bits, ref.slot);
    for (unsigned i = 0; i < f->n; i++) {
        const struct stretch_of_data *d = &f->all[i];
        if (d->buffer != ref.buffer || d->first >= ref.offset + count || ref.offset >= d->end)
            continue;
        for (unsigned w = 0; w < f->words; w++)
            f->bits[w] |= d->bits[w];
    }
}

static void add(struct flow *f, enum buffer buffer, size_t first, size_t end, const uint64_t *bits)
{
    size_t bytes = f->words * sizeof *bits;

    if (first >= end)
        return;
    if (f->n == f->capacity) {
        f->all = grow(f, f->all, f->n * sizeof *f->all, (2 * f->n + 16) * sizeof *f->all);
        f->capacity = f->failed ? f->capacity : 2 * f->n + 16;
    }
    uint64_t *own = f->failed ? NULL : ncoll__allocate(f->s->group->ctx, bytes);
    if (own == NULL) {
        f->failed = true;
        return;
    }
    memcpy(own, bits, bytes);
    f->all[f->n++] = (struct stretch_of_data){buffer, first, end, own};
}

/* Sets the contents of a stretch to those of the present step, in place of its former contents. */
static void write_to(struct flow *f, struct ref ref, size_t count)
{
    size_t first = ref.offset, end = ref.offset + count;

    for (unsigned i = 0; i < f->n; i++) {
        struct stretch_of_data *d = &f->all[i];
        size_t old_end = d->end;
        if (d->buffer != ref.buffer || d->first >= end || first >= d->end)
            continue;
        add(f, ref.buffer, end, old_end, d->bits);
        d = &f->all[i];                               /* add() may have moved the array */
        d->end = first > d->first ? first : d->first; /* the stretch may be empty now */
    }
    add(f, ref.buffer, first, end, f->bits);
}

/* Returns the index of a content with the bits of the present step: the last content if it has
 * them, else a new one. On a lack of memory sets f->failed. */
static unsigned content_with(struct flow *f)
{
    struct ncoll_stale *s = f->s;
    struct content *last = s->n_contents > 0 ? &s->contents[s->n_contents - 1] : NULL;
    unsigned n = 0, common = 0;

    for (unsigned i = 0; i < s->slots; i++)
        n += has_bit(f->bits, i);
    for (unsigned i = 0; last != NULL && i < last->n_slots; i++)
        common += has_bit(f->bits, last->slots[i]);
    bool own = has_bit(f->bits, s->slots);
    if (last != NULL && last->own == own && last->n_slots == n && common == n)
        return s->n_contents - 1;
    s->contents =
        grow(f, s->contents, s->n_contents * sizeof *last, (s->n_contents + 1) * sizeof *last);
    unsigned *slots = ncoll__allocate(s->group->ctx, (n + 1) * sizeof *slots);
    f->failed |= slots == NULL;
    if (f->failed) {
        ncoll__release(s->group->ctx, slots);
        return 0;
    }
    n = 0;
    for (unsigned i = 0; i < s->slots; i++)
        if (has_bit(f->bits, i))
            slots[n++] = i;
    s->contents[s->n_contents] = (struct content){.slots = slots, .n_slots = n, .own = own};
    return s->n_contents++;
}

static void follow(struct flow *f, unsigned i)
{
    const struct step *step = &f->s->steps[i];
    bool combines = step->kind == STEP_REDUCE || step->kind == STEP_TAKEOUT;

    if (step->kind == STEP_WAIT)
        return;
    memset(f->bits, 0, f->words * sizeof *f->bits);
    read_from(f, step->a, step->count);
    if (combines)
        read_from(f, step->b, step->count);
    if (step->kind == STEP_PUT)
        f->s->content_of[i] = content_with(f);
    else
        write_to(f, step->dst, step->count);
}

int ncoll__contents(struct ncoll_stale *s)
{
    struct ncoll_context *ctx = s->group->ctx;
    struct flow f = {.s = s, .words = s->slots / 64 + 1};

    f.bits = ncoll__allocate(ctx, f.words * sizeof *f.bits);
    f.failed = f.bits == NULL;
    for (unsigned i = 0; i < s->n_steps && !f.failed; i++)
        follow(&f, i);
    if (!f.failed) {
        memset(f.bits, 0, f.words * sizeof *f.bits);
        read_from(&f, out_at(0), s->count);
        content_with(&f);
    }
    for (unsigned i = 0; i < f.n; i++)
        ncoll__release(ctx, f.all[i].bits);
    ncoll__release(ctx, f.all);
    ncoll__release(ctx, f.bits);
    return f.failed ? NCOLL_ERR_MEMORY : NCOLL_OK;
}

void ncoll__contents_free(struct ncoll_stale *s)
{
    for (unsigned i = 0; i < s->n_contents; i++)
        ncoll__release(s->group->ctx, s->contents[i].slots);
    ncoll__release(s->group->ctx, s->contents);
}
