/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counts and displacements of calls, and the starts of blocks that follow from counts. A plan
 * keeps those that it was made for, which are as many numbers as the group has ranks. Programs give
 * the same counts to several collectives, and on a group and its copies. So a context keeps equal
 * arrays once, for all plans that have them.
 */
#include <stddef.h>
#include <string.h>

#include "lib/base/group.h"
#include "lib/base/signature.h"
#include "lib/plan/plan.h"

struct kept_array {
    struct kept_array *next;
    unsigned users;
    unsigned n;
    uint64_t hash;
    size_t numbers[];
};

static struct kept_array **place_of(struct ncoll_context *ctx, uint64_t hash)
{
    return &ctx->arrays[hash % KEPT_ARRAYS];
}

static bool is_same(const struct kept_array *a, const size_t *numbers, unsigned n, uint64_t hash)
{
    return a->n == n && a->hash == hash && memcmp(a->numbers, numbers, n * sizeof *numbers) == 0;
}

const size_t *ncoll__array_keep(struct ncoll_context *ctx, const size_t *numbers, unsigned n)
{
    uint64_t hash = ncoll__signature_hash(numbers, n);
    struct kept_array **first = place_of(ctx, hash), *a = *first;

    while (a != NULL && !is_same(a, numbers, n, hash))
        a = a->next;
    if (a != NULL) {
        a->users++;
        return a->numbers;
    }
    if ((a = ncoll__allocate(ctx, sizeof *a + n * sizeof *numbers)) == NULL)
        return NULL;
    *a = (struct kept_array){.next = *first, .users = 1, .n = n, .hash = hash};
    memcpy(a->numbers, numbers, n * sizeof *numbers);
    *first = a;
    return a->numbers;
}

void ncoll__array_leave(struct ncoll_context *ctx, const size_t *numbers)
{
    struct kept_array *a;

    if (numbers == NULL)
        return;
    a = (struct kept_array *)((uintptr_t)numbers - offsetof(struct kept_array, numbers));
    if (--a->users > 0)
        return;
    struct kept_array **link = place_of(ctx, a->hash);
    while (*link != a)
        link = &(*link)->next;
    *link = a->next;
    ncoll__release(ctx, a);
}
