/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Acknowledgements: schedules that say that what is put from IN may be read where it lies
 * (`acknowledges` of algos/schedule.h). The last that a receiver reads of such a message, where a
 * put that passes it on counts as reading it, has to happen before the end of the sender's call,
 * and before the sender overwrites in place what it has put. Like all that the model asks of order
 * this is a property of the schedule: what a rank knows at a step does not depend on when others
 * carry out theirs. But the last read may be carried out after the step that has to know of it, so
 * it is looked at in the end.
 */
#include "test/verify/model.h"

#define NOT_YET ((tick)-1)

static tick heard_of(const struct model *m, unsigned rank, unsigned q)
{
    return m->clocks[(size_t)rank * m->P + q];
}

static void note_read(struct model *m, unsigned rank, struct ref ref)
{
    if (ref.buffer == BUF_ARRIVED && ref.slot < m->schedule->footprint.slots)
        model_message(m, m->call, rank, ref.slot)->read = m->actors[rank].puts;
}

void model_note_reads(struct model *m, unsigned rank, const struct step *s)
{
    note_read(m, rank, s->a);
    note_read(m, rank, s->b);
}

void model_read_in_place(struct model *m, struct message *message, size_t cell)
{
    message->read_in_place = m->schedule->acknowledges;
    message->cell = cell;
    message->heard = NOT_YET;
}

void model_note_overwriting(struct model *m, unsigned rank, size_t cell, size_t count)
{
    const struct step *steps = m->schedule->ranks[rank].steps;

    if (!m->schedule->acknowledges || !model_is_ordered(m))
        return;
    for (unsigned i = 0; i < m->actors[rank].next; i++) {
        if (steps[i].kind != STEP_PUT || steps[i].count == 0)
            continue;
        struct message *message = model_message(m, 0, steps[i].peer, steps[i].slot);
        tick heard = heard_of(m, rank, steps[i].peer);
        if (message->read_in_place && message->cell < cell + count &&
            cell < message->cell + message->count && heard < message->heard)
            message->heard = heard;
    }
}

bool model_check_acknowledgements(struct model *m)
{
    if (!m->schedule->acknowledges)
        return true;
    if (!(m->schedule->properties & SYNCHRONISES))
        return model_fault(m, 0, "answers, but does not synchronise");
    for (unsigned i = 0; i < m->n_messages && model_is_ordered(m) && m->traced; i++) {
        const struct message *message = &m->messages[0][i];
        unsigned receiver = i / m->schedule->footprint.slots;
        tick heard = heard_of(m, message->sender, receiver);
        if (message->heard < heard)
            heard = message->heard;
        if (message->read_in_place && heard <= message->read)
            return model_fault(m, message->sender,
                               "IN is overwritten, or the call ends, before rank %u has read what "
                               "was put from there to its slot %u",
                               receiver, i % m->schedule->footprint.slots);
    }
    return true;
}
