/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static void several(MPI_Comm comm, int rank, int size)
{
    (void)size;
    for (const int *count = counts; *count >= 0; count++) {
        int n = *count, *in = take_values(rank, n), *out = take((size_t)n * sizeof *out);

        OK(MPI_Scan(in, out, n, MPI_INT, MPI_SUM, comm));
        CHECK_EACH(i, n, out, sum_of_values(0, rank + 1, i), "scan of %d", n);
        give(in);
        give(out);
    }
}

PROGRAM(scan, "several counts")
{
    each_comm(several);
}
