/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counts and displacements of calls. A plan keeps those that it was made for, which are as many
 * numbers as the group has ranks. Programs give the same counts to several collectives, and on a
 * group and its copies. So a context keeps equal arrays once, for all plans that have them.
 */
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

static bool is_same(const struct kept_array *a, const size_t *numbers, unsigned n, uint64_t hash)
{
    return a->n == n && a->hash == hash && memcmp(a->numbers, numbers, n * sizeof *numbers) == 0;
}

const size_t *ncoll__array_keep(struct ncoll_context *ctx, const size_t *numbers, unsigned n)
{
    uint64_t hash = ncoll__signature_hash(numbers, n);
    struct kept_array *a = ctx->arrays;

    while (a != NULL && !is_same(a, numbers, n, hash))
        a = a->next;
    if (a != NULL) {
        a->users++;
        return a->numbers;
    }
    if ((a = ncoll__allocate(ctx, sizeof *a + n * sizeof *numbers)) == NULL)
        return NULL;
    *a = (struct kept_array){.next = ctx->arrays, .users = 1, .n = n, .hash = hash};
    memcpy(a->numbers, numbers, n * sizeof *numbers);
    ctx->arrays = a;
    return a->numbers;
}

void ncoll__array_leave(struct ncoll_context *ctx, const size_t *numbers)
{
    struct kept_array **link = &ctx->arrays, *a;

    while (numbers != NULL && *link != NULL && (*link)->numbers != numbers)
        link = &(*link)->next;
    if (numbers == NULL || (a = *link) == NULL || --a->users > 0)
        return;
    *link = a->next;
    ncoll__release(ctx, a);
}
