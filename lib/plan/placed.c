/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/plan/placed.h"

/* The facts by which it is checked that one message may be placed in OUT. */
struct inquiry {
    struct block_starts places;
    ptrdiff_t shift; /* in place: the element of OUT at which IN begins; may be negative */
    struct placed *placed;
    unsigned copy;  /* step that copies the message */
    unsigned block; /* block of OUT that the step copies the message to */
};

static size_t start(const struct block_starts *places, struct ref ref)
{
    return ncoll__block_start(places, ref) + ref.offset;
}

/* True if an operand in IN or OUT overlaps the place of the message in OUT. `ref` is the operand of
 * the first execution of a repeated step, `last` that of the last one, and all memory between them
 * counts. Without repetition both are the same. IN overlaps OUT only in place. */
static bool touches(const struct inquiry *q, struct ref ref, struct ref last, size_t count)
{
    size_t first = start(&q->places, ref), end = start(&q->places, last);
    size_t shift = ref.buffer == BUF_IN ? (size_t)q->shift : 0;

    if (first > end) {
        size_t higher = first;
        first = end;
        end = higher;
    }
    return first + shift < q->placed->at + q->placed->count && q->placed->at < end + shift + count;
}

/* Checks rules L1 and L3 (placed.h) for an operand that a step reads, and sets placed->apart if L4
 * does not hold. */
static bool may_read(struct inquiry *q, unsigned at, enum step_kind kind, struct ref ref,
                     struct ref last, size_t count)
{
    switch (ref.buffer) {
    case BUF_ARRIVED:
        return ref.slot != q->placed->slot || kind == STEP_PUT || at == q->copy;
    case BUF_OUT:
        return at > q->copy || !touches(q, ref, last, count);
    case BUF_IN:
        q->placed->apart |= touches(q, ref, last, count);
        return true;
    default:
        return true;
    }
}

/* Checks L1, L2 and L3 for one operand of an uneven step, whose blocks differ in length. The blocks
 * of OUT do not overlap each other, so only their numbers are compared. */
static bool may_have(struct inquiry *q, unsigned at, const struct step *s, struct ref ref,
                     struct stride by, bool writes)
{
    switch (ref.buffer) {
    case BUF_ARRIVED:
        return ref.slot != q->placed->slot;
    case BUF_OUT:
        if (by.blocks != 0 && !ncoll__uneven_has(ref.block, by.blocks, s->more, q->block))
            return true;
        return !writes && at > q->copy;
    case BUF_IN:
        q->placed->apart = true;
        return true;
    default:
        return true;
    }
}

static bool may_stay(struct inquiry *q, unsigned at, const struct step *s)
{
    if (s->uneven)
        return may_have(q, at, s, s->a, s->a_by, false) &&
               may_have(q, at, s, s->b, s->b_by, false) &&
               may_have(q, at, s, s->dst, s->dst_by, true);
    if (s->kind == STEP_WAIT)
        return s->slot != q->placed->slot ||
               (s->count == q->placed->count && !s->shared_wait); /* rule L5 in placed.h */
    if (s->kind == STEP_LOOK)
        return true;
    struct step last = ncoll__step_of(s, s->more);
    if (!may_read(q, at, s->kind, s->a, last.a, s->count))
        return false;
    if (s->kind == STEP_PUT)
        return true;
    /* rule L2 in placed.h: no other step may write there */
    bool writes = s->dst.buffer == BUF_OUT && touches(q, s->dst, last.dst, s->count);
    return may_read(q, at, s->kind, s->b, last.b, s->count) && (!writes || at == q->copy);
}

static unsigned sender_of(const struct step *steps, unsigned n_steps, unsigned slot)
{
    unsigned i = 0;

    while (i < n_steps && (steps[i].kind != STEP_WAIT || steps[i].slot != slot))
        i++;
    return i < n_steps ? steps[i].peer : 0;
}

unsigned ncoll__list_placed(const struct shape *g, const struct step *steps, unsigned n_steps,
                            struct block_starts places, size_t least, struct placed *out)
{
    unsigned n = 0;

    for (unsigned copy = 0; copy < n_steps; copy++) {
        const struct step *s = &steps[copy];
        if (s->kind != STEP_COPY || s->a.buffer != BUF_ARRIVED || s->a.offset != 0 ||
            s->dst.buffer != BUF_OUT || s->count < least || s->more > 0)
            continue;
        out[n] = (struct placed){.slot = s->a.slot,
                                 .peer = sender_of(steps, n_steps, s->a.slot),
                                 .at = start(&places, s->dst),
                                 .count = s->count};
        struct inquiry q = {places, ncoll__in_place_shift(g, places), &out[n], copy, s->dst.block};
        unsigned i = 0;
        while (i < n_steps && may_stay(&q, i, &steps[i]))
            i++;
        n += i == n_steps;
    }
    return n;
}
