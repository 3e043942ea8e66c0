/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define GAP 2

/* step: 1 in the order of ranks, -1 in reverse order. Ranks may have different gaps, but not different counts. */
static void one(MPI_Comm comm, int rank, int size, int step, int gap)
{
    int *block_counts = take((size_t)size * sizeof(int)),
        *starts = take((size_t)size * sizeof(int)), total = 0;
    int *in, *out;

    for (int i = 0; i < size; i++) {
        int r = step > 0 ? i : size - 1 - i;

        block_counts[r] = r == 1 ? 0 : r * 29 + 3;
        starts[r] = total;
        total += block_counts[r] + gap;
    }
    in = take_values(rank, block_counts[rank]);
    out = take((size_t)total * sizeof *out);
    memset(out, 0xff, (size_t)total * sizeof *out);
    OK(MPI_Allgatherv(in, block_counts[rank], MPI_INT, out, block_counts, starts, MPI_INT, comm));
    for (int r = 0; r < size; r++) {
        CHECK_EACH(i, block_counts[r], out + starts[r], value(r, i), "block %d, step %d, gap %d", r,
                   step, gap);
        CHECK_EACH(i, gap, out + starts[r] + block_counts[r], -1, "the gap past block %d", r);
    }
    give(in);
    give(out);
    give(block_counts);
    give(starts);
}

static void orders(MPI_Comm comm, int rank, int size)
{
    one(comm, rank, size, 1, 0);
    one(comm, rank, size, -1, GAP);
    one(comm, rank, size, rank % 2 ? 1 : -1, rank % 3);
}

PROGRAM(allgatherv, "blocks of other lengths, with displacements that differ from rank to rank")
{
    each_comm(orders);
}
