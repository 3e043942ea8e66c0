/* SPDX-License-Identifier: BSD-3-Clause */
/* Examples of pages: groups. See snippets.h. */
#include "snippets.h"

static void groups(ncoll_group *world)
{
    int width = 2;

    /* [ncoll_group_split, ncoll_group_free] A group for each row of a grid of ranks: */
    int rank = ncoll_group_rank(world);
    ncoll_group *row;
    int status = ncoll_group_split(world, rank / width, rank % width, &row, NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_barrier(row, NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_group_free(&row, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && row == NULL);
}

static void numbers(ncoll_context *ctx)
{
    /* [ncoll_world] Each rank says who it is: */
    ncoll_group *world = ncoll_world(ctx);
    printf("rank %d of %d\n", ncoll_group_rank(world), ncoll_group_size(world));
    /* [] */
    EXPECT(ncoll_group_size(world) == RANKS);
}

static void neighbours(ncoll_group *world)
{
    ncoll_group *group = world;

    /* [ncoll_group_rank] The right neighbour on a ring of the ranks of a group, and its number in the
     * world: */
    int rank = ncoll_group_rank(group), size = ncoll_group_size(group);
    int right = (rank + 1) % size;
    printf("right of rank %d is rank %d, which is rank %d of the world\n", rank, right,
           ncoll_group_world_rank(group, right));
    /* [] */
    EXPECT(ncoll_group_world_rank(group, right) == right);
}

static void leaders(ncoll_group *world)
{
    /* [ncoll_group_from_ranks, ncoll_group_free] A group of the first and the last rank. All ranks call
     * it, and those that are not in the list get NULL: */
    int list[2] = {0, ncoll_group_size(world) - 1};
    double value = ncoll_group_rank(world), sum = 0;
    ncoll_group *ends;
    int status = ncoll_group_from_ranks(world, list, 2, &ends, NCOLL_BLOCK);
    if (status == NCOLL_OK && ends != NULL) {
        status = ncoll_allreduce(ends, &value, &sum, 1, NCOLL_DOUBLE, NCOLL_SUM, NCOLL_BLOCK);
        if (status == NCOLL_OK)
            status = ncoll_group_free(&ends, NCOLL_BLOCK);
    }
    /* [] */
    EXPECT(status == NCOLL_OK && (ncoll_group_rank(world) % 3 != 0 || sum == 3));
}

/* [ncoll_group_dup] A library that is called by programs of other people works on a copy of their
 * group, so that its calls and theirs cannot be mixed up: */
static int norm(ncoll_group *group, double square, double *sum)
{
    ncoll_group *own;
    int status = ncoll_group_dup(group, &own, NCOLL_BLOCK);

    if (status != NCOLL_OK)
        return status;
    status = ncoll_allreduce(own, &square, sum, 1, NCOLL_DOUBLE, NCOLL_SUM, NCOLL_BLOCK);
    if (status != NCOLL_OK)
        return status; /* the group is freed with its context */
    return ncoll_group_free(&own, NCOLL_BLOCK);
}
/* [] */

static void strict(ncoll_group *group)
{
    float x = 1;

    /* [ncoll_group_set_sync] No rank leaves this bcast before all ranks have x. Later calls are as
     * before: */
    int before = ncoll_group_sync(group);
    int status = ncoll_group_set_sync(group, NCOLL_STRICT_EXIT);
    if (status == NCOLL_OK)
        status = ncoll_bcast(group, &x, 1, NCOLL_FLOAT, 0, NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_group_set_sync(group, (unsigned)before);
    /* [] */
    EXPECT(status == NCOLL_OK && ncoll_group_sync(group) == before);
}

void show_groups(ncoll_context *ctx, ncoll_group *group)
{
    double sum = 0;

    groups(group);
    numbers(ctx);
    neighbours(group);
    leaders(group);
    EXPECT(norm(group, 4, &sum) == NCOLL_OK && sum == 4 * RANKS);
    strict(group);
}
