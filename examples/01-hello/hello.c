/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least that a program does to embed a barrier: it joins the job, synchronises, leaves. It does
 * not say how its ranks were started: the library finds out.
 */
#include <ncoll.h>
#include <stdio.h>
#include <stdlib.h>

/* The text names the rank that the error is about, its cause and its remedy. Nobody has to tell the
 * other ranks: when this one has ended, their calls end with NCOLL_ERR_PEER. */
static void check(const ncoll_context *ctx, int status)
{
    const ncoll_error *error = ncoll_last_error(ctx);

    if (status == NCOLL_OK)
        return;
    fprintf(stderr, "%s\n", error->status == status ? error->text : ncoll_status_text(status));
    exit(EXIT_FAILURE);
}

int main(void)
{
    ncoll_context *ctx;
    ncoll_error error; /* until there is a context that could keep it */

    if (ncoll_context_create(NULL, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    ncoll_group *world = ncoll_world(ctx);
    int64_t ranks = ncoll_group_size(world), mine = ncoll_group_rank(world) + 1, sum = 0;

    check(ctx, ncoll_barrier(world, NCOLL_BLOCK));
    check(ctx, ncoll_allreduce(world, &mine, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK));
    if (mine == 1)
        printf("hello from %d ranks: the sum of their numbers is %d\n", (int)ranks, (int)sum);
    ncoll_context_destroy(ctx); /* at once: others finish their calls without this rank */
    return sum == ranks * (ranks + 1) / 2 ? EXIT_SUCCESS : EXIT_FAILURE;
}
