/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/values.h"

#include <stdlib.h>
#include <string.h>

#include "algos/schedule.h"
#include "test/verify/draw.h"
#include "test/verify/memory.h"

static void forget_leaves(struct values *v, unsigned P, size_t first, size_t elements)
{
    v->first = first;
    v->elements = elements;
    if (P * elements > v->leaves_allocated || v->leaves == NULL) {
        free(v->leaves);
        v->leaves_allocated = P * elements;
        v->leaves = allocate(v->leaves_allocated, sizeof *v->leaves);
    } else {
        memset(v->leaves, 0, P * elements * sizeof *v->leaves);
    }
}

void values_reset(struct values *v, unsigned P, size_t first, size_t elements)
{
    forget_leaves(v, P, first, elements);
    if (P != v->P) {
        v->P = P;
        v->width = P <= EXACT_P ? P : 0;
        v->capacity = 0;
        v->weights = reallocate(v->weights, P + 1, sizeof *v->weights);
        v->weights[0] = 0;
        for (uint64_t q = 0, seed = 1; q < P; q++)
            v->weights[q + 1] = v->weights[q] + draw(&seed);
    }
    if (v->table == NULL) {
        v->table_size = 1024;
        v->table = allocate(v->table_size, sizeof *v->table);
    }
    v->count = 1; /* VALUE_NONE */
    v->generation++;
}

void values_free(struct values *v)
{
    free(v->all);
    free(v->multiplicities);
    free(v->weights);
    free(v->leaves);
    free(v->table);
    *v = (struct values){0};
}

static unsigned hash(unsigned operation, unsigned a, unsigned b)
{
    uint64_t h = ((uint64_t)a << 32 | b) * 4 + operation;
    h *= UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(h >> 32);
}

static unsigned *place(struct values *v, unsigned operation, unsigned a, unsigned b)
{
    unsigned mask = v->table_size - 1;
    unsigned i = hash(operation, a, b) & mask;

    for (;; i = (i + 1) & mask) {
        if (v->table[i].generation != v->generation) {
            v->table[i].generation = v->generation;
            v->table[i].value = VALUE_NONE;
            return &v->table[i].value;
        }
        const struct value *known = &v->all[v->table[i].value];
        if (known->operation == operation && known->a == a && known->b == b)
            return &v->table[i].value;
    }
}

static void grow_table(struct values *v)
{
    free(v->table);
    v->table_size *= 2;
    v->table = allocate(v->table_size, sizeof *v->table);
    v->generation = 1;
    for (unsigned i = 1; i < v->count; i++)
        if (v->all[i].operation != 0)
            *place(v, v->all[i].operation, v->all[i].a, v->all[i].b) = i;
}

/* Returns the number of a new expression, of which nothing else is known yet. */
static unsigned append(struct values *v, unsigned operation, unsigned a, unsigned b)
{
    if (v->count >= v->capacity) {
        v->capacity = v->count < 512 ? 1024 : 2 * v->count;
        v->all = reallocate(v->all, v->capacity, sizeof *v->all);
        if (v->width > 0)
            v->multiplicities = reallocate(v->multiplicities, v->capacity, v->width);
    }
    v->all[v->count] = (struct value){.operation = operation, .a = a, .b = b, .first = 1};
    return v->count++;
}

/* The number of the expression; *is_new: nothing else is known of it yet. */
static unsigned intern(struct values *v, unsigned operation, unsigned a, unsigned b, bool *is_new)
{
    if (2 * (v->count + 1) > v->table_size)
        grow_table(v);
    unsigned *at = place(v, operation, a, b);
    *is_new = *at == VALUE_NONE;
    return *is_new ? *at = append(v, operation, a, b) : *at;
}

unsigned value_leaf(struct values *v, unsigned rank, unsigned element)
{
    unsigned *at = &v->leaves[rank * v->elements + (element - v->first)];

    if (*at == VALUE_NONE) {
        unsigned leaf = *at = append(v, 0, rank, element);
        uint8_t *m = v->multiplicities + (size_t)leaf * v->width;
        memset(m, 0, v->width);
        if (v->width > 0)
            m[rank] = 1;
        v->all[leaf].sum = v->weights[rank + 1] - v->weights[rank];
        v->all[leaf].element = element;
        v->all[leaf].first = v->all[leaf].last = rank;
    }
    return *at;
}

static void add(const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict sum,
                unsigned P)
{
    for (unsigned i = 0; i < P; i++) {
        uint8_t both = (uint8_t)(a[i] + b[i]);
        sum[i] = both < a[i] ? UINT8_MAX : both;
    }
}

unsigned value_reduce(struct values *v, unsigned a, unsigned b)
{
    bool is_new;
    unsigned result = intern(v, STEP_REDUCE, a, b, &is_new);

    if (is_new) {
        const struct value *left = &v->all[a], *right = &v->all[b];
        add(value_multiplicities(v, a), value_multiplicities(v, b),
            v->multiplicities + (size_t)result * v->width, v->width);
        v->all[result].sum = left->sum + right->sum;
        v->all[result].element = left->element;
        if (left->first <= left->last && right->first <= right->last &&
            left->last + 1 == right->first) {
            v->all[result].first = left->first;
            v->all[result].last = right->last;
        }
    }
    return result;
}

unsigned value_takeout(struct values *v, unsigned a, unsigned b)
{
    bool is_new, contained = true;

    for (unsigned i = 0; i < v->width; i++)
        contained &= value_multiplicities(v, b)[i] <= value_multiplicities(v, a)[i];
    if (!contained)
        return VALUE_NONE;
    unsigned result = intern(v, STEP_TAKEOUT, a, b, &is_new);
    if (is_new) {
        const uint8_t *ma = value_multiplicities(v, a), *mb = value_multiplicities(v, b);
        uint8_t *restrict m = v->multiplicities + (size_t)result * v->width;
        for (unsigned i = 0; i < v->width; i++)
            m[i] = (uint8_t)(ma[i] - mb[i]);
        v->all[result].element = v->all[a].element;
        v->all[result].sum = v->all[a].sum - v->all[b].sum;
    }
    return result;
}
