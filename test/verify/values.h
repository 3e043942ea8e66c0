/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A value is what a memory cell holds, symbolically: an expression over the ranks' contributions.
 *
 * Equal expressions get equal numbers (hash consing), so that "all ranks evaluate the same
 * expression" is a comparison of numbers, and what is known of an expression is computed once: the
 * multiset of contributions as a vector of P multiplicities, and the range of ranks it combines if
 * its leaves are successive ranks in ascending order.
 *
 * For more than EXACT_P ranks the multiset is only known by a sum of random weights, one for each
 * rank: two different multisets have the same sum with a probability of 2^-64.
 */
#ifndef NCOLL_TEST_VERIFY_VALUES_H
#define NCOLL_TEST_VERIFY_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VALUE_NONE  0u         /* never written */
#define VALUE_OTHER UINT32_MAX /* a value of an element that is not looked at */
#define EXACT_P     1024

struct value {
    unsigned operation;   /* 0 leaf, else enum step_kind */
    unsigned a, b;        /* operands; of a leaf: rank, element */
    unsigned element;     /* of the vector */
    unsigned first, last; /* ranks in order; first > last: not in order */
    uint64_t sum;         /* of the contributions' weights */
};

struct values {
    unsigned P, width;
    struct value *all;
    uint8_t *multiplicities; /* width of each value: P, or none; at most 255: more stays 255 */
    uint64_t *weights;       /* [P + 1]: of ranks 0..q-1 together */
    unsigned *leaves;        /* [P][elements]: the values of these, or VALUE_NONE as yet */
    size_t first, elements, leaves_allocated;
    unsigned count, capacity;
    struct {
        unsigned generation, value;
    } * table;
    unsigned table_size, generation;
};

/* Forgets all values; from now on there are P contributions to each of `elements` elements from
 * `first` on. */
void values_reset(struct values *v, unsigned P, size_t first, size_t elements);
void values_free(struct values *v);

/* The element is one of those of values_reset(). */
unsigned value_leaf(struct values *v, unsigned rank, unsigned element);

/* The operands belong to the same element. */
unsigned value_reduce(struct values *v, unsigned a, unsigned b);

/* VALUE_NONE if b is not contained in a, as far as that is known. */
unsigned value_takeout(struct values *v, unsigned a, unsigned b);

/* Returns the bytes that one value takes in a group of P ranks, roughly. */
static inline size_t values_bytes(unsigned P)
{
    return sizeof(struct value) + 5 * sizeof(unsigned) + (P <= EXACT_P ? P : 0);
}

static inline const uint8_t *value_multiplicities(const struct values *v, unsigned value)
{
    return v->multiplicities + (size_t)value * v->width;
}

#endif
