/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The results that a collective has to give: the table of algos/schedule.h, element by element.
 */
#include "test/verify/model.h"

#include <stdlib.h>

#include "test/verify/memory.h"

/* Contributions of ranks first..last to an element of IN. */
struct expected {
    unsigned first, last;
    size_t element;
};

/* Returns what element i of OUT is to be on a rank, for collectives that combine. */
static struct expected expected_of(const struct model *m, unsigned rank, size_t i)
{
    switch (m->schedule->shape.collective) {
    case COLL_SCAN:
        return (struct expected){0, rank, i};
    case COLL_EXSCAN:
        return (struct expected){0, rank - 1, i};
    case COLL_REDUCE_SCATTER:
        return (struct expected){0, m->P - 1, side_start(&m->places[rank].in, rank) + i};
    default:
        return (struct expected){0, m->P - 1, i};
    }
}

/* The block of OUT that element i is in. */
static unsigned block_of(const struct side *out, unsigned P, size_t i)
{
    unsigned first = 0, end = P;

    if (out->starts == NULL)
        return (unsigned)(i / out->block);
    while (end - first > 1) {
        unsigned middle = (first + end) / 2;
        if (out->starts[middle] <= i)
            first = middle;
        else
            end = middle;
    }
    return first;
}

/* Which rank's IN element i of OUT comes from, and where it is there, for those that copy. */
static unsigned source_of(const struct model *m, unsigned rank, size_t i)
{
    const struct shape *g = &m->schedule->shape;
    const struct side *out = &m->places[rank].out;

    if (g->collective == COLL_BCAST)
        return model_leaf_of_copy(m, g->root, i);
    if (g->collective == COLL_SCATTER)
        return model_leaf_of_copy(m, g->root, side_start(&m->places[g->root].in, rank) + i);
    unsigned q = block_of(out, m->P, i);
    i -= side_start(out, q);
    if (g->collective == COLL_ALLTOALL)
        i += side_start(&m->places[q].in, rank);
    return model_leaf_of_copy(m, q, i);
}

static bool check_copied(struct model *m, unsigned rank, size_t i, unsigned value)
{
    unsigned expected = source_of(m, rank, i);

    return value == expected ||
           model_fault(m, rank,
                       "element %zu of OUT is element %zu of rank %u, not element %zu of rank %u",
                       i, (value - 1) % m->in_longest, (unsigned)((value - 1) / m->in_longest),
                       (expected - 1) % m->in_longest, (unsigned)((expected - 1) / m->in_longest));
}

/* Returns the sum of the weights of all ranks that take part. */
static uint64_t sum_of_places(const struct model *m)
{
    uint64_t sum = 0;

    for (unsigned q = 0; q < m->P; q++)
        sum += m->has_place[q] ? m->values.weights[q + 1] - m->values.weights[q] : 0;
    return sum;
}

static bool check_contributions(struct model *m, unsigned rank, struct expected e, unsigned value)
{
    const uint8_t *times = value_multiplicities(&m->values, value);
    const struct values *v = &m->values;
    bool once = !(m->schedule->properties & NEEDS_IDEMPOTENT);
    uint64_t sum = m->schedule->shape.places > 0 ? sum_of_places(m)
                                                 : v->weights[e.last + 1] - v->weights[e.first];

    if (v->width == 0 && once && v->all[value].sum != sum)
        return model_fault(m, rank, "the result has not each contribution once");
    for (unsigned q = 0; q < v->width; q++) {
        bool wanted = q >= e.first && q <= e.last && m->has_place[q];
        if (wanted ? times[q] == 0 || (once && times[q] > 1) : times[q] > 0)
            return model_fault(m, rank, "the result has the contribution of rank %u %u times", q,
                               times[q]);
    }
    return true;
}

static bool check_combined(struct model *m, unsigned rank, size_t i, unsigned value)
{
    const struct value *v = &m->values.all[value == VALUE_OTHER ? VALUE_NONE : value];
    unsigned properties = m->schedule->properties;
    struct expected e = expected_of(m, rank, i);

    if (!model_in_portion(m, e.element))
        return value == VALUE_OTHER ||
               model_fault(m, rank, "element %zu of OUT holds element %u", i, v->element);
    if (value == VALUE_OTHER)
        return model_fault(m, rank, "element %zu of OUT holds another element", i);
    if (v->element != e.element)
        return model_fault(m, rank, "element %zu of OUT holds element %u", i, v->element);
    if (!check_contributions(m, rank, e, value))
        return false;
    if (!(properties & NEEDS_COMMUTATIVE) && (v->first != e.first || v->last != e.last))
        return model_fault(m, rank, "the result is not combined in rank order");
    /* no other collective gives an element to several ranks */
    if (properties & GIVES_SAME_BITS && m->schedule->shape.collective == COLL_ALLREDUCE &&
        value != m->cells[m->places[0].out.first + i])
        return model_fault(m, rank, "evaluates another expression than rank 0");
    return true;
}

/* Work in vain is taken for a mistake, except on the room behind a padded block. */
static bool check_all_read(struct model *m)
{
    size_t scratch = m->schedule->footprint.scratch;

    for (unsigned rank = 0; rank < m->P; rank++)
        for (size_t i = 0; i < scratch; i++)
            if (m->marks[rank * scratch + i] & MARK_UNREAD &&
                m->cells[rank * scratch + i] != VALUE_NONE)
                return model_fault(m, rank, "scratch %zu is written but not read", i);
    return true;
}

static bool check_rank(struct model *m, unsigned rank)
{
    const struct side *out = &m->places[rank].out;
    bool combined = reduces(m->schedule->shape.collective);

    for (size_t i = 0; i < out->size; i++) {
        unsigned value = m->cells[out->first + i];
        if (!(m->marks[out->first + i] & MARK_WRITTEN))
            return model_fault(m, rank, "element %zu of OUT was never written", i);
        if (combined ? !check_combined(m, rank, i, value) : !check_copied(m, rank, i, value))
            return false;
    }
    return true;
}

/* Marks the ranks that take part. */
static void mark_places(struct model *m)
{
    m->has_place = reallocate(m->has_place, m->P, sizeof *m->has_place);
    for (unsigned rank = 0; rank < m->P; rank++) {
        struct shape g = shape_on_rank(&m->schedule->shape, rank);
        m->has_place[rank] = takes_part(&g);
    }
}

/* Ranks that take no part have no OUT, and no steps: there is nothing that they might wait for. */
static bool check_left_out(struct model *m)
{
    struct program room = {0};
    unsigned rank = 0;

    for (; rank < m->P; rank++) {
        const struct program *first =
            m->has_place[rank] ? NULL : schedule_part(m->schedule, rank, 0, &room);
        if (first != NULL && first->count > 0)
            break;
    }
    free(room.steps);
    return rank == m->P || model_fault(m, rank, "has steps, and takes no part");
}

bool model_check_results(struct model *m)
{
    mark_places(m);
    for (unsigned rank = 0; rank < m->P; rank++)
        if (!check_rank(m, rank))
            return false;
    return check_left_out(m) && check_all_read(m);
}
