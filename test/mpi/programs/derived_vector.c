/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define N      16 /* elements, each in the middle of three ints */
#define STRIDE 3

/* A column of a matrix: what lies between its elements stays as it was. */
static void columns(MPI_Comm comm, int rank, int size)
{
    MPI_Datatype column;
    int *in = take(N * STRIDE * sizeof *in), *out = take((size_t)size * N * STRIDE * sizeof *out);

    OK(MPI_Type_vector(N, 1, STRIDE, MPI_INT, &column));
    OK(MPI_Type_commit(&column));
    for (int root = 0; root < size; root++) {
        for (int i = 0; i < N * STRIDE; i++)
            in[i] = i % STRIDE == 1 && rank == root ? value(root, i / STRIDE) : -1;
        OK(MPI_Bcast(in + 1, 1, column, root, comm));
        CHECK_EACH(i, N * STRIDE, in, i % STRIDE == 1 ? value(root, i / STRIDE) : -1,
                   "bcast of a column");
        for (int i = 0; i < N; i++)
            in[i * STRIDE + 1] = value(rank, i);
        memset(out, 0xff, (size_t)size * N * STRIDE * sizeof *out);
        OK(MPI_Gather(in + 1, 1, column, out, N, MPI_INT, root, comm));
        if (rank == root)
            CHECK_EACH(i, size * N, out, value(i / N, i % N), "gather of columns");
        /* The extent of a column ends with its last element: scatter them one behind the other. */
        for (int i = 0; i < size * N * STRIDE && rank == root; i++)
            out[i] = i;
        OK(MPI_Scatter(out, 1, column, in + 1, 1, column, root, comm));
        CHECK_EACH(i, N * STRIDE, in,
                   i % STRIDE == 1 ? rank * ((N - 1) * STRIDE + 1) + i / STRIDE * STRIDE : -1,
                   "scatter of columns");
    }
    OK(MPI_Type_free(&column));
    give(in);
    give(out);
}

PROGRAM(derived_vector, "columns of a matrix")
{
    each_comm(columns);
}
