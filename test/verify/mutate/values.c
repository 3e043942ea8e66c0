/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes in what is combined.
 */
#include "test/verify/mutate/kinds.h"

static bool a_takeout(const struct schedule *s, const struct step *step)
{
    (void)s;
    return step->kind == STEP_TAKEOUT;
}

static bool a_last_reduce(const struct schedule *s, const struct step *step)
{
    (void)s;
    return step->kind == STEP_REDUCE && step->dst.buffer == BUF_OUT;
}

static bool a_last_reduce_counted(const struct schedule *s, const struct step *step)
{
    return counts_once(s) && a_last_reduce(s, step);
}

static bool a_first_reduce_counted(const struct schedule *s, const struct step *step)
{
    return counts_once(s) && step->kind == STEP_REDUCE && step->a.buffer == BUF_IN;
}

static bool an_ordered_reduce(const struct schedule *s, const struct step *step)
{
    return !(s->properties & NEEDS_COMMUTATIVE) && step->kind == STEP_REDUCE;
}

static bool a_same_bits_reduce(const struct schedule *s, const struct step *step)
{
    return s->shape.collective == COLL_ALLREDUCE && s->properties & GIVES_SAME_BITS &&
           a_last_reduce(s, step);
}

bool contribution_twice(struct site *at)
{
    if (!pick(at, a_last_reduce_counted))
        return false;
    struct step again = *at->step;
    again.a = out_at(0);
    if (again.b.buffer == BUF_IN)
        return false;
    program_insert(at->program, at->index + 1, again);
    return true;
}

bool contribution_missing(struct site *at)
{
    if (!pick(at, a_last_reduce_counted))
        return false;
    program_remove(at->program, at->index);
    return true;
}

bool own_contribution_missing(struct site *at)
{
    if (!pick(at, a_first_reduce_counted))
        return false;
    at->step->kind = STEP_COPY;
    at->step->a = at->step->b;
    return true;
}

bool operands_swapped(struct site *at)
{
    if (!pick(at, an_ordered_reduce))
        return false;
    struct ref a = at->step->a;
    at->step->a = at->step->b;
    at->step->b = a;
    return true;
}

/* Combines as it would be right for a commutative operation, were the bits not to be the same. No
 * mistake where the others get the result from this rank. */
bool other_expression_on_one_rank(struct site *at)
{
    if (!pick(at, a_same_bits_reduce))
        return false;
    for (unsigned i = at->index; i < at->program->count; i++)
        if (at->program->steps[i].kind == STEP_PUT)
            return false;
    at->s->properties |= NEEDS_COMMUTATIVE;
    struct ref a = at->step->a;
    at->step->a = at->step->b;
    at->step->b = a;
    return true;
}

bool takeout_missing(struct site *at)
{
    if (!pick(at, a_takeout))
        return false;
    at->step->kind = STEP_COPY;
    at->step->b = at->step->a;
    return true;
}

bool takeout_of_too_much(struct site *at)
{
    if (!pick(at, a_takeout))
        return false;
    at->step->b = at->step->a;
    return true;
}

bool takeout_twice(struct site *at)
{
    if (!pick(at, a_takeout) || at->step->b.buffer == BUF_IN)
        return false;
    struct step again = *at->step;
    again.a = again.dst;
    program_insert(at->program, at->index + 1, again);
    return true;
}

bool takeout_without_inverse(struct site *at)
{
    if (!pick(at, a_takeout))
        return false;
    at->s->shape.inverse = false;
    return true;
}

bool step_on_nothing(struct site *at)
{
    if (!pick(at, a_local))
        return false;
    at->step->count = 0;
    return true;
}
