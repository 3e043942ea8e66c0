/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* Each call on no elements, thrice, with null buffers where a call has no other arguments. */
static void nothing(MPI_Comm comm, int rank, int size)
{
    (void)rank;
    for (int collective = 0; collective < COLLECTIVES; collective++)
        for (int i = 0; i < 3; i++) {
            struct call call;

            call_make(&call, collective, comm, 0, i % size, 0);
            call_block(&call);
            call_check(&call);
            call_free(&call);
        }
    OK(MPI_Bcast(NULL, 0, MPI_INT, 0, comm));
    OK(MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, comm));
    OK(MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, comm));
}

PROGRAM(zero_counts, "each call on no elements")
{
    each_comm(nothing);
}
