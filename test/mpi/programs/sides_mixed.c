/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* What is sent lies between the blocks that are received, in one array. MPI forbids only that a byte is in both. */
PROGRAM(sides_mixed, "blocks to send among blocks to receive")
{
    int *both = take(sizeof(int) * 2 * (size_t)ranks), lengths[64], evens[64], odds[64];

    for (int q = 0; q < ranks; q++) {
        lengths[q] = 1;
        evens[q] = 2 * q;
        odds[q] = 2 * q + 1;
    }
    for (int root = 0; root < ranks; root++) {
        for (int q = 0; q < ranks; q++) {
            both[2 * q] = 100 * me + q;
            both[2 * q + 1] = -1;
        }
        /* The base addresses differ: some MPIs refuse to send from where they receive. */
        OK(MPI_Alltoallv(both, lengths, evens, MPI_INT, both + 1, lengths, evens, MPI_INT,
                         MPI_COMM_WORLD));
        for (int q = 0; q < ranks; q++)
            CHECK(both[2 * q + 1] == 100 * q + me, "alltoallv: %d from %d", both[2 * q + 1], q);
        OK(MPI_Allgatherv(both + 2 * me, 1, MPI_INT, both, lengths, odds, MPI_INT, MPI_COMM_WORLD));
        for (int q = 0; q < ranks; q++)
            CHECK(both[2 * q + 1] == 101 * q, "allgatherv: %d from %d", both[2 * q + 1], q);
        OK(MPI_Gatherv(both + 2 * root, 1, MPI_INT, both, lengths, odds, MPI_INT, root,
                       MPI_COMM_WORLD));
        for (int q = 0; q < ranks && me == root; q++)
            CHECK(both[2 * q + 1] == 100 * q + root, "gatherv: %d from %d", both[2 * q + 1], q);
        OK(MPI_Scatterv(both, lengths, evens, MPI_INT, both + 2 * root + 1, 1, MPI_INT, root,
                        MPI_COMM_WORLD));
        CHECK(both[2 * root + 1] == 100 * root + me, "scatterv: %d", both[2 * root + 1]);
    }
    give(both);
}
