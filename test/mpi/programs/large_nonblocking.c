/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* Long messages of several calls at once. */
PROGRAM(large_nonblocking, "several long calls at once")
{
    static const enum collective kinds[] = {ALLREDUCE, BCAST, ALLTOALL, ALLGATHERV};
    MPI_Request requests[4];
    struct call calls[4];

    for (int i = 0; i < 4; i++) {
        call_make(&calls[i], kinds[i], MPI_COMM_WORLD, 100000 + i, i % ranks, i);
        call_start(&calls[i], &requests[i]);
    }
    OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < 4; i++) {
        call_check(&calls[i]);
        call_free(&calls[i]);
    }
}
