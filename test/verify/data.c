/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model's data: what local steps and puts read and write, and whether they may.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "test/verify/memory.h"
#include "test/verify/model.h"

bool model_fault(struct model *m, unsigned rank, const char *format, ...)
{
    int n = snprintf(m->fault, sizeof m->fault, "rank %u, step %u: ", rank, m->actors[rank].next);
    va_list args;

    va_start(args, format);
    vsnprintf(m->fault + n, sizeof m->fault - (size_t)n, format, args);
    va_end(args);
    return false;
}

static unsigned *scratch_of(const struct model *m, unsigned rank)
{
    return m->scratch + rank * m->schedule->footprint.scratch;
}

static uint8_t *marks_of(const struct model *m, unsigned rank)
{
    return m->marks + rank * m->schedule->footprint.scratch;
}

static unsigned *out_of(const struct model *m, unsigned rank)
{
    return m->out + rank * m->schedule->shape.count;
}

static bool inside(size_t offset, size_t count, size_t size)
{
    return count <= size && offset <= size - count;
}

/* Whether a rank may read count elements there. */
static bool check_read(struct model *m, unsigned rank, struct ref ref, size_t count)
{
    const struct schedule *s = m->schedule;
    const struct message *message;

    switch (ref.buffer) {
    case BUF_IN:
        return inside(ref.offset, count, s->shape.count) ||
               model_fault(m, rank, "reads beyond the end of IN");
    case BUF_OUT:
        return inside(ref.offset, count, s->shape.count) ||
               model_fault(m, rank, "reads beyond the end of OUT");
    case BUF_SCRATCH:
        return inside(ref.offset, count, s->footprint.scratch) ||
               model_fault(m, rank, "reads scratch beyond the footprint");
    case BUF_LANDED:
        if (ref.slot >= s->footprint.slots)
            return model_fault(m, rank, "reads slot %u beyond the footprint", ref.slot);
        message = model_message(m, m->call, rank, ref.slot);
        if (!message->waited)
            return model_fault(m, rank, "reads slot %u before waiting for it", ref.slot);
        return inside(ref.offset, count, message->count) ||
               model_fault(m, rank, "reads beyond the end of the message in slot %u", ref.slot);
    }
    return model_fault(m, rank, "reads an unknown buffer");
}

/* Whether a rank may write count elements there. */
static bool check_write(struct model *m, unsigned rank, struct ref ref, size_t count)
{
    const struct schedule *s = m->schedule;

    switch (ref.buffer) {
    case BUF_IN:
        return model_fault(m, rank, "writes IN");
    case BUF_LANDED:
        return model_fault(m, rank, "writes the landed message of slot %u", ref.slot);
    case BUF_OUT:
        return inside(ref.offset, count, s->shape.count) ||
               model_fault(m, rank, "writes beyond the end of OUT");
    case BUF_SCRATCH:
        if (!inside(ref.offset, count, s->footprint.scratch))
            return model_fault(m, rank, "writes scratch beyond the footprint");
        for (size_t i = ref.offset; i < ref.offset + count; i++)
            if (marks_of(m, rank)[i] & MARK_SENT)
                return model_fault(m, rank, "overwrites scratch %zu, which a put sends", i);
        return true;
    }
    return model_fault(m, rank, "writes an unknown buffer");
}

/* IN may be the memory of OUT: it is gone once OUT is written. */
static bool check_in_still_there(struct model *m, unsigned rank, const struct step *s,
                                 struct ref ref)
{
    if (ref.buffer != BUF_IN || !m->actors[rank].out_written)
        return true;
    bool same_place =
        s->kind != STEP_PUT && s->dst.buffer == BUF_OUT && s->dst.offset == ref.offset;
    for (size_t i = 0; i < s->count && same_place; i++)
        same_place = out_of(m, rank)[ref.offset + i] == VALUE_NONE;
    return same_place || model_fault(m, rank, "reads IN after OUT was written");
}

/* An operand is exactly the destination or does not touch it. */
static bool check_overlap(struct model *m, unsigned rank, const struct step *s, struct ref ref)
{
    bool apart = ref.buffer != s->dst.buffer || ref.offset == s->dst.offset ||
                 ref.offset + s->count <= s->dst.offset || s->dst.offset + s->count <= ref.offset;
    return apart || model_fault(m, rank, "an operand overlaps the destination");
}

static unsigned value_at(struct model *m, unsigned rank, struct ref ref, size_t i)
{
    i += ref.offset;
    switch (ref.buffer) {
    case BUF_IN:
        return value_leaf(&m->values, rank, (unsigned)i);
    case BUF_OUT:
        return out_of(m, rank)[i];
    case BUF_SCRATCH:
        marks_of(m, rank)[i] &= (uint8_t)~MARK_UNREAD;
        return scratch_of(m, rank)[i];
    default:
        return m->carried[model_message(m, m->call, rank, ref.slot)->values + i];
    }
}

