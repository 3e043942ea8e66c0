/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* Blocking calls while others are under way on the same communicator: every one may overtake them. */
static void overtake(MPI_Comm comm, int rank, int size)
{
    (void)rank;
    for (int kind = 0; kind < COLLECTIVES; kind++) {
        MPI_Request request[2];
        struct call open[2], blocking;

        call_make(&open[0], kind, comm, 700, kind % size, 1);
        call_make(&open[1], kind % 2 ? BARRIER : ALLREDUCE, comm, 4, 0, 2);
        call_start(&open[0], &request[0]);
        call_start(&open[1], &request[1]);
        for (int i = 0; i < 3; i++) {
            call_make(&blocking, (kind + i) % COLLECTIVES, comm, 9 + i * 400, (kind + 1) % size, i);
            call_block(&blocking);
            call_check(&blocking);
            call_free(&blocking);
        }
        OK(MPI_Waitall(2, request, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 2; i++) {
            call_check(&open[i]);
            call_free(&open[i]);
        }
    }
}

PROGRAM(outstanding_blocking, "blocking calls while non-blocking ones are under way")
{
    each_comm(overtake);
}
