/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static void all_roots(MPI_Comm comm, int rank, int size)
{
    for (int root = 0; root < size; root++)
        for (const int *count = counts; *count >= 0; count++) {
            int n = *count, *in = rank == root ? take_values(root, size * n) : NULL;
            int *out = take((size_t)n * sizeof *out);

            OK(MPI_Scatter(in, rank == root ? n : -7, rank == root ? MPI_INT : MPI_DATATYPE_NULL,
                           out, n, MPI_INT, root, comm));
            CHECK_EACH(i, n, out, value(root, rank * n + i), "scatter of %d from %d", n, root);
            give(out);
            if (rank == root)
                give(in);
        }
}

PROGRAM(scatter, "every root; count and type of the sender matter there alone")
{
    each_comm(all_roots);
}
