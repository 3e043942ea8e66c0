/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planted mistakes in puts and waits: wrong rank, slot, order or length.
 */
#include "test/verify/mutate/kinds.h"

static bool a_data_put(const struct schedule *s, const struct step *step)
{
    return a_put(s, step) && step->count > 0;
}

static bool a_counted_scratch_put(const struct schedule *s, const struct step *step)
{
    return counts_once(s) && a_scratch_put(s, step) && step->count == s->shape.count &&
           step->a.offset > 0;
}

static bool other_slots(const struct site *at)
{
    return at->s->footprint.slots > 1;
}

static void redirect(struct site *at)
{
    unsigned P = at->s->shape.size;
    at->step->peer = (at->step->peer + 1) % P;
    if (at->step->peer == at->rank)
        at->step->peer = (at->step->peer + 1) % P;
}

bool put_to_wrong_peer(struct site *at)
{
    if (at->s->shape.size < 3 || !pick(at, a_put))
        return false;
    redirect(at);
    return true;
}

bool wait_for_wrong_peer(struct site *at)
{
    if (at->s->shape.size < 3 || !pick(at, a_wait))
        return false;
    redirect(at);
    return true;
}

static bool a_far_put(const struct schedule *s, const struct step *step)
{
    return a_put(s, step) && step->peer > UINT8_MAX;
}

/* Shows in large groups only. */
bool peer_in_a_byte(struct site *at)
{
    if (at->s->shape.size <= UINT8_MAX + 1 || !pick(at, a_far_put))
        return false;
    at->step->peer &= UINT8_MAX;
    return true;
}

bool put_to_itself(struct site *at)
{
    if (!pick(at, a_put))
        return false;
    at->step->peer = at->rank;
    return true;
}

bool put_missing(struct site *at)
{
    if (!pick(at, a_put))
        return false;
    program_remove(at->program, at->index);
    return true;
}

bool wait_missing(struct site *at)
{
    if (!pick(at, a_wait))
        return false;
    program_remove(at->program, at->index);
    return true;
}

bool put_twice(struct site *at)
{
    if (!pick(at, a_put))
        return false;
    program_insert(at->program, at->index, *at->step);
    return true;
}

bool wait_twice(struct site *at)
{
    if (!pick(at, a_wait))
        return false;
    program_insert(at->program, at->index, *at->step);
    return true;
}

bool put_to_wrong_slot(struct site *at)
{
    if (!other_slots(at) || !pick(at, a_put))
        return false;
    at->step->slot = (at->step->slot + 1) % at->s->footprint.slots;
    return true;
}

bool wait_for_wrong_slot(struct site *at)
{
    if (!other_slots(at) || !pick(at, a_wait))
        return false;
    at->step->slot = (at->step->slot + 1) % at->s->footprint.slots;
    return true;
}

bool slot_beyond_footprint(struct site *at)
{
    if (!pick(at, a_put))
        return false;
    at->step->slot = at->s->footprint.slots;
    return true;
}

static struct step *put_for(struct schedule *s, unsigned receiver, unsigned slot, unsigned sender)
{
    struct program *p = &s->ranks[sender];
    for (unsigned i = 0; i < p->count; i++)
        if (p->steps[i].kind == STEP_PUT && p->steps[i].peer == receiver &&
            p->steps[i].slot == slot)
            return &p->steps[i];
    return NULL;
}

/* Sender and receiver agree on a slot that the receiver uses already. */
bool slot_used_again_in_call(struct site *at)
{
    if (!pick(at, a_wait))
        return false;
    for (unsigned i = 0; i < at->program->count; i++) {
        const struct step *other = &at->program->steps[i];
        if (other->kind != STEP_WAIT || i == at->index)
            continue;
        put_for(at->s, at->rank, at->step->slot, at->step->peer)->slot = other->slot;
        at->step->slot = other->slot;
        return true;
    }
    return false;
}

bool put_too_short(struct site *at)
{
    if (!pick(at, a_data_put))
        return false;
    at->step->count--;
    return true;
}

bool wait_for_too_much(struct site *at)
{
    if (!pick(at, a_data_wait))
        return false;
    at->step->count++;
    return true;
}

bool put_from_wrong_offset(struct site *at)
{
    if (!pick(at, a_data_put))
        return false;
    at->step->a.offset++;
    return true;
}

/* Before anything is written there. */
bool put_from_out_too_early(struct site *at)
{
    if (!pick(at, a_data_put))
        return false;
    for (unsigned i = 0; i < at->index; i++)
        if (is_local(&at->program->steps[i]) && at->program->steps[i].dst.buffer == BUF_OUT)
            return false;
    at->step->a.buffer = BUF_OUT;
    return true;
}

/* Passes on a message that has not come yet. */
bool put_from_arrived_too_early(struct site *at)
{
    if (!pick(at, a_data_put))
        return false;
    for (unsigned i = at->index + 1; i < at->program->count; i++)
        if (a_data_wait(at->s, &at->program->steps[i])) {
            at->step->a = arrived_at(at->program->steps[i].slot, 0);
            return true;
        }
    return false;
}

bool put_of_own_data_only(struct site *at)
{
    if (!pick(at, a_counted_scratch_put))
        return false;
    at->step->a = in_at(0);
    return true;
}

/* All ranks wait before they put. */
bool everyone_waits_first(struct site *at)
{
    for (unsigned p = 0; p < at->s->shape.size; p++) {
        struct program *program = &at->s->ranks[p];
        unsigned i = 0;
        while (i < program->count && program->steps[i].kind != STEP_WAIT)
            i++;
        if (i == program->count)
            return false;
        struct step first = program->steps[i];
        program_remove(program, i);
        program_insert(program, 0, first);
    }
    return true;
}

/* The last message that a rank waits for is neither sent nor waited for. Who looks at others does
 * not need it always: see neighbour_left_out_of_a_barrier. */
bool barrier_misses_a_rank(struct site *at)
{
    if (at->s->shape.collective != COLL_BARRIER || at->s->shape.size == 1 ||
        at->s->properties & SHARES)
        return false;
    pick(at, a_wait);
    for (at->index = at->program->count - 1; !a_wait(at->s, &at->program->steps[at->index]);)
        at->index--;
    struct step last = at->program->steps[at->index];
    struct program *sender = &at->s->ranks[last.peer];
    program_remove(sender,
                   (unsigned)(put_for(at->s, at->rank, last.slot, last.peer) - sender->steps));
    program_remove(at->program, at->index);
    return true;
}
