/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model's landings: messages that go to OUT itself, at the worst of times.
 */
#include <string.h>

#include "test/verify/memory.h"
#include "test/verify/model.h"

/* Where the blocks start, for the library's own analysis; NULL for a vector. */
static const size_t *starts_of(const struct side *side, unsigned P, size_t *room)
{
    if (side->form != FORM_BLOCKS)
        return NULL;
    for (unsigned q = 0; q < P; q++)
        room[q] = side_start(side, q);
    return room;
}

static void invite(struct model *m, unsigned rank, const struct landing *landing)
{
    size_t first = m->places[rank].out.first + landing->at;

    m->landed[(size_t)rank * m->schedule->footprint.slots + landing->slot] = *landing;
    for (size_t i = 0; i < landing->count; i++)
        m->marks[first + i] |= MARK_INVITED;
}

static void prepare_rank(struct model *m, unsigned rank, size_t *room)
{
    const struct schedule *s = m->schedule;
    const struct places *p = &m->places[rank];
    struct shape g = shape_on_rank(&s->shape, rank);
    struct landing_places places = {starts_of(&p->in, m->P, room),
                                    starts_of(&p->out, m->P, room + m->P)};

    if (p->out.size == 0)
        return;
    unsigned n =
        ncoll__landings(&g, s->ranks[rank].steps, s->ranks[rank].count, places, 1, m->listed);
    for (unsigned i = 0; i < n; i++)
        if (m->landings == LAND_APART || !m->listed[i].apart) {
            invite(m, rank, &m->listed[i]);
            m->n_landed++;
        }
}

void model_prepare_landings(struct model *m)
{
    size_t slots = m->schedule->footprint.slots, all = m->P * slots;
    size_t *room = allocate(2 * (size_t)m->P, sizeof *room);

    if (all + 1 > m->landed_allocated) {
        m->landed_allocated = all + 1;
        m->landed = reallocate(m->landed, m->landed_allocated, sizeof *m->landed);
    }
    if (slots + 1 > m->listed_allocated) {
        m->listed_allocated = slots + 1;
        m->listed = reallocate(m->listed, m->listed_allocated, sizeof *m->listed);
    }
    memset(m->landed, 0, all * sizeof *m->landed);
    for (unsigned rank = 0; rank < m->P && m->traced; rank++)
        prepare_rank(m, rank, room);
    if (m->mistaken.count > 0 && m->traced)
        invite(m, m->mistaken_rank, &m->mistaken);
    free(room);
}

bool model_land(struct model *m, unsigned rank, unsigned slot, const struct message *message)
{
    const struct landing *landing = &m->landed[(size_t)rank * m->schedule->footprint.slots + slot];
    size_t first = m->places[rank].out.first + landing->at;

    if (landing->count == 0)
        return true;
    if (landing->count != message->count)
        return model_fault(m, rank, "%u elements of slot %u land where there is room for %zu",
                           message->count, slot, landing->count);
    for (size_t i = 0; i < landing->count; i++) {
        m->cells[first + i] = m->carried[message->values + i];
        m->marks[first + i] &= (uint8_t)~MARK_INVITED;
        m->marks[first + i] |= MARK_LANDED | MARK_WRITTEN;
    }
    return true;
}
