/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model's data: what local steps and puts read and write, and whether they may.
 */
#include <stdarg.h>
#include <stdio.h>

#include "test/verify/memory.h"
#include "test/verify/model.h"

/* The place of an operand's elements: the first of them in its buffer, and its cell. An arrived
 * message has no cells, but lies among what was carried. */
struct spot {
    enum buffer buffer;
    size_t offset, cell;
    bool in_out; /* a message that was placed in OUT, where it has cells */
};

bool model_fault(struct model *m, unsigned rank, const char *format, ...)
{
    int n = snprintf(m->fault, sizeof m->fault, "rank %u, step %u: ", rank, m->actors[rank].next);
    va_list args;

    va_start(args, format);
    vsnprintf(m->fault + n, sizeof m->fault - (size_t)n, format, args);
    va_end(args);
    return false;
}

static bool inside(size_t offset, size_t count, size_t size)
{
    return count <= size && offset <= size - count;
}

static bool find_placed_message(struct model *m, unsigned rank, struct ref ref, size_t count,
                                struct spot *spot)
{
    if (ref.slot >= m->schedule->footprint.slots)
        return model_fault(m, rank, "reads slot %u beyond the footprint", ref.slot);
    const struct message *message = model_message(m, m->call, rank, ref.slot);
    if (!message->waited)
        return model_fault(m, rank, "reads slot %u before waiting for it", ref.slot);
    if (!inside(ref.offset, count, message->count))
        return model_fault(m, rank, "reads beyond the end of the message in slot %u", ref.slot);
    spot->cell = message->values + ref.offset;
    if (m->placed_as == PLACED_NONE || message->count == 0)
        return true;
    const struct placed *placed =
        &m->placed[(size_t)rank * m->schedule->footprint.slots + ref.slot];
    spot->in_out = placed->count > 0;
    if (spot->in_out)
        spot->cell = m->places[rank].out.first + placed->at + ref.offset;
    return true;
}

static bool has_looked(const struct model *m, unsigned rank, unsigned at, unsigned slot)
{
    const struct looked *looked = model_looked(m, rank);

    for (unsigned i = 0; i < m->actors[rank].looks; i++)
        if (looked[i].at == at && looked[i].slot == slot)
            return true;
    return false;
}

static bool find_near(struct model *m, unsigned rank, struct ref ref, size_t count,
                      struct spot *spot)
{
    unsigned neighbours = m->actors[rank].neighbours;

    if (ref.rank >= m->P || ref.slot >= m->schedule->footprint.slots ||
        !has_looked(m, rank, ref.rank, ref.slot))
        return model_fault(m, rank, "reads slot %u of rank %u before looking at it", ref.slot,
                           ref.rank);
    if (neighbours > NEIGHBOURS_MAX)
        return model_fault(m, rank, "looks at slots of %u neighbours", neighbours);
    const struct message *message = model_message(m, m->call, ref.rank, ref.slot);
    if (!inside(ref.offset, count, message->count))
        return model_fault(m, rank, "reads beyond the end of the message in slot %u", ref.slot);
    if (m->placed_as != PLACED_NONE && message->count > 0 &&
        m->placed[(size_t)ref.rank * m->schedule->footprint.slots + ref.slot].count > 0)
        return model_fault(m, rank, "reads slot %u of rank %u, which lands in its OUT", ref.slot,
                           ref.rank);
    spot->buffer = BUF_ARRIVED;
    spot->cell = message->values + ref.offset;
    return true;
}

static bool find(struct model *m, unsigned rank, const char *verb, struct ref ref, size_t count,
                 struct spot *spot)
{
    const struct places *places = &m->places[rank];
    size_t scratch = m->schedule->footprint.scratch;

    *spot = (struct spot){.buffer = ref.buffer, .offset = ref.offset};
    switch (ref.buffer) {
    case BUF_IN:
        spot->cell = places->in.first;
        if (!side_find(&places->in, m->P, ref, count, &spot->offset))
            return model_fault(m, rank, "%s IN where there is none", verb);
        break;
    case BUF_OUT:
        spot->cell = places->out.first;
        if (!side_find(&places->out, m->P, ref, count, &spot->offset))
            return model_fault(m, rank, "%s OUT where there is none", verb);
        break;
    case BUF_SCRATCH:
        spot->cell = rank * scratch;
        if (!inside(ref.offset, count, scratch))
            return model_fault(m, rank, "%s scratch beyond the footprint", verb);
        break;
    case BUF_ARRIVED:
        return find_placed_message(m, rank, ref, count, spot);
    case BUF_NEIGHBOUR:
        return find_near(m, rank, ref, count, spot);
    default:
        return model_fault(m, rank, "%s an unknown buffer", verb);
    }
    spot->cell += spot->offset;
    return true;
}

