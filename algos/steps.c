/* SPDX-License-Identifier: BSD-3-Clause */
/* Repeated steps: one step in place of many that differ in their places only, so that the plan of a
 * call on many ranks stays small. */
#include "algos/steps.h"

static bool same_buffer(struct ref a, struct ref b)
{
    return a.buffer == b.buffer && a.slot == b.slot && a.rank == b.rank;
}

static struct stride between(struct ref from, struct ref to)
{
    return (struct stride){(ptrdiff_t)to.block - (ptrdiff_t)from.block,
                           (ptrdiff_t)(to.offset - from.offset)};
}

static struct ref further_by(struct ref ref, struct stride by, unsigned times)
{
    ref.block += (unsigned)(by.blocks * (ptrdiff_t)times);
    ref.offset += (size_t)(by.elements * (ptrdiff_t)times);
    return ref;
}

static bool same_place(struct ref a, struct ref b)
{
    return a.block == b.block && a.offset == b.offset;
}

bool ncoll__repeats_last(struct round *out, const struct step *step)
{
    struct step *last = out->count > 0 ? &out->steps[out->count - 1] : NULL;

    if (last == NULL || last->kind != step->kind || last->count != step->count ||
        !same_buffer(last->dst, step->dst) || !same_buffer(last->a, step->a) ||
        !same_buffer(last->b, step->b))
        return false;
    if (last->more == 0) {
        last->dst_by = between(last->dst, step->dst);
        last->a_by = between(last->a, step->a);
        last->b_by = between(last->b, step->b);
    }
    unsigned times = last->more + 1;
    if (!same_place(further_by(last->dst, last->dst_by, times), step->dst) ||
        !same_place(further_by(last->a, last->a_by, times), step->a) ||
        !same_place(further_by(last->b, last->b_by, times), step->b))
        return false;
    last->more = times;
    return true;
}

struct step ncoll__step_of(const struct step *step, unsigned i)
{
    struct step one = *step;

    one.dst = further_by(step->dst, step->dst_by, i);
    one.a = further_by(step->a, step->a_by, i);
    one.b = further_by(step->b, step->b_by, i);
    one.more = 0;
    one.dst_by = one.a_by = one.b_by = (struct stride){0};
    return one;
}

void ncoll__emit_repeated(struct round *out, struct step step, size_t times)
{
    if (step.count == 0 || times == 0)
        return;
    if (out->repeats && times > 1) {
        step.more = (unsigned)(times - 1);
        emit(out, step);
        return;
    }
    for (size_t i = 0; i < times && !out->full; i++)
        emit(out, ncoll__step_of(&step, (unsigned)i));
}
