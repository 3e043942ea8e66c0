/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static void uneven(MPI_Comm comm, int rank, int size)
{
    int *block_counts = take((size_t)size * sizeof(int));

    for (int scale = 0; scale <= 500; scale += scale == 0 ? 1 : 499) {
        int total = 0, start = 0, *in, *out;

        for (int r = 0; r < size; r++) {
            block_counts[r] = r == 1 ? 0 : scale * (r + 1);
            if (r < rank)
                start += block_counts[r];
            total += block_counts[r];
        }
        in = take_values(rank, total);
        out = take((size_t)block_counts[rank] * sizeof *out);
        OK(MPI_Reduce_scatter(in, out, block_counts, MPI_INT, MPI_SUM, comm));
        CHECK_EACH(i, block_counts[rank], out, sum_of_values(0, size, start + i),
                   "reduce_scatter of %d", total);
        give(in);
        give(out);
    }
    give(block_counts);
}

PROGRAM(reduce_scatter, "blocks of other lengths, some empty")
{
    each_comm(uneven);
}
