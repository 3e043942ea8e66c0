/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/mutate/site.h"

bool pick(struct site *at, predicate fits)
{
    unsigned P = at->s->shape.size, first = (unsigned)(draw(at->seed) % P);
    uint64_t start = draw(at->seed);

    for (unsigned i = 0; i < P; i++) {
        at->rank = (first + i) % P;
        at->program = &at->s->ranks[at->rank];
        for (unsigned j = 0; j < at->program->count; j++) {
            at->index = (unsigned)((start + j) % at->program->count);
            at->step = &at->program->steps[at->index];
            if (fits(at->s, at->step))
                return true;
        }
    }
    return false;
}

bool is_local(const struct step *step)
{
    return step->kind != STEP_PUT && step->kind != STEP_WAIT && step->kind != STEP_LOOK;
}

bool counts_once(const struct schedule *s)
{
    return !(s->properties & NEEDS_IDEMPOTENT);
}

bool a_put(const struct schedule *s, const struct step *step)
{
    (void)s;
    return step->kind == STEP_PUT;
}

bool a_wait(const struct schedule *s, const struct step *step)
{
    (void)s;
    return step->kind == STEP_WAIT;
}

bool a_data_wait(const struct schedule *s, const struct step *step)
{
    return a_wait(s, step) && step->count > 0;
}

bool a_scratch_put(const struct schedule *s, const struct step *step)
{
    return a_put(s, step) && step->a.buffer == BUF_SCRATCH && step->count > 0;
}

bool a_local(const struct schedule *s, const struct step *step)
{
    (void)s;
    return is_local(step);
}
