/* SPDX-License-Identifier: BSD-3-Clause */
/* Examples of pages: collectives that need not wait for stragglers. See snippets.h. */
#include "snippets.h"

static void stale(ncoll_group *group)
{
    float in[COUNT] = {1}, out[COUNT];
    int steps = 5, status;

    /* [ncoll_allreduce_ssp, ncoll_stale_create, ncoll_stale_free] Sums of contributions that may be two steps old: */
    ncoll_stale_params params = {.size = sizeof params, .max_slack = 2};
    ncoll_stale *object;
    status =
        ncoll_stale_create(group, &params, COUNT, NCOLL_FLOAT, NCOLL_SUM, &object, NCOLL_BLOCK);
    for (int step = 0; status == NCOLL_OK && step < steps; step++)
        status = ncoll_allreduce_ssp(object, in, out, COUNT, NCOLL_FLOAT, NCOLL_SUM, 2, NULL,
                                     NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_stale_free(&object, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && out[0] == RANKS);
}

static void partial(ncoll_group *group)
{
    float in[COUNT] = {1}, out[COUNT];

    /* [ncoll_allreduce_partial] A sum that waits for more than half of the ranks: */
    ncoll_stale_params params = {.size = sizeof params, .partial = 1};
    ncoll_stale_result result = {.size = sizeof result};
    ncoll_stale *object;
    int status =
        ncoll_stale_create(group, &params, COUNT, NCOLL_FLOAT, NCOLL_SUM, &object, NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_allreduce_partial(object, in, out, COUNT, NCOLL_FLOAT, NCOLL_SUM,
                                         NCOLL_MAJORITY, &result, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && out[0] >= 3 && result.clock == 1);
    EXPECT(ncoll_stale_free(&object, NCOLL_BLOCK) == NCOLL_OK);
}

static void threshold(ncoll_group *group)
{
    float vector[COUNT] = {0};
    int status;

    if (ncoll_group_rank(group) == 0)
        vector[0] = vector[COUNT - 1] = 7;
    /* [ncoll_bcast_threshold] A quarter of a vector first, the rest later: */
    ncoll_threshold_status in = {.size = sizeof in};
    ncoll_threshold part = {.size = sizeof part, .of = NCOLL_THRESHOLD_DATA, .fraction = 0.25};
    status = ncoll_bcast_threshold(group, vector, COUNT, NCOLL_FLOAT, 0, &part, &in, NCOLL_BLOCK);
    part.fraction = 1;
    part.after = &in;
    if (status == NCOLL_OK)
        status =
            ncoll_bcast_threshold(group, vector, COUNT, NCOLL_FLOAT, 0, &part, &in, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && vector[COUNT - 1] == 7 && in.elements == COUNT);
}

static void part_of_ranks(ncoll_group *group)
{
    float in[COUNT] = {1}, out[COUNT] = {0};
    uint8_t rank_in[RANKS];

    /* [ncoll_reduce_threshold] The sum of three quarters of the ranks first, and of all of them when the
     * root has used that: */
    ncoll_threshold_status in_sum = {.size = sizeof in_sum, .rank_in = rank_in};
    ncoll_threshold part = {.size = sizeof part, .of = NCOLL_THRESHOLD_RANKS, .fraction = 0.75};
    int status = ncoll_reduce_threshold(group, in, out, COUNT, NCOLL_FLOAT, NCOLL_SUM, 0, &part,
                                        &in_sum, NCOLL_BLOCK);
    if (status == NCOLL_OK && ncoll_group_rank(group) == 0)
        printf("%d ranks: %g\n", in_sum.ranks, out[0]);
    part.fraction = 1;
    part.after = &in_sum; /* the ranks that are in are not asked again */
    if (status == NCOLL_OK)
        status = ncoll_reduce_threshold(group, in, out, COUNT, NCOLL_FLOAT, NCOLL_SUM, 0, &part,
                                        &in_sum, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && in_sum.ranks == RANKS);
    EXPECT(ncoll_group_rank(group) != 0 || out[0] == RANKS);
}

void show_eventual(ncoll_context *ctx, ncoll_group *group)
{
    (void)ctx;
    stale(group);
    partial(group);
    threshold(group);
    part_of_ranks(group);
}
