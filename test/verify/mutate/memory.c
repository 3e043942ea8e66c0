/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes in what a step reads and writes, and in how much memory a schedule says it needs.
 */
#include "test/verify/mutate/kinds.h"

static bool same_place(struct ref a, struct ref b)
{
    return a.buffer == b.buffer && a.slot == b.slot && a.offset == b.offset;
}

static bool a_scratch_operand(const struct schedule *s, const struct step *step)
{
    return a_local(s, step) && step->a.buffer == BUF_SCRATCH;
}

static bool a_first_write(const struct schedule *s, const struct step *step)
{
    return counts_once(s) && is_local(step) && step->dst.buffer == BUF_SCRATCH &&
           !same_place(step->dst, step->a) && !same_place(step->dst, step->b);
}

bool arrived_read_before_wait(struct site *at)
{
    if (!pick(at, a_data_wait))
        return false;
    struct step step = *at->step;
    program_remove(at->program, at->index);
    program_add(at->program, step);
    return true;
}

bool source_overwritten(struct site *at)
{
    if (!pick(at, a_scratch_put))
        return false;
    struct step copy = {
        .kind = STEP_COPY, .dst = at->step->a, .a = in_at(0), .b = in_at(0), .count = 1};
    program_insert(at->program, at->index + 1, copy);
    return true;
}

bool in_written(struct site *at)
{
    if (!pick(at, a_local))
        return false;
    at->step->dst = in_at(0);
    return true;
}

bool arrived_written(struct site *at)
{
    if (!pick(at, a_data_wait))
        return false;
    struct step step = {.kind = STEP_COPY,
                        .dst = arrived_at(at->step->slot, 0),
                        .a = in_at(0),
                        .b = in_at(0),
                        .count = 1};
    program_insert(at->program, at->index + 1, step);
    return true;
}

bool in_read_after_out(struct site *at)
{
    if (at->s->shape.size == 1 || !pick(at, a_local))
        return false;
    program_add(at->program, (struct step){.kind = STEP_REDUCE,
                                           .dst = out_at(0),
                                           .a = out_at(0),
                                           .b = in_at(0),
                                           .count = at->s->shape.count});
    return true;
}

bool out_read_before_written(struct site *at)
{
    if (!pick(at, a_local))
        return false;
    for (at->index = 0; !is_local(&at->program->steps[at->index]);)
        at->index++;
    at->program->steps[at->index].a = out_at(0);
    return true;
}

bool out_not_written(struct site *at)
{
    bool removed = false;

    if (!pick(at, a_local))
        return false;
    for (unsigned i = at->program->count; i-- > 0;)
        if (is_local(&at->program->steps[i]) && at->program->steps[i].dst.buffer == BUF_OUT) {
            program_remove(at->program, i);
            removed = true;
        }
    return removed;
}

bool scratch_not_written(struct site *at)
{
    if (!pick(at, a_first_write))
        return false;
    program_remove(at->program, at->index);
    return true;
}

bool operand_at_wrong_offset(struct site *at)
{
    if (!pick(at, a_scratch_operand))
        return false;
    at->step->a.offset++;
    return true;
}

/* No mistake where ranks answer each message before they get the next one, as in a tree. */
bool one_half_for_all_calls(struct site *at)
{
    at->s->halves = 1;
    return at->s->shape.size > 1 && at->s->properties & SYNCHRONISES &&
           at->s->algorithm == ncoll__algorithm_find("dissemination");
}

/* With counts a footprint may be more than is needed. */
static bool is_exact(const struct site *at)
{
    return at->s->shape.counts == NULL;
}

bool footprint_lacks_a_slot(struct site *at)
{
    return is_exact(at) && at->s->footprint.slots-- > 0;
}

bool footprint_lacks_scratch(struct site *at)
{
    return is_exact(at) && at->s->footprint.scratch-- > 0;
}

bool footprint_lacks_message(struct site *at)
{
    return is_exact(at) && at->s->footprint.message-- > 0;
}

bool footprint_lacks_sent(struct site *at)
{
    return is_exact(at) && at->s->footprint.sent-- > 0;
}

bool footprint_has_a_slot_more(struct site *at)
{
    return is_exact(at) && at->s->footprint.slots++ < SLOTS_MAX;
}

bool footprint_has_scratch_more(struct site *at)
{
    at->s->footprint.scratch++;
    return is_exact(at);
}

bool footprint_has_message_more(struct site *at)
{
    at->s->footprint.message++;
    return is_exact(at);
}

bool footprint_has_sent_more(struct site *at)
{
    at->s->footprint.sent++;
    return is_exact(at);
}
