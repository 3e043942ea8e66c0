/* SPDX-License-Identifier: BSD-3-Clause */
/* Repeated steps: one step stands for many that differ only in where their operands lie, so that
 * the plan of a call on many ranks stays small. */
#include "algos/schedule.h"

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
    bool in_blocks = step.dst_by.blocks != 0 || step.a_by.blocks != 0 || step.b_by.blocks != 0;
    if ((out->repeats || (out->uneven && !in_blocks)) && times > 1) {
        step.more = (unsigned)(times - 1);
        emit(out, step);
        return;
    }
    for (size_t i = 0; i < times && !out->full; i++)
        emit(out, ncoll__step_of(&step, (unsigned)i));
}

/* ------------------------------------------------------------------ uneven -------------------- */

size_t ncoll__uneven_count(const struct shape *g, const struct step *step)
{
    if (step->dst_by.blocks != 0)
        return block_count(g, step->dst.block);
    struct ref ref = step->a_by.blocks != 0 ? step->a : step->b;
    return ref.buffer == BUF_IN && g->sends != NULL ? send_count(g, ref.block)
                                                    : block_count(g, ref.block);
}

static struct ref after(struct ref ref, struct stride by, size_t count)
{
    ref.block += (unsigned)by.blocks;
    if (by.blocks == 0)
        ref.offset += by.elements != 0 ? (size_t)by.elements : count;
    return ref;
}

void ncoll__emit_uneven(struct round *out, const struct shape *g, struct step step, size_t times)
{
    if (out->uneven && times > 1) {
        step.count = 0;
        step.more = (unsigned)(times - 1);
        step.uneven = true;
        emit(out, step);
        return;
    }
    for (; times > 0 && !out->full; times--) {
        struct step one = {.kind = step.kind, .dst = step.dst, .a = step.a, .b = step.b};
        one.count = ncoll__uneven_count(g, &step);
        if (one.count > 0)
            emit(out, one);
        step.dst = after(step.dst, step.dst_by, one.count);
        step.a = after(step.a, step.a_by, one.count);
        step.b = after(step.b, step.b_by, one.count);
    }
}

void ncoll__emit_block_copies(struct round *out, const struct shape *g, struct ref dst,
                              struct stride dst_by, struct ref src, struct stride src_by,
                              size_t times)
{
    struct step step = {.kind = STEP_COPY,
                        .dst = dst,
                        .a = src,
                        .b = src,
                        .count = g->count,
                        .dst_by = dst_by,
                        .a_by = src_by,
                        .b_by = src_by};

    if (has_counts(g))
        ncoll__emit_uneven(out, g, step, times);
    else
        ncoll__emit_repeated(out, step, times);
}
