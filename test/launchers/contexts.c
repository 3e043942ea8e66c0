/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank under a launcher: makes two contexts that live at the same time, and a third one after
 * they are gone. With the argument `dies` rank 1 is killed between them, and the launcher has to end
 * the job.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "ncoll.h"

/* Returns 0 if the ranks of a context are all there. */
static int check(ncoll_context *ctx, int *rank)
{
    ncoll_group *world = ncoll_world(ctx);
    int64_t ranks = ncoll_group_size(world), in, sum = 0;

    *rank = ncoll_group_rank(world);
    in = *rank + 1;
    int rc = ncoll_allreduce(world, &in, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    if (rc != NCOLL_OK || ranks < 2 || sum != ranks * (ranks + 1) / 2) {
        fprintf(stderr, "rank %d: status %d, the sum is %lld\n", *rank, rc, (long long)sum);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    ncoll_context *first, *second, *third;
    int rank;

    if (ncoll_context_create(NULL, &first, NULL) != NCOLL_OK || check(first, &rank) != 0 ||
        ncoll_context_create(NULL, &second, NULL) != NCOLL_OK || check(second, &rank) != 0 ||
        check(first, &rank) != 0)
        return 1;
    if (argc > 1 && strcmp(argv[1], "dies") == 0 && rank == 1)
        raise(SIGKILL);
    ncoll_context_destroy(first);
    ncoll_context_destroy(second);
    if (ncoll_context_create(NULL, &third, NULL) != NCOLL_OK || check(third, &rank) != 0)
        return 1;
    ncoll_context_destroy(third);
    if (rank == 0)
        puts("three contexts");
    return 0;
}
