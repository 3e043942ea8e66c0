/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that all parts of the compiler need: they add an instruction, or find the place of an
 * operand. */
#include "lib/plan/compiler.h"

#include <string.h>

#include "lib/base/group.h"

void ncoll__compiler_reserve(struct compiler *c, unsigned capacity)
{
    struct program *p = c->out;

    if (capacity <= p->capacity)
        return;
    struct instruction *grown = ncoll__allocate(c->g->ctx, capacity * sizeof *grown);
    if (grown == NULL) {
        c->failed = true;
        return;
    }
    if (p->count > 0)
        memcpy(grown, p->instructions, p->count * sizeof *grown);
    ncoll__release(c->g->ctx, p->instructions);
    p->instructions = grown;
    p->capacity = capacity;
}

void ncoll__compiler_add(struct compiler *c, struct instruction instruction)
{
    struct program *p = c->out;

    if (p->count == p->capacity)
        ncoll__compiler_reserve(c, p->capacity + p->capacity / 8 + 16);
    if (!c->failed)
        p->instructions[p->count++] = instruction;
}

/* Finds the message in a slot of this rank, or of a neighbour. `slots` and `bulk` are the bases for
 * its slots and its bulk memory. */
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
