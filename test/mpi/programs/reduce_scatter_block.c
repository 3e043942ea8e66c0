/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static void several(MPI_Comm comm, int rank, int size)
{
    for (const int *count = counts; *count >= 0; count++) {
        int n = *count, *in = take_values(rank, n * size), *out = take((size_t)n * sizeof *out);

        OK(MPI_Reduce_scatter_block(in, out, n, MPI_INT, MPI_SUM, comm));
        CHECK_EACH(i, n, out, sum_of_values(0, size, rank * n + i), "reduce_scatter_block of %d",
                   n);
        give(in);
        give(out);
    }
}

PROGRAM(reduce_scatter_block, "several counts")
{
    each_comm(several);
}
