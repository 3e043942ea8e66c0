/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#define SEVERAL 6

/* Requests that exist side by side are started in one order on all ranks, which changes from time to time; blocking
 * calls come between them. */
static void side_by_side(MPI_Comm comm, int rank, int size)
{
    static const enum collective kinds[SEVERAL] = {ALLREDUCE, BCAST,  ALLGATHER,
                                                   BARRIER,   REDUCE, ALLTOALL};
    MPI_Request requests[SEVERAL];
    struct call calls[SEVERAL], between;

    (void)rank;
    for (int i = 0; i < SEVERAL; i++) {
        call_make(&calls[i], kinds[i], comm, 10 + 900 * (i % 2), i % size, i);
        if (!call_init(&calls[i], &requests[i])) {
            for (int j = 0; j <= i; j++)
                call_free(&calls[j]);
            return;
        }
    }
    for (int time = 0; time < 6; time++) {
        for (int i = 0; i < SEVERAL; i++)
            call_fill(&calls[i], time + i);
        if (time % 2)
            OK(MPI_Startall(SEVERAL, requests));
        for (int i = 0; i < SEVERAL && time % 2 == 0; i++)
            OK(MPI_Start(&requests[(i + time) % SEVERAL]));
        call_make(&between, SCAN, comm, 5, 0, time);
        call_block(&between);
        call_check(&between);
        call_free(&between);
        OK(MPI_Waitall(SEVERAL, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < SEVERAL; i++)
            call_check(&calls[i]);
    }
    for (int i = 0; i < SEVERAL; i++) {
        OK(MPI_Request_free(&requests[i]));
        call_free(&calls[i]);
    }
}

PROGRAM(persistent_several, "persistent calls side by side, with blocking ones between")
{
    each_comm(side_by_side);
}
