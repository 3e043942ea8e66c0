/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define MANY 80

/* All there at once: more than there may be room for. */
PROGRAM(comm_many_kept, "many communicators at once", .alone = true)
{
    MPI_Comm comms[MANY];
    int rank, sum;

    for (int i = 0; i < MANY; i++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int i = 0; i < MANY; i += 3) {
        rank = me + i;
        OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comms[i]));
        CHECK(sum == ranks * (ranks - 1) / 2 + i * ranks, "communicator %d: %d", i, sum);
    }
    for (int i = 0; i < MANY; i++)
        OK(MPI_Comm_free(&comms[i]));
}
