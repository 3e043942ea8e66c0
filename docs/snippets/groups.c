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

void show_groups(ncoll_context *ctx, ncoll_group *group)
{
    (void)ctx;
    groups(group);
}
