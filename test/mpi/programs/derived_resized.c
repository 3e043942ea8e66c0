/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define N 9

/* A type that is longer than its data, one with a lower bound, and one that is shorter: blocks that interlock. */
static void extents(MPI_Comm comm, int rank, int size)
{
    MPI_Datatype spaced, below, column, interlocked;
    int *in = take(2 * N * sizeof *in), *out = take((size_t)size * 2 * N * sizeof *out);

    OK(MPI_Type_create_resized(MPI_INT, 0, 8, &spaced));
    OK(MPI_Type_create_resized(MPI_INT, -4, 8, &below));
    OK(MPI_Type_vector(N, 1, size, MPI_INT, &column));
    OK(MPI_Type_create_resized(column, 0, 4, &interlocked));
    OK(MPI_Type_commit(&spaced));
    OK(MPI_Type_commit(&below));
    OK(MPI_Type_commit(&interlocked));
    for (int i = 0; i < N; i++) {
        in[2 * i] = value(rank, i);
        in[2 * i + 1] = -7;
    }
    memset(out, 0xff, (size_t)size * 2 * N * sizeof *out);
    OK(MPI_Allgather(in, N, spaced, out + 1, N, below, comm));
    CHECK_EACH(i, size * N, out + 1, i % 2 ? -1 : value(i / 2 / N, i / 2 % N), "spaced ints");
    OK(MPI_Allgather(in, N, spaced, out, 1, interlocked, comm));
    CHECK_EACH(i, size * N, out, value(i % size, i / size), "interlocked columns");
    OK(MPI_Type_free(&spaced));
    OK(MPI_Type_free(&below));
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&interlocked));
    give(in);
    give(out);
}

PROGRAM(derived_resized, "types longer and shorter than their data, and with a lower bound")
{
    each_comm(extents);
}
