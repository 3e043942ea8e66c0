/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define N 25

/* Between even and odd ranks: what each group receives is the other group's. */
static int expected(int side, int i)
{
    int sum = 0;

    for (int r = 0; r < ranks; r++)
        if (r % 2 != side)
            sum += value(r, i);
    return sum;
}

static void calls(MPI_Comm inter, int side, int rank, int others)
{
    int root = side == 0 ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    int *in = take_values(me, N * (others + 1)), *out = take((size_t)others * N * sizeof *out),
        first = value(0, 3);

    OK(MPI_Barrier(inter));
    OK(MPI_Allreduce(in, out, N, MPI_INT, MPI_SUM, inter));
    CHECK_EACH(i, N, out, expected(side, i), "allreduce between groups");
    out[0] = me == 0 ? first : -1;
    OK(MPI_Bcast(out, 1, MPI_INT, root, inter));
    CHECK(side == 0 || out[0] == first, "bcast from the other group: %d", out[0]);
    OK(MPI_Reduce(in, out, N, MPI_INT, MPI_SUM, root, inter));
    if (me == 0)
        CHECK_EACH(i, N, out, expected(0, i), "reduce of the other group");
    OK(MPI_Allgather(in, N, MPI_INT, out, N, MPI_INT, inter));
    CHECK_EACH(i, others * N, out, value(2 * (i / N) + 1 - side, i % N),
               "allgather of the other group");
    OK(MPI_Alltoall(in, N, MPI_INT, out, N, MPI_INT, inter));
    CHECK_EACH(i, others * N, out, value(2 * (i / N) + 1 - side, rank * N + i % N),
               "alltoall between groups");
    give(in);
    give(out);
}

PROGRAM(intercomm, "calls between two groups", .ranks = 2)
{
    int side = me % 2, rank, others;
    MPI_Comm half, inter, merged, copy;
    MPI_Request request;

    OK(MPI_Comm_split(MPI_COMM_WORLD, side, me, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 5, &inter));
    OK(MPI_Comm_rank(inter, &rank));
    OK(MPI_Comm_remote_size(inter, &others));
    /* A rank sends to each of the other group: take_values() of calls() covers the larger of both. */
    calls(inter, side, rank, others);
    OK(MPI_Comm_dup(inter, &copy));
    calls(copy, side, rank, others);
    OK(MPI_Ibarrier(copy, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Intercomm_merge(inter, side, &merged));
    OK(MPI_Allreduce(&rank, &others, 1, MPI_INT, MPI_MAX, merged));
    CHECK(others == (ranks - 1) / 2, "merged: %d", others);
    OK(MPI_Comm_free(&merged));
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
}
