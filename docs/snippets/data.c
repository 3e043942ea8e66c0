/* SPDX-License-Identifier: BSD-3-Clause */
/* Examples of pages: types, operations and memory. See snippets.h. */
#include "snippets.h"

/* [ncoll_op_create] An operation that keeps the number of larger magnitude: */
static void larger(void *out, const void *left, const void *right, size_t count, ncoll_type type,
                   void *arg)
{
    const int32_t *a = left, *b = right;
    int32_t *c = out;

    (void)type; /* used with NCOLL_INT32 only */
    (void)arg;
    for (size_t i = 0; i < count; i++)
        c[i] = abs(a[i]) >= abs(b[i]) ? a[i] : b[i];
}

static int make_larger(ncoll_context *ctx, ncoll_op *op)
{
    const ncoll_op_def def = {.size = sizeof def, .combine = larger};

    return ncoll_op_create(ctx, &def, op);
}
/* [] */

static void operation(ncoll_context *ctx, ncoll_group *group)
{
    int32_t in = -ncoll_group_rank(group), out = 0;
    ncoll_op op;

    EXPECT(make_larger(ctx, &op) == NCOLL_OK);
    EXPECT(ncoll_allreduce(group, &in, &out, 1, NCOLL_INT32, op, NCOLL_BLOCK) == NCOLL_OK);
    EXPECT(out == 1 - RANKS);
}

static void memory(ncoll_context *ctx, ncoll_group *group)
{
    size_t count = 100000;

    /* [ncoll_alloc, ncoll_free] A long vector that is not copied on its way: */
    void *memory;
    int status = ncoll_alloc(ctx, count * sizeof(float), &memory);
    if (status == NCOLL_OK)
        status = ncoll_bcast(group, memory, count, NCOLL_FLOAT, 0, NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_free(ctx, memory);
    /* [] */
    EXPECT(status == NCOLL_OK);
}

void show_data(ncoll_context *ctx, ncoll_group *group)
{
    operation(ctx, group);
    memory(ctx, group);
}
