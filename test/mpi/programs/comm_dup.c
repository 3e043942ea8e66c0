/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* Duplicates, made by MPI_Comm_dup(), MPI_Comm_idup() and MPI_Comm_dup_with_info(), are apart from each other. */
static void copies(MPI_Comm comm, int rank, int size)
{
    MPI_Comm copy[3];
    MPI_Request requests[3], made;
    struct call calls[3];

    (void)rank;
    OK(MPI_Comm_idup(comm, &copy[0], &made));
    OK(MPI_Comm_dup(comm, &copy[1]));
    OK(MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &copy[2]));
    OK(MPI_Wait(&made, MPI_STATUS_IGNORE));
    for (int i = 0; i < 3; i++) {
        call_make(&calls[i], ALLREDUCE, copy[i], 30, 0, i);
        call_start(&calls[i], &requests[i]);
    }
    for (int i = 2; i >= 0; i--) {
        struct call call;

        call_make(&call, BCAST, copy[i], 30, size - 1, i);
        call_block(&call);
        call_check(&call);
        call_free(&call);
        OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        call_check(&calls[i]);
        call_free(&calls[i]);
    }
    for (int i = 0; i < 3; i++) {
        OK(MPI_Comm_free(&copy[i]));
        CHECK(copy[i] == MPI_COMM_NULL, "a freed communicator is there");
    }
}

PROGRAM(comm_dup, "duplicates of communicators")
{
    each_comm(copies);
}
