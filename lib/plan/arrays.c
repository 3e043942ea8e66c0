/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arrays of numbers for calls: counts, displacements, and the starts of blocks that follow from
 * counts. A plan keeps the arrays that it was made for, which have up to one number for each rank
 * of the group. So does an alltoall until its ranks have agreed on counts (lib/run/agree.c).
 * Programs give the same counts to several collectives, and to calls on copies of a group. So a
 * context keeps equal arrays only once, for all plans that need them.
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

static struct kept_array *array_of(const size_t *numbers)
{
    return (struct kept_array *)((uintptr_t)numbers - offsetof(struct kept_array, numbers));
}

/* Returns the kept array of these numbers, with one more user; NULL: no such array is kept. */
static const size_t *find(struct ncoll_context *ctx, const size_t *numbers, unsigned n,
                          uint64_t hash)
{
    struct kept_array *a = *place_of(ctx, hash);

    while (a != NULL && !is_same(a, numbers, n, hash))
        a = a->next;
    if (a == NULL)
        return NULL;
    a->users++;
    return a->numbers;
}

static const size_t *add(struct ncoll_context *ctx, size_t *numbers, uint64_t hash)
{
    struct kept_array *a = array_of(numbers), **first = place_of(ctx, hash);

    a->hash = hash;
    a->users = 1;
    a->next = *first;
    *first = a;
    return a->numbers;
}

size_t *ncoll__array_begin(struct ncoll_context *ctx, unsigned n)
{
    struct kept_array *a = ncoll__allocate(ctx, sizeof *a + n * sizeof a->numbers[0]);

    if (a == NULL)
        return NULL;
    a->n = n;
    return a->numbers;
}

const size_t *ncoll__array_end(struct ncoll_context *ctx, size_t *numbers)
{
    struct kept_array *a = array_of(numbers);
    uint64_t hash = ncoll__signature_hash(numbers, a->n);
    const size_t *kept = find(ctx, numbers, a->n, hash);

    if (kept == NULL)
        return add(ctx, numbers, hash);
    ncoll__release(ctx, a);
    return kept;
}

const size_t *ncoll__array_keep(struct ncoll_context *ctx, const size_t *numbers, unsigned n)
{
    uint64_t hash = ncoll__signature_hash(numbers, n);
    const size_t *kept = find(ctx, numbers, n, hash);
    size_t *copy;

    if (kept != NULL || (copy = ncoll__array_begin(ctx, n)) == NULL)
        return kept;
    memcpy(copy, numbers, n * sizeof *numbers);
    return add(ctx, copy, hash);
}

void ncoll__array_leave(struct ncoll_context *ctx, const size_t *numbers)
{
    struct kept_array *a;

    if (numbers == NULL)
        return;
    a = array_of(numbers);
    if (--a->users > 0)
        return;
    struct kept_array **link = place_of(ctx, a->hash);
    while (*link != a)
        link = &(*link)->next;
    *link = a->next;
    ncoll__release(ctx, a);
}

static bool keep(struct ncoll_context *ctx, const size_t **array, unsigned n)
{
    if (*array == NULL)
        return true;
    *array = ncoll__array_keep(ctx, *array, n);
    return *array != NULL;
}

bool ncoll__arrays_keep(struct ncoll_context *ctx, struct call_args *args, unsigned n)
{
    bool counts = keep(ctx, &args->counts, n), displs = keep(ctx, &args->displs, n);
    bool sends = keep(ctx, &args->sends, n), send_displs = keep(ctx, &args->send_displs, n);

    return keep(ctx, &args->rank_at, n) && counts && displs && sends && send_displs;
}

void ncoll__arrays_leave(struct ncoll_context *ctx, const struct call_args *args)
{
    ncoll__array_leave(ctx, args->counts);
    ncoll__array_leave(ctx, args->displs);
    ncoll__array_leave(ctx, args->sends);
    ncoll__array_leave(ctx, args->send_displs);
    ncoll__array_leave(ctx, args->rank_at);
}
