/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#define KEPT 30
#define MADE 75

/* Dozens of communicators, up to thirty at a time, and calls on those that are there. */
PROGRAM(comm_many, "many communicators made and freed", .alone = true)
{
    MPI_Comm kept[KEPT];
    int right = 0;

    for (int i = 0; i < KEPT; i++)
        kept[i] = MPI_COMM_NULL;
    for (int i = 0; i < MADE; i++) {
        MPI_Comm *comm = &kept[i % KEPT];
        int sum, rank, size, other = (i * 7 + 3) % KEPT;

        if (*comm != MPI_COMM_NULL)
            OK(MPI_Comm_free(comm));
        OK(MPI_Comm_split(MPI_COMM_WORLD, me % (1 + i % 2), i % 3 ? me : -me, comm));
        for (int j = 0; j < 2; j++) {
            MPI_Comm used = kept[j == 0 ? i % KEPT : other];

            if (used == MPI_COMM_NULL)
                continue;
            MPI_Comm_rank(used, &rank);
            MPI_Comm_size(used, &size);
            OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, used));
            right += CHECK(sum == size * (size - 1) / 2, "communicator %d: %d", i, sum);
        }
    }
    for (int i = 0; i < KEPT; i++)
        OK(MPI_Comm_free(&kept[i]));
    CHECK(right > MADE, "%d calls", right);
}