static bool local_element(struct model *m, unsigned rank, const struct step *s, size_t i)
{
    unsigned a = value_at(m, rank, s->a, i), b = value_at(m, rank, s->b, i);
    unsigned *dst = s->dst.buffer == BUF_OUT ? out_of(m, rank) : scratch_of(m, rank);

    if (a == VALUE_NONE || b == VALUE_NONE)
        return model_fault(m, rank, "reads what was never written");
    if (m->values.all[a].element != m->values.all[b].element)
        return model_fault(m, rank, "combines element %u with element %u", m->values.all[a].element,
                           m->values.all[b].element);
    if (s->kind == STEP_REDUCE)
        a = value_reduce(&m->values, a, b);
    else if (s->kind == STEP_TAKEOUT && (a = value_takeout(&m->values, a, b)) == VALUE_NONE)
        return model_fault(m, rank, "takes out what is not contained");
    if (s->dst.buffer == BUF_SCRATCH) {
        if (marks_of(m, rank)[s->dst.offset + i] & MARK_UNREAD)
            return model_fault(m, rank, "overwrites scratch that was not read");
        marks_of(m, rank)[s->dst.offset + i] |= MARK_UNREAD;
    }
    dst[s->dst.offset + i] = a;
    return true;
}

bool model_local_step(struct model *m, unsigned rank, const struct step *s)
{
    if (s->kind != STEP_REDUCE && s->kind != STEP_TAKEOUT && s->kind != STEP_COPY)
        return model_fault(m, rank, "unknown kind of step");
    if (s->count == 0)
        return model_fault(m, rank, "a local step on no elements");
    if (s->kind == STEP_TAKEOUT && !m->schedule->shape.inverse)
        return model_fault(m, rank, "takes out, but the operation has no inverse");
    if (!check_read(m, rank, s->a, s->count) || !check_read(m, rank, s->b, s->count) ||
        !check_write(m, rank, s->dst, s->count) || !check_in_still_there(m, rank, s, s->a) ||
        !check_in_still_there(m, rank, s, s->b) || !check_overlap(m, rank, s, s->a) ||
        !check_overlap(m, rank, s, s->b))
        return false;
    for (size_t i = 0; i < s->count; i++)
        if (!local_element(m, rank, s, i))
            return false;
    m->actors[rank].out_written |= s->dst.buffer == BUF_OUT;
    if (s->dst.buffer == BUF_SCRATCH && s->dst.offset + s->count > m->scratch_used)
        m->scratch_used = s->dst.offset + s->count;
    return true;
}

bool model_put_data(struct model *m, unsigned rank, const struct step *s, struct message *message)
{
    if (s->a.buffer == BUF_OUT || s->a.buffer == BUF_LANDED)
        return model_fault(m, rank, "puts from OUT or a landed message");
    if (s->count > m->schedule->footprint.message)
        return model_fault(m, rank, "message longer than the footprint");
    if (!check_read(m, rank, s->a, s->count) || !check_in_still_there(m, rank, s, s->a))
        return false;
    if (m->n_carried + s->count > m->carried_allocated) {
        m->carried_allocated = 2 * (m->n_carried + s->count) + 1024;
        m->carried = reallocate(m->carried, m->carried_allocated, sizeof *m->carried);
    }
    message->values = (unsigned)m->n_carried;
    m->n_carried += s->count;
    for (size_t i = 0; i < s->count; i++) {
        unsigned value = value_at(m, rank, s->a, i);
        if (value == VALUE_NONE)
            return model_fault(m, rank, "puts what was never written");
        m->carried[message->values + i] = value;
        if (s->a.buffer == BUF_SCRATCH)
            marks_of(m, rank)[s->a.offset + i] |= MARK_SENT;
    }
    if (s->count > m->message_used)
        m->message_used = s->count;
    return true;
}

/* ------------------------------------------------------------------ results ------------------- */

static bool check_contributions(struct model *m, unsigned rank, unsigned value)
{
    const uint8_t *times = value_multiplicities(&m->values, value);
    bool once = !(m->schedule->properties & NEEDS_IDEMPOTENT), all = true;

    for (unsigned q = 0; q < m->P; q++)
        all &= once ? times[q] == 1 : times[q] >= 1;
    for (unsigned q = 0; q < m->P && !all; q++)
        if (times[q] == 0 || (once && times[q] > 1))
            return model_fault(m, rank, "the result has the contribution of rank %u %u times", q,
                               times[q]);
    return true;
}

/* Work in vain is taken for a mistake. */
static bool check_all_read(struct model *m)
{
    for (unsigned rank = 0; rank < m->P; rank++)
        for (size_t i = 0; i < m->schedule->footprint.scratch; i++)
            if (marks_of(m, rank)[i] & MARK_UNREAD)
                return model_fault(m, rank, "scratch %zu is written but not read", i);
    return true;
}

bool model_check_results(struct model *m)
{
    const struct schedule *s = m->schedule;

    for (unsigned rank = 0; rank < m->P; rank++)
        for (size_t i = 0; i < s->shape.count; i++) {
            unsigned value = out_of(m, rank)[i];
            const struct value *v = &m->values.all[value];
            if (value == VALUE_NONE)
                return model_fault(m, rank, "element %zu of OUT was never written", i);
            if (v->element != i)
                return model_fault(m, rank, "element %zu of OUT holds element %u", i, v->element);
            if (!check_contributions(m, rank, value))
                return false;
            if (!(s->properties & NEEDS_COMMUTATIVE) && (v->first != 0 || v->last + 1 != m->P))
                return model_fault(m, rank, "the result is not combined in rank order");
            if (s->properties & GIVES_SAME_BITS && value != out_of(m, 0)[i])
                return model_fault(m, rank, "evaluates another expression than rank 0");
        }
    return check_all_read(m);
}
