/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/parts.h"

#include <stdlib.h>

/* The part that is moved to its place, and what is wrong with it. */
struct move {
    const struct footprint *part; /* what each part may use */
    unsigned w;
    bool follows;
    const char *wrong;
};

static void move_ref(struct move *m, struct ref *ref, size_t count)
{
    if (ref->buffer == BUF_SCRATCH) {
        if (ref->offset + count > m->part->scratch)
            m->wrong = "a part uses scratch beyond its footprint";
        ref->offset += m->w * m->part->scratch;
    } else if (ref->buffer == BUF_ARRIVED) {
        if (ref->slot >= m->part->slots)
            m->wrong = "a part reads a slot beyond its footprint";
        ref->slot += m->w * m->part->slots;
    }
}

static struct step moved(struct move *m, struct step s)
{
    bool message = s.kind == STEP_PUT || s.kind == STEP_WAIT;

    if (s.kind == STEP_LOOK)
        m->wrong = "a part looks at a neighbour's slot";
    if (message && s.slot >= m->part->slots)
        m->wrong = "a part uses a slot beyond its footprint";
    s.slot += message ? m->w * m->part->slots : 0;
    if (!m->follows && s.kind != STEP_WAIT && s.a.buffer == BUF_OUT)
        m->wrong = "a part that follows no other reads OUT";
    if (s.kind != STEP_WAIT)
        move_ref(m, &s.a, s.count);
    if (!message) {
        move_ref(m, &s.b, s.count);
        move_ref(m, &s.dst, s.count);
    }
    return s;
}

const char *parts_write(const struct algorithm *algorithm, const struct shape *shape,
                        bool backwards, struct schedule *out)
{
    struct move m = {.follows = (algorithm->properties & PARTS_FOLLOW) != 0};
    struct shape part = *shape;
    struct program one = {0};

    part.part = 0;
    schedule_write(algorithm, &part, out);
    struct footprint each = out->footprint;
    m.part = &each;
    for (unsigned p = 0; p < shape->size; p++)
        out->ranks[p].count = 0;
    out->footprint.sent = 0;
    for (unsigned i = 0; i < shape->parts; i++) {
        m.w = part.part = backwards ? shape->parts - 1 - i : i;
        out->footprint.sent += footprint_of_all(algorithm, &part).sent;
        for (unsigned p = 0; p < shape->size; p++) {
            struct shape g = shape_on_rank(&part, p);
            program_of(algorithm, &g, false, &one);
            for (unsigned k = 0; k < one.count; k++)
                program_add(&out->ranks[p], moved(&m, one.steps[k]));
        }
    }
    free(one.steps);
    out->shape.part = 0;
    out->footprint.slots *= shape->parts;
    out->footprint.scratch *= shape->parts;
    return m.wrong;
}