/* Data that a put sends may not be written; but that of IN may, which only OUT can do, in place:
 * such puts are sent from a copy. */
static bool find_destination(struct model *m, unsigned rank, const struct step *s, struct spot *dst)
{
    if (s->dst.buffer == BUF_IN)
        return model_fault(m, rank, "writes IN");
    if (s->dst.buffer == BUF_ARRIVED || s->dst.buffer == BUF_NEIGHBOUR)
        return model_fault(m, rank, "writes the landed message of slot %u", s->dst.slot);
    if (!find(m, rank, "writes", s->dst, s->count, dst))
        return false;
    for (size_t i = 0; i < s->count; i++)
        if (m->marks[dst->cell + i] & (MARK_SENT_OUT | MARK_SENT_SCRATCH))
            return model_fault(m, rank, "overwrites element %zu of %s, which a put sends",
                               dst->offset + i, dst->buffer == BUF_OUT ? "OUT" : "scratch");
        else if (m->marks[dst->cell + i] & (MARK_ADVERTISED | MARK_PLACED))
            return model_fault(m, rank, "writes element %zu of OUT, where a message lands",
                               dst->offset + i);
    return true;
}

/* An operand is exactly the destination or does not touch it. */
static bool check_overlap(struct model *m, unsigned rank, size_t count, const struct spot *a,
                          const struct spot *dst)
{
    bool apart = a->buffer == BUF_ARRIVED || a->cell == dst->cell || a->cell + count <= dst->cell ||
                 dst->cell + count <= a->cell;
    return apart || model_fault(m, rank, "an operand overlaps the destination");
}

/* IN holds what it held at first: in place, until something else is written there. */
static bool in_value(struct model *m, unsigned rank, const struct spot *spot, size_t i,
                     unsigned *out)
{
    size_t cell = spot->cell + i;

    *out = model_leaf(m, rank, spot->offset + i);
    return !(m->marks[cell] & MARK_WRITTEN) || m->cells[cell] == *out ||
           model_fault(m, rank, "reads element %zu of IN after OUT was written there",
                       spot->offset + i);
}

static bool value_at(struct model *m, unsigned rank, const struct spot *spot, size_t i,
                     unsigned *out)
{
    size_t cell = spot->cell + i;

    if ((spot->buffer == BUF_IN || spot->buffer == BUF_OUT) && m->marks[cell] & MARK_ADVERTISED)
        return model_fault(m, rank, "reads element %zu of %s, where a message may land",
                           spot->offset + i, spot->buffer == BUF_IN ? "IN" : "OUT");
    switch (spot->buffer) {
    case BUF_IN:
        return in_value(m, rank, spot, i, out);
    case BUF_ARRIVED:
        *out = spot->in_out ? m->cells[cell] : m->carried[cell];
        return true;
    default:
        m->marks[cell] &= (uint8_t)~MARK_UNREAD;
        *out = m->cells[cell];
        return m->marks[cell] & MARK_WRITTEN ||
               model_fault(m, rank, "reads element %zu of %s, which was never written",
                           spot->offset + i, spot->buffer == BUF_OUT ? "OUT" : "scratch");
    }
}

static bool combine(struct model *m, unsigned rank, enum step_kind kind, unsigned a, unsigned b,
                    unsigned *out)
{
    const struct value *all = m->values.all;

    *out = VALUE_OTHER;
    if (a == VALUE_OTHER && b == VALUE_OTHER)
        return true;
    if (a == VALUE_OTHER || b == VALUE_OTHER)
        return model_fault(m, rank, "combines element %u with another one",
                           all[a == VALUE_OTHER ? b : a].element);
    if (all[a].element != all[b].element)
        return model_fault(m, rank, "combines element %u with element %u", all[a].element,
                           all[b].element);
    *out = kind == STEP_REDUCE ? value_reduce(&m->values, a, b) : value_takeout(&m->values, a, b);
    return *out != VALUE_NONE || model_fault(m, rank, "takes out what is not contained");
}

/* True if this is room for a longer block, which was never written: with counts of their own,
 * blocks are padded on their way. */
static bool is_padding(const struct model *m, const struct spot *a, size_t i)
{
    return m->schedule->shape.sends != NULL && m->schedule->properties & PADS_BLOCKS &&
           a->buffer == BUF_SCRATCH && !(m->marks[a->cell + i] & MARK_WRITTEN);
}

