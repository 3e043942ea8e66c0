/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static void sums(MPI_Comm comm, int rank, int size)
{
    for (const int *count = counts; *count >= 0; count++) {
        int *in = take_values(rank, *count), *out = take((size_t)*count * sizeof *out);

        OK(MPI_Allreduce(in, out, *count, MPI_INT, MPI_SUM, comm));
        CHECK_EACH(i, *count, out, sum_of_values(0, size, i), "allreduce of %d", *count);
        CHECK_EACH(i, *count, in, value(rank, i), "what was sent");
        give(in);
        give(out);
    }
}

PROGRAM(allreduce, "sums of several counts")
{
    each_comm(sums);
}
