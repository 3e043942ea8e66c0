/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static void all_roots(MPI_Comm comm, int rank, int size)
{
    for (int root = 0; root < size; root++)
        for (const int *count = counts; *count >= 0; count++) {
            int *in = take_values(rank, *count), n = *count;
            int *out = rank == root ? take((size_t)size * (size_t)n * sizeof *out) : NULL;

            /* What is for the root alone is wrong on the others, which may not look at it. */
            OK(MPI_Gather(in, n, MPI_INT, out, rank == root ? n : -7,
                          rank == root ? MPI_INT : MPI_DATATYPE_NULL, root, comm));
            if (rank == root) {
                CHECK_EACH(i, size * n, out, value(i / n, i % n), "gather of %d to %d", n, root);
                give(out);
            }
            give(in);
        }
}

PROGRAM(gather, "every root; count and type of the receiver matter there alone")
{
    each_comm(all_roots);
}
