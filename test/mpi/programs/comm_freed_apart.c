/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#define MADE 60

/* MPI_Comm_free() waits for no other rank: the last rank frees all its communicators before the others, which wait for
 * a message of it meanwhile, and use these communicators no more. */
PROGRAM(comm_freed_apart, "communicators freed at different times")
{
    MPI_Comm comms[MADE];
    int last = ranks - 1, sum;

    for (int i = 0; i < MADE; i++)
        OK(MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? me : -me, &comms[i]));
    for (int i = 0; i < MADE; i += 7) {
        OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comms[i]));
        CHECK(sum == ranks * (ranks - 1) / 2, "communicator %d: %d", i, sum);
    }
    for (int i = 0; i < MADE && me == last; i++)
        OK(MPI_Comm_free(&comms[i]));
    OK(MPI_Bcast(&sum, 1, MPI_INT, last, MPI_COMM_WORLD));
    for (int i = MADE - 1; i >= 0 && me != last; i--)
        OK(MPI_Comm_free(&comms[i]));
}
