/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define GAP 3

/* Blocks of other lengths, in reverse order, with gaps between them that stay as they were. */
static void all_roots(MPI_Comm comm, int rank, int size)
{
    int *block_counts = take((size_t)size * sizeof(int)),
        *starts = take((size_t)size * sizeof(int)), total = 0;

    for (int r = size - 1; r >= 0; r--) {
        block_counts[r] = r * 5 % 7 + (r == 1 ? 0 : r * 40);
        starts[r] = total;
        total += block_counts[r] + GAP;
    }
    for (int root = 0; root < size; root++) {
        int *in = take_values(rank, block_counts[rank]), *out = take((size_t)total * sizeof *out);

        memset(out, 0xff, (size_t)total * sizeof *out);
        if (rank == root)
            OK(MPI_Gatherv(in, block_counts[rank], MPI_INT, out, block_counts, starts, MPI_INT,
                           root, comm));
        else
            OK(MPI_Gatherv(in, block_counts[rank], MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL,
                           root, comm));
        for (int r = 0; r < size && rank == root; r++) {
            CHECK_EACH(i, block_counts[r], out + starts[r], value(r, i), "block %d gathered by %d",
                       r, root);
            CHECK_EACH(i, GAP, out + starts[r] + block_counts[r], -1, "the gap past block %d", r);
        }
        give(in);
        give(out);
    }
    give(block_counts);
    give(starts);
}

PROGRAM(gatherv, "blocks of other lengths, in reverse order, with gaps")
{
    each_comm(all_roots);
}
