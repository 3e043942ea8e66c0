/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static void several(MPI_Comm comm, int rank, int size)
{
    for (const int *count = counts; *count >= 0; count++) {
        int n = *count, *in = take_values(rank, n),
            *out = take((size_t)size * (size_t)n * sizeof *out);

        OK(MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, comm));
        CHECK_EACH(i, size * n, out, value(i / n, i % n), "allgather of %d", n);
        give(in);
        give(out);
    }
}

PROGRAM(allgather, "several counts")
{
    each_comm(several);
}
