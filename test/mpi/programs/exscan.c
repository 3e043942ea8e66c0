/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* Rank 0 gets nothing. */
static void several(MPI_Comm comm, int rank, int size)
{
    (void)size;
    for (const int *count = counts; *count >= 0; count++) {
        int n = *count, *in = take_values(rank, n), *out = take((size_t)n * sizeof *out);

        memset(out, 0xff, (size_t)n * sizeof *out);
        OK(MPI_Exscan(in, out, n, MPI_INT, MPI_SUM, comm));
        if (rank > 0)
            CHECK_EACH(i, n, out, sum_of_values(0, rank, i), "exscan of %d", n);
        give(in);
        give(out);
    }
}

PROGRAM(exscan, "several counts; rank 0 receives nothing")
{
    each_comm(several);
}
