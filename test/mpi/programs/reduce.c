/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static void all_roots(MPI_Comm comm, int rank, int size)
{
    for (int root = 0; root < size; root++)
        for (const int *count = counts; *count >= 0; count++) {
            int *in = take_values(rank, *count),
                *out = rank == root ? take((size_t)*count * sizeof *out) : NULL;

            OK(MPI_Reduce(in, out, *count, MPI_INT, MPI_SUM, root, comm));
            if (rank == root) {
                CHECK_EACH(i, *count, out, sum_of_values(0, size, i), "reduce of %d to %d", *count,
                           root);
                give(out);
            }
            CHECK_EACH(i, *count, in, value(rank, i), "what was sent");
            give(in);
        }
}

PROGRAM(reduce, "every root; the receive buffer matters there alone")
{
    each_comm(all_roots);
}
