/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* Blocks of other lengths; those of two ranks are the same piece of the root's memory, as the standard allows. */
static void all_roots(MPI_Comm comm, int rank, int size)
{
    int *block_counts = take((size_t)size * sizeof(int)),
        *starts = take((size_t)size * sizeof(int)), total = 0;

    for (int r = 0; r < size; r++) {
        block_counts[r] = r == 2 ? 0 : r * 37 + 1;
        starts[r] = total;
        total += block_counts[r] + 2;
    }
    if (size > 3)
        starts[1] = starts[3];
    for (int root = 0; root < size; root++) {
        int *in = take_values(root, total), *out = take((size_t)block_counts[rank] * sizeof *out);

        if (rank == root)
            OK(MPI_Scatterv(in, block_counts, starts, MPI_INT, out, block_counts[rank], MPI_INT,
                            root, comm));
        else
            OK(MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, out, block_counts[rank], MPI_INT,
                            root, comm));
        CHECK_EACH(i, block_counts[rank], out, value(root, starts[rank] + i),
                   "block scattered by %d", root);
        give(in);
        give(out);
    }
    give(block_counts);
    give(starts);
}

PROGRAM(scatterv, "blocks of other lengths, two of them the same one")
{
    each_comm(all_roots);
}
