/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define N 7

/* The calls that intercomm.c does not have, between even and odd ranks. Rank i of the other group has number
 * 2 * i + 1 - side in the world; world rank 0 is the root. */
static void with_root(MPI_Comm inter, int side, int rank, int others)
{
    int root = side == 1 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, total = others * N;
    int *n = take((size_t)others * sizeof(int)), *at = take((size_t)others * sizeof(int));
    int *in = take_values(me, total), *out = take((size_t)total * sizeof *out);

    for (int r = 0; r < others; r++) {
        n[r] = N;
        at[r] = r * N;
    }
    OK(MPI_Gather(in, N, MPI_INT, out, N, MPI_INT, root, inter));
    if (root == MPI_ROOT)
        CHECK_EACH(i, total, out, value(2 * (i / N) + 1, i % N), "gather");
    memset(out, 0xff, (size_t)total * sizeof *out);
    OK(MPI_Gatherv(in, N, MPI_INT, out, n, at, MPI_INT, root, inter));
    if (root == MPI_ROOT)
        CHECK_EACH(i, total, out, value(2 * (i / N) + 1, i % N), "gatherv");
    OK(MPI_Scatter(in, N, MPI_INT, out, N, MPI_INT, root, inter));
    if (side == 1)
        CHECK_EACH(i, N, out, value(0, rank * N + i), "scatter");
    memset(out, 0xff, (size_t)total * sizeof *out);
    OK(MPI_Scatterv(in, n, at, MPI_INT, out, N, MPI_INT, root, inter));
    if (side == 1)
        CHECK_EACH(i, N, out, value(0, rank * N + i), "scatterv");
    give(in);
    give(out);
    give(n);
    give(at);
}

static void without_root(MPI_Comm inter, int side, int rank, int others)
{
    int total = others * N, sum = 0, got = -1;
    int *n = take((size_t)others * sizeof(int)), *at = take((size_t)others * sizeof(int));
    int *in = take_values(me, total), *out = take((size_t)total * sizeof *out);
    MPI_Request requests[2];

    for (int r = 0; r < others; r++) {
        n[r] = N;
        at[r] = r * N;
    }
    OK(MPI_Allgatherv(in, N, MPI_INT, out, n, at, MPI_INT, inter));
    CHECK_EACH(i, total, out, value(2 * (i / N) + 1 - side, i % N), "allgatherv");
    OK(MPI_Alltoallv(in, n, at, MPI_INT, out, n, at, MPI_INT, inter));
    CHECK_EACH(i, total, out, value(2 * (i / N) + 1 - side, rank * N + i % N), "alltoallv");
    for (int r = 1 - side; r < ranks; r += 2)
        sum += r;
    OK(MPI_Iallreduce(&me, &got, 1, MPI_INT, MPI_SUM, inter, &requests[0]));
    OK(MPI_Ibarrier(inter, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(got == sum, "iallreduce: %d, not %d", got, sum);
    if (ranks % 2 == 0) { /* both groups have as many elements */
        OK(MPI_Reduce_scatter_block(in, out, N, MPI_INT, MPI_SUM, inter));
        for (int i = 0; i < N; i++) {
            sum = 0;
            for (int r = 1 - side; r < ranks; r += 2)
                sum += value(r, rank * N + i);
            CHECK(out[i] == sum, "reduce_scatter_block: element %d is %d, not %d", i, out[i], sum);
        }
    }
    give(in);
    give(out);
    give(n);
    give(at);
}

PROGRAM(intercomm_more, "more calls between two groups, and ordinary ones in each", .ranks = 2)
{
    int side = me % 2, rank, others, size, sum;
    MPI_Comm half, inter;

    OK(MPI_Comm_split(MPI_COMM_WORLD, side, me, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 6, &inter));
    OK(MPI_Comm_rank(inter, &rank));
    OK(MPI_Comm_remote_size(inter, &others));
    OK(MPI_Comm_size(half, &size));
    with_root(inter, side, rank, others);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half));
    CHECK(sum == size * (size - 1) / 2, "in the group: %d", sum);
    without_root(inter, side, rank, others);
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
}
