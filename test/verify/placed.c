/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that the model places in OUT, at the worst of times.
 */
#include <string.h>

#include "test/verify/memory.h"
#include "test/verify/model.h"

/* Returns where the blocks start, for the library's own analysis; NULL for a vector. */
static const size_t *starts_of(const struct side *side, unsigned P, size_t *room)
{
    if (side->form != FORM_BLOCKS)
        return NULL;
    for (unsigned q = 0; q < P; q++)
        room[q] = side_start(side, q);
    return room;
}

static void advertise(struct model *m, unsigned rank, const struct placed *placed)
{
    size_t first = m->places[rank].out.first + placed->at;

    m->placed[(size_t)rank * m->schedule->footprint.slots + placed->slot] = *placed;
    for (size_t i = 0; i < placed->count; i++)
        m->marks[first + i] |= MARK_ADVERTISED;
}

static void prepare_rank(struct model *m, unsigned rank, size_t *room)
{
    const struct schedule *s = m->schedule;
    const struct places *p = &m->places[rank];
    struct shape g = shape_on_rank(&s->shape, rank);
    struct block_starts places = {{.at = starts_of(&p->in, m->P, room)},
                                  {.at = starts_of(&p->out, m->P, room + m->P)}};

    if (p->out.size == 0)
        return;
    unsigned n =
        ncoll__list_placed(&g, s->ranks[rank].steps, s->ranks[rank].count, places, 1, m->listed);
    for (unsigned i = 0; i < n; i++)
        if (m->placed_as == PLACED_APART || !m->listed[i].apart) {
            advertise(m, rank, &m->listed[i]);
            m->n_placed++;
        }
}

void model_prepare_placed(struct model *m)
{
    size_t slots = m->schedule->footprint.slots, all = m->P * slots;
    size_t *room = allocate(2 * (size_t)m->P, sizeof *room);

    if (all + 1 > m->placed_allocated) {
        m->placed_allocated = all + 1;
        m->placed = reallocate(m->placed, m->placed_allocated, sizeof *m->placed);
    }
    if (slots + 1 > m->listed_allocated) {
        m->listed_allocated = slots + 1;
        m->listed = reallocate(m->listed, m->listed_allocated, sizeof *m->listed);
    }
    memset(m->placed, 0, all * sizeof *m->placed);
    for (unsigned rank = 0; rank < m->P && m->traced; rank++)
        prepare_rank(m, rank, room);
    if (m->mistaken.count > 0 && m->traced)
        advertise(m, m->mistaken_rank, &m->mistaken);
    free(room);
}

bool model_place(struct model *m, unsigned rank, unsigned slot, const struct message *message)
{
    const struct placed *placed = &m->placed[(size_t)rank * m->schedule->footprint.slots + slot];
    size_t first = m->places[rank].out.first + placed->at;

    if (placed->count == 0)
        return true;
    if (placed->count != message->count)
        return model_fault(m, rank, "%u elements of slot %u land where there is room for %zu",
                           message->count, slot, placed->count);
    for (size_t i = 0; i < placed->count; i++) {
        m->cells[first + i] = m->carried[message->values + i];
        m->marks[first + i] &= (uint8_t)~MARK_ADVERTISED;
        m->marks[first + i] |= MARK_PLACED | MARK_WRITTEN;
    }
    return true;
}
