/* SPDX-License-Identifier: BSD-3-Clause */
/* Examples of pages: collectives. See snippets.h. */
#include "snippets.h"
#include <string.h>

static void to_all(ncoll_group *group)
{
    double local = 1 + ncoll_group_rank(group), sum = 0;

    /* [ncoll_allreduce] The sum of one number of each rank, on every rank: */
    int status = ncoll_allreduce(group, &local, &sum, 1, NCOLL_DOUBLE, NCOLL_SUM, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && sum == 10);
}

static void from_root(ncoll_group *group)
{
    int32_t settings[3] = {0};

    /* [ncoll_bcast] Rank 0 tells the others three numbers: */
    if (ncoll_group_rank(group) == 0)
        memcpy(settings, (int32_t[]){640, 480, 60}, sizeof settings);
    int status = ncoll_bcast(group, settings, 3, NCOLL_INT32, 0, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && settings[2] == 60);
}

static void rows(ncoll_group *group)
{
    size_t counts[RANKS], total = 0;
    float mine[RANKS] = {0}, all[RANKS * (RANKS + 1) / 2];
    int rank = ncoll_group_rank(group);

    for (int i = 0; i <= rank; i++)
        mine[i] = (float)rank;
    /* [ncoll_gatherv, ncoll_allgatherv] Rank q has q + 1 elements; rank 0 gets all of them in order: */
    for (int q = 0; q < ncoll_group_size(group); q++)
        total += counts[q] = (size_t)q + 1;
    int status = ncoll_gatherv(group, mine, all, counts, NULL, NCOLL_FLOAT, 0, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && total == 10 && (rank != 0 || all[9] == 3));
}

void show_collectives(ncoll_context *ctx, ncoll_group *group)
{
    (void)ctx;
    to_all(group);
    from_root(group);
    rows(group);
}
