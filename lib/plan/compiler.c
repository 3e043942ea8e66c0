/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that all parts of the compiler need: they add an instruction, or find the place of an
 * operand. */
#include "lib/plan/compiler.h"

#include <string.h>

#include "lib/base/group.h"

/* Moves the program's instructions to memory for `capacity` of them. Returns false if there is no
 * memory. */
static bool resize(struct compiler *c, unsigned capacity)
{
    struct program *p = c->out;
    struct instruction *moved = ncoll__allocate(c->g->ctx, capacity * sizeof *moved);

    if (moved == NULL)
        return false;
    if (p->count > 0)
        memcpy(moved, p->instructions, p->count * sizeof *moved);
    ncoll__release(c->g->ctx, p->instructions);
    p->instructions = moved;
    p->capacity = capacity;
    return true;
}

void ncoll__compiler_reserve(struct compiler *c, unsigned capacity)
{
    if (capacity > c->out->capacity)
        c->failed |= !resize(c, capacity);
}

void ncoll__compiler_trim(struct compiler *c)
{
    if (!c->failed && c->out->count < c->out->capacity)
        resize(c, c->out->count);
}

static bool adjoins(struct operand a, struct operand b, size_t len_bytes)
{
    return a.base == b.base && a.offset + len_bytes == b.offset;
}

/* True if the memory that is written (dst) does not overlap the memory that is read (from), or is
 * the same. False for a copy from IN to OUT, since these buffers may overlap. */
static bool are_apart(struct operand dst, struct operand from, size_t len_bytes)
{
    if (dst.base == BASE_OUT && from.base == BASE_IN)
        return false;
    return dst.base != from.base || dst.offset == from.offset ||
           dst.offset + len_bytes <= from.offset || from.offset + len_bytes <= dst.offset;
}

/* Returns true if `next` can be joined to `last`: both copy or combine, and each operand of `next`
 * begins where that of `last` ends, as with blocks of different lengths that lie side by side. */
static bool goes_on(const struct instruction *last, const struct instruction *next)
{
    size_t len = last->len_bytes, both = len + next->len_bytes;

    if (last->kind != next->kind || last->routes != next->routes ||
        last->message_a != next->message_a || last->message_b != next->message_b ||
        !adjoins(last->dst, next->dst, len) || !adjoins(last->a, next->a, len) ||
        !are_apart(last->dst, last->a, both))
        return false;
    return next->kind == STEP_COPY ||
           (next->kind == STEP_REDUCE && adjoins(last->b, next->b, len) &&
            are_apart(last->dst, last->b, both));
}

void ncoll__compiler_add(struct compiler *c, struct instruction instruction)
{
    struct program *p = c->out;
    struct instruction *last = p->count > 0 ? &p->instructions[p->count - 1] : NULL;

    if (last != NULL && goes_on(last, &instruction)) {
        last->count += instruction.count;
        last->len_bytes += instruction.len_bytes;
        return;
    }
    if (p->count == p->capacity)
        ncoll__compiler_reserve(c, p->capacity + p->capacity / 8 + 16);
    if (!c->failed)
        p->instructions[p->count++] = instruction;
}

/* Returns the place in memory of `ref`, a part of a message that has arrived at this rank or at a
 * neighbour. counts: elements of the message in each slot. slots, bulk: bases of that rank's slots
 * and bulk memory. */
static struct operand arrived(const struct compiler *c, struct ref ref, const size_t *counts,
                              uint32_t slots, uint32_t bulk)
{
    size_t offset = ref.offset * c->plan->element;

    if (counts[ref.slot] * c->plan->element > SLOT_PAYLOAD)
        return (struct operand){bulk, ref.slot * c->layout.stride + offset};
    return (struct operand){slots, ref.slot * EPOCHS * sizeof(struct slot) +
                                       offsetof(struct slot, payload) + offset};
}

struct operand ncoll__compiler_operand(const struct compiler *c, struct ref ref)
{
    uint32_t neighbour;

    size_t element = c->plan->element, offset = ref.offset * element;

    switch (ref.buffer) {
    case BUF_IN:
        return (struct operand){BASE_IN, offset + ncoll__block_start(&c->places, ref) * element};
    case BUF_OUT:
        return (struct operand){BASE_OUT, offset + ncoll__block_start(&c->places, ref) * element};
    case BUF_SCRATCH:
        return (struct operand){BASE_SCRATCH, offset};
    case BUF_ARRIVED:
        return arrived(c, ref, c->arrived, BASE_SLOTS, BASE_BULK);
    case BUF_NEIGHBOUR:
        neighbour = ncoll__neighbour(c, ref.rank);
        return arrived(c, ref, c->arrived_at_neighbour + neighbour * c->layout.footprint.slots,
                       BASES + 2 * neighbour, BASES + 2 * neighbour + 1);
    }
    return (struct operand){BASES, 0};
}
