/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"
#include "own.h"

/* Whoever leaves has seen everyone enter: the late rank's entry comes before all ranks' exits. */
static void late(MPI_Comm comm, int rank, int size)
{
    bool comparable = on_one_node();

    for (int who = 0; who < size; who++) {
        double entered, left, last;

        if (rank == who)
            sleep_ms(5);
        entered = now();
        OK(MPI_Barrier(comm));
        left = now();
        OWN(Allreduce)(&entered, &last, 1, MPI_DOUBLE, MPI_MAX, comm);
        CHECK(!comparable || left >= last, "left a barrier %g s before rank %d entered",
              last - left, who);
    }
    for (int i = 0; i < 50; i++)
        OK(MPI_Barrier(comm));
}

PROGRAM(barrier, "nobody leaves before the last one has entered")
{
    each_comm(late);
}
