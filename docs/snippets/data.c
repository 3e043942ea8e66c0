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

static void any_type(ncoll_context *ctx, ncoll_group *group)
{
    uint16_t in[COUNT] = {7};
    ncoll_type type = NCOLL_UINT16;
    size_t count = COUNT;

    /* [ncoll_type_size] Memory for an allgather of elements of any type of the library: */
    size_t bytes = (size_t)ncoll_group_size(group) * count * ncoll_type_size(type);
    void *out;
    int status = ncoll_alloc(ctx, bytes, &out);
    if (status == NCOLL_OK)
        status = ncoll_allgather(group, in, out, count, type, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && ((uint16_t *)out)[3 * COUNT] == 7);
    EXPECT(ncoll_free(ctx, out) == NCOLL_OK);
}

static void structures(ncoll_context *ctx, ncoll_group *group)
{
    struct particle {
        double position[3], velocity[3];
        int64_t id;
    } particles[10] = {{.id = 0}};

    if (ncoll_group_rank(group) == 0)
        particles[9].id = 99;
    /* [ncoll_type_create] Structures are sent as they are, on ranks whose compiler lays them out alike: */
    ncoll_type particle;
    int status = ncoll_type_create(ctx, sizeof(struct particle), &particle);
    if (status == NCOLL_OK)
        status = ncoll_bcast(group, particles, 10, particle, 0, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && particles[9].id == 99);

    /* [ncoll_type_size] The size of a type of the program's own: */
    size_t bytes = 10 * ncoll_context_type_size(ctx, particle);
    /* [] */
    EXPECT(bytes == sizeof particles);
}

/* [ncoll_type_create, ncoll_op_create] The range of the numbers of all ranks, by a type and an
 * operation that have names. If a rank calls an allreduce of another type or operation, the error says
 * so by these names: */
struct range {
    double low, high;
};

static void join(void *out, const void *left, const void *right, size_t count, ncoll_type type,
                 void *arg)
{
    const struct range *a = left, *b = right;
    struct range *c = out;

    (void)type; /* used with struct range only */
    (void)arg;
    for (size_t i = 0; i < count; i++)
        c[i] = (struct range){a[i].low < b[i].low ? a[i].low : b[i].low,
                              a[i].high > b[i].high ? a[i].high : b[i].high};
}

static int find_range(ncoll_context *ctx, double number, struct range *range)
{
    const ncoll_op_def def = {.size = sizeof def, .combine = join, .flags = NCOLL_OP_COMMUTATIVE};
    ncoll_type type;
    ncoll_op op;
    int status = ncoll_type_create_named(ctx, sizeof(struct range), "range", &type);

    if (status == NCOLL_OK)
        status = ncoll_op_create_named(ctx, &def, "join", &op);
    *range = (struct range){number, number};
    if (status == NCOLL_OK)
        status = ncoll_allreduce(ncoll_world(ctx), range, range, 1, type, op, NCOLL_BLOCK);
    return status;
}
/* [] */

static void names(ncoll_context *ctx, ncoll_group *group)
{
    struct range range = {0, 0};

    EXPECT(find_range(ctx, ncoll_group_rank(group), &range) == NCOLL_OK);
    EXPECT(range.low == 0 && range.high == RANKS - 1);
}

static void own_memory(ncoll_context *ctx, ncoll_group *group)
{
    static float vector[100000];
    int steps = 3;

    /* [ncoll_mem_register, ncoll_mem_deregister] Memory of the program itself that is used often is
     * registered once, so that a network card can send from it and write to it: */
    int status = ncoll_mem_register(ctx, vector, sizeof vector);
    for (int step = 0; status == NCOLL_OK && step < steps; step++)
        status = ncoll_allreduce(group, vector, vector, sizeof vector / sizeof vector[0],
                                 NCOLL_FLOAT, NCOLL_MAX, NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_mem_deregister(ctx, vector); /* and then free the memory */
    /* [] */
    EXPECT(status == NCOLL_OK);
}

void show_data(ncoll_context *ctx, ncoll_group *group)
{
    operation(ctx, group);
    memory(ctx, group);
    any_type(ctx, group);
    structures(ctx, group);
    names(ctx, group);
    own_memory(ctx, group);
}
