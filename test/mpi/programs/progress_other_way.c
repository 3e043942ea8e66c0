/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* The other way round: collectives that were begun have to move while ranks wait in MPI's own calls. Each rank begins
 * one, and then waits for a message that is sent only when the collective has ended at its sender. */
PROGRAM(progress_other_way, "non-blocking collectives move while ranks wait for messages",
        .ranks = 2)
{
    static const enum collective kinds[] = {ALLREDUCE, BARRIER, ALLGATHER, ALLTOALL};

    for (int i = 0; i < 8; i++) {
        struct call call;
        MPI_Request request;
        int token = i;

        call_make(&call, kinds[i % 4], MPI_COMM_WORLD, i < 4 ? 10 : 20000, 0, i);
        call_start(&call, &request);
        if (me == 0) {
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            for (int r = 1; r < ranks; r++)
                OK(MPI_Send(&token, 1, MPI_INT, r, 9, MPI_COMM_WORLD));
        } else {
            OK(MPI_Recv(&token, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        call_check(&call);
        call_free(&call);
    }
}
