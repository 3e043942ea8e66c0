/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/plan/landing.h"

/* What the landing of one message is checked against. */
struct inquiry {
    struct landing_places places;
    ptrdiff_t shift; /* from IN to OUT, in place */
    struct landing *landing;
    unsigned copy; /* its step */
};

static size_t start(const struct landing_places *places, struct ref ref)
{
    const size_t *at = ref.buffer == BUF_IN ? places->in_at : places->out_at;
    return (at != NULL ? at[ref.block] : 0) + ref.offset;
}

/* Whether elements of IN or OUT touch the place of the landing; those of IN in place. */
static bool touches(const struct inquiry *q, struct ref ref, size_t count)
{
    size_t first = start(&q->places, ref) + (ref.buffer == BUF_IN ? (size_t)q->shift : 0);

    return first < q->landing->at + q->landing->count && q->landing->at < first + count;
}

/* L1 and L3, and whether L4 holds. */
static bool may_read(struct inquiry *q, unsigned at, enum step_kind kind, struct ref ref,
                     size_t count)
{
    switch (ref.buffer) {
    case BUF_LANDED:
        return ref.slot != q->landing->slot || kind == STEP_PUT || at == q->copy;
    case BUF_OUT:
        return at > q->copy || !touches(q, ref, count);
    case BUF_IN:
        q->landing->apart |= touches(q, ref, count);
        return true;
    default:
        return true;
    }
}

static bool may_stay(struct inquiry *q, unsigned at, const struct step *s)
{
    if (s->kind == STEP_WAIT)
        return s->slot != q->landing->slot ||
               (s->count == q->landing->count && !s->watched); /* L5 */
    if (s->kind == STEP_LOOK)
        return true;
    if (!may_read(q, at, s->kind, s->a, s->count))
        return false;
    if (s->kind == STEP_PUT)
        return true;
    bool writes = s->dst.buffer == BUF_OUT && touches(q, s->dst, s->count); /* L2 */
    return may_read(q, at, s->kind, s->b, s->count) && (!writes || at == q->copy);
}

static unsigned sender_of(const struct step *steps, unsigned n_steps, unsigned slot)
{
    unsigned i = 0;

    while (i < n_steps && (steps[i].kind != STEP_WAIT || steps[i].slot != slot))
        i++;
    return i < n_steps ? steps[i].peer : 0;
}

unsigned ncoll__landings(const struct shape *g, const struct step *steps, unsigned n_steps,
                         struct landing_places places, size_t least, struct landing *out)
{
    unsigned n = 0;

    for (unsigned copy = 0; copy < n_steps; copy++) {
        const struct step *s = &steps[copy];
        if (s->kind != STEP_COPY || s->a.buffer != BUF_LANDED || s->a.offset != 0 ||
            s->dst.buffer != BUF_OUT || s->count < least)
            continue;
        out[n] = (struct landing){.slot = s->a.slot,
                                  .peer = sender_of(steps, n_steps, s->a.slot),
                                  .at = start(&places, s->dst),
                                  .count = s->count};
        struct inquiry q = {places, ncoll__in_place_shift(g, places), &out[n], copy};
        unsigned i = 0;
        while (i < n_steps && may_stay(&q, i, &steps[i]))
            i++;
        n += i == n_steps;
    }
    return n;
}
