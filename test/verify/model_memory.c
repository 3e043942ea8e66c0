/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model's memory: kept from one run to the next, cleared in between.
 */
#include <string.h>

#include "test/verify/memory.h"
#include "test/verify/model.h"

static void *room(void *memory, size_t *allocated, size_t count, size_t size)
{
    if (count <= *allocated && memory != NULL)
        return memory;
    *allocated = count;
    return reallocate(memory, count, size);
}

/* Lays out scratch, IN and OUT of all ranks. */
static void prepare_cells(struct model *m, const struct schedule *s)
{
    size_t scratch = m->P * s->footprint.scratch, end = scratch, row = 0;

    if (s->shape.counts != NULL) {
        row = 2 * ((size_t)m->P + 1);
        m->starts = room(m->starts, &m->starts_allocated, m->P * row, sizeof *m->starts);
    }
    m->in_longest = 0;
    for (unsigned rank = 0; rank < m->P; rank++) {
        struct shape g = shape_on_rank(&s->shape, rank);
        end = places_set(&m->places[rank], &g, m->placed_as == PLACED_APART, end,
                         row > 0 ? m->starts + rank * row : NULL);
        if (m->places[rank].in.size > m->in_longest)
            m->in_longest = m->places[rank].in.size;
    }
    m->traced = end <= CELLS_MAX || m->P <= TRACE_P || m->all_data;
    if (!m->traced)
        return;
    if (end > m->cells_allocated || m->marks == NULL)
        m->marks = reallocate(m->marks, end, sizeof *m->marks);
    m->cells = room(m->cells, &m->cells_allocated, end, sizeof *m->cells);
    memset(m->marks, 0, end * sizeof *m->marks);
}

/* Cuts off the portion. Of each of its elements the contributions are kept, and as many steps that
 * combine them. One portion has all elements if they are few, or not traced, or only copied. */
static void prepare_portion(struct model *m, const struct schedule *s, size_t first)
{
    size_t element = 2 * m->P * values_bytes(m->P), most = PORTION_BYTES / element + 1;
    bool whole = !m->traced || !reduces(s->shape.collective);

    if (m->portion_most > 0)
        most = m->portion_most;
    m->portion.end = whole || m->in_longest - first <= most ? m->in_longest : first + most;
    if (m->traced && reduces(s->shape.collective))
        values_reset(&m->values, m->P, first, m->portion.end - first);
}

static void prepare_looks(struct model *m, const struct schedule *s)
{
    size_t looks = s->properties & SHARES ? (size_t)m->P * model_looks_most(m) : 0;

    m->looked = room(m->looked, &m->looked_allocated, looks, sizeof *m->looked);
}

static void prepare_actors(struct model *m, const struct schedule *s)
{
    size_t steps = 0;

    memset(m->actors, 0, m->P * sizeof *m->actors);
    for (unsigned rank = 0; rank < m->P && m->calls > 1; rank++)
        steps += s->ranks[rank].count;
    m->vital = room(m->vital, &m->vital_allocated, steps, sizeof *m->vital);
    if (m->calls > m->schedule->halves) {
        m->from_arrived.all =
            room(m->from_arrived.all, &m->sources_allocated[0], steps, sizeof *m->from_arrived.all);
        m->from_scratch.all =
            room(m->from_scratch.all, &m->sources_allocated[1], steps, sizeof *m->from_scratch.all);
    }
    for (unsigned rank = m->P; rank-- > 0;) {
        steps -= m->calls > 1 ? s->ranks[rank].count : 0;
        m->actors[rank].vital = m->vital + steps;
        m->actors[rank].snapshot = NO_ROW;
    }
}

void model_prepare(struct model *m, const struct schedule *s, size_t first)
{
    unsigned P = s->shape.size;

    m->schedule = s;
    m->P = P;
    m->portion.first = first;
    if (P > m->P_allocated) {
        m->actors = reallocate(m->actors, P, sizeof *m->actors);
        m->ready = reallocate(m->ready, P, sizeof *m->ready);
        m->places = reallocate(m->places, P, sizeof *m->places);
        m->from_arrived.first = reallocate(m->from_arrived.first, P + 1, sizeof(unsigned));
        m->from_scratch.first = reallocate(m->from_scratch.first, P + 1, sizeof(unsigned));
        m->P_allocated = P;
    }
    m->calls = model_is_ordered(m) && m->placed_as == PLACED_NONE ? CALLS : 1;
    m->n_messages = (size_t)P * s->footprint.slots;
    for (unsigned call = 0; call < m->calls; call++)
        m->messages[call] = room(m->messages[call], &m->messages_allocated[call], m->n_messages,
                                 sizeof *m->messages[call]);
    prepare_actors(m, s);
    prepare_looks(m, s);
    prepare_cells(m, s);
    prepare_portion(m, s, first);
    if (m->placed_as != PLACED_NONE)
        model_prepare_placed(m);
    if (model_is_ordered(m)) {
        m->clocks = room(m->clocks, &m->clocks_allocated, (size_t)P * P, sizeof *m->clocks);
        memset(m->clocks, 0, (size_t)P * P * sizeof *m->clocks);
    }
    m->n_carried = m->n_rows = 0;
}

void model_free(struct model *m)
{
    free(m->has_place);
    free(m->actors);
    free(m->clocks);
    free(m->rows);
    for (unsigned call = 0; call < CALLS; call++)
        free(m->messages[call]);
    free(m->ready);
    free(m->room.steps);
    free(m->looked);
    free(m->vital);
    free(m->from_arrived.all);
    free(m->from_arrived.first);
    free(m->from_scratch.all);
    free(m->from_scratch.first);
    values_free(&m->values);
    free(m->places);
    free(m->starts);
    free(m->cells);
    free(m->marks);
    free(m->carried);
    free(m->placed);
    free(m->listed);
    *m = (struct model){.all_data = m->all_data,
                        .portion_most = m->portion_most,
                        .steps = m->steps,
                        .edges = m->edges,
                        .n_placed = m->n_placed};
}
