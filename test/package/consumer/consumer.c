/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that uses an installed ncoll: two forked ranks add their numbers. It is C99 and C++17. */
#include <ncoll.h>
#include <stdio.h>

static int rank_main(const ncoll_params *params, void *arg)
{
    ncoll_context *ctx;
    ncoll_error error;
    int sum = 0, mine = params->rank + 1, status;

    (void)arg;
    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    status = ncoll_allreduce(ncoll_world(ctx), &mine, &sum, 1, NCOLL_INT32, NCOLL_SUM, NCOLL_BLOCK);
    ncoll_context_destroy(ctx);
    return status == NCOLL_OK && sum == 3 ? 0 : 1;
}

int main(void)
{
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    if (ncoll_fork_ranks(2, &params, rank_main, NULL, NULL) != NCOLL_OK)
        return 1;
    printf("ncoll %s: the sum is right\n", ncoll_version());
    return 0;
}
