/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a memory cell holds, symbolically: an expression over the ranks' contributions.
 *
 * Equal expressions get equal numbers (hash consing), so that "all ranks evaluate the same
 * expression" is a comparison of numbers, and what is known of an expression is computed once: the
 * multiset of contributions as a vector of P multiplicities, and the range of ranks it combines if
 * its leaves are successive ranks in ascending order.
 */
#ifndef NCOLL_TEST_VERIFY_VALUES_H
#define NCOLL_TEST_VERIFY_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VALUE_NONE 0u /* never written */

struct value {
    unsigned operation;   /* 0 leaf, else enum step_kind */
    unsigned a, b;        /* operands; of a leaf: rank, element */
    unsigned element;     /* of the vector */
    unsigned first, last; /* ranks in order; first > last: not in order */
};

struct values {
    unsigned P;
    struct value *all;
    uint8_t *multiplicities; /* P of each value, at most 255: more stays 255 */
    unsigned count, capacity;
    struct {
        unsigned generation, value;
    } * table;
    unsigned table_size, generation;
};

/* Forgets all values; P contributions from now on. */
void values_reset(struct values *v, unsigned P);
void values_free(struct values *v);

unsigned value_leaf(struct values *v, unsigned rank, unsigned element);

/* The operands belong to the same element. */
unsigned value_reduce(struct values *v, unsigned a, unsigned b);

/* VALUE_NONE if b is not contained in a. */
unsigned value_takeout(struct values *v, unsigned a, unsigned b);

static inline const uint8_t *value_multiplicities(const struct values *v, unsigned value)
{
    return v->multiplicities + (size_t)value * v->P;
}

#endif