static bool local_element(struct model *m, unsigned rank, enum step_kind kind, const struct spot *a,
                          const struct spot *b, const struct spot *dst, size_t i)
{
    unsigned va, vb;

    if (kind == STEP_COPY && is_padding(m, a, i))
        va = VALUE_NONE;
    else if (!value_at(m, rank, a, i, &va) || !value_at(m, rank, b, i, &vb) ||
             (kind != STEP_COPY && !combine(m, rank, kind, va, vb, &va)))
        return false;
    if (dst->buffer == BUF_SCRATCH) {
        if (m->marks[dst->cell + i] & MARK_UNREAD)
            return model_fault(m, rank, "overwrites scratch that was not read");
        m->marks[dst->cell + i] |= MARK_UNREAD;
    }
    m->marks[dst->cell + i] |= MARK_WRITTEN;
    m->cells[dst->cell + i] = va;
    return true;
}

/* The copy of a landed message to where it has landed. */
static bool is_left_out(struct model *m, unsigned rank, const struct step *s, const struct spot *a)
{
    struct spot dst;

    return s->dst.buffer == BUF_OUT && find(m, rank, "writes", s->dst, s->count, &dst) &&
           dst.cell == a->cell;
}

bool model_local_step(struct model *m, unsigned rank, const struct step *s)
{
    struct footprint *used = &m->actors[rank].used;
    struct spot a, b, dst;

    if (s->kind != STEP_REDUCE && s->kind != STEP_TAKEOUT && s->kind != STEP_COPY)
        return model_fault(m, rank, "unknown kind of step");
    if (s->count == 0)
        return model_fault(m, rank, "a local step on no elements");
    if (s->kind != STEP_COPY && !reduces(m->schedule->shape.collective))
        return model_fault(m, rank, "combines in a collective that only copies");
    if (s->kind == STEP_TAKEOUT && !m->schedule->shape.inverse)
        return model_fault(m, rank, "takes out, but the operation has no inverse");
    if (!find(m, rank, "reads", s->a, s->count, &a) || !find(m, rank, "reads", s->b, s->count, &b))
        return false;
    if (s->kind == STEP_COPY && a.in_out && is_left_out(m, rank, s, &a))
        return true;
    if (a.in_out || b.in_out)
        return model_fault(m, rank, "is not left out, but reads slot %u, which lands in OUT",
                           a.in_out ? s->a.slot : s->b.slot);
    if (!find_destination(m, rank, s, &dst) || !check_overlap(m, rank, s->count, &a, &dst) ||
        !check_overlap(m, rank, s->count, &b, &dst))
        return false;
    if (s->kind != STEP_COPY || a.cell != dst.cell || a.buffer == BUF_ARRIVED)
        model_note_overwriting(m, rank, dst.cell, s->count);
    for (size_t i = 0; i < s->count; i++)
        if (!local_element(m, rank, s->kind, &a, &b, &dst, i))
            return false;
    if (dst.buffer == BUF_SCRATCH && dst.offset + s->count > used->scratch)
        used->scratch = dst.offset + s->count;
    return true;
}

static void mark_sent(struct model *m, unsigned rank, enum buffer buffer, size_t cell)
{
    uint8_t mark = buffer == BUF_IN    ? MARK_SENT_IN
                   : buffer == BUF_OUT ? MARK_SENT_OUT
                                       : MARK_SENT_SCRATCH;

    if (mark != MARK_SENT_SCRATCH && !(m->marks[cell] & mark))
        m->actors[rank].used.sent++;
    m->marks[cell] |= mark;
}

bool model_put_data(struct model *m, unsigned rank, const struct step *s, struct message *message)
{
    struct spot a;

    if (s->count > m->schedule->footprint.message)
        return model_fault(m, rank, "message longer than the footprint");
    if (s->a.buffer == BUF_NEIGHBOUR)
        return model_fault(m, rank, "puts what lies in the window of rank %u", s->a.rank);
    if (!find(m, rank, "puts", s->a, s->count, &a))
        return false;
    if (m->n_carried + s->count > m->carried_allocated) {
        m->carried_allocated = 2 * (m->n_carried + s->count) + 1024;
        m->carried = reallocate(m->carried, m->carried_allocated, sizeof *m->carried);
    }
    if (a.buffer == BUF_IN)
        model_read_in_place(m, message, a.cell);
    message->values = m->n_carried;
    m->n_carried += s->count;
    for (size_t i = 0; i < s->count; i++) {
        unsigned *value = &m->carried[message->values + i];
        if (is_padding(m, &a, i))
            *value = VALUE_NONE;
        else if (!value_at(m, rank, &a, i, value))
            return false;
        if (a.buffer != BUF_ARRIVED)
            mark_sent(m, rank, a.buffer, a.cell + i);
    }
    return true;
}
