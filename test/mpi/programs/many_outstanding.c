/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#define MANY 300

/* More than any table of requests that are under way is likely to have. */
static void many(MPI_Comm comm, int rank, int size)
{
    MPI_Request requests[MANY];
    struct call *calls = malloc(MANY * sizeof *calls);

    (void)rank;
    for (int i = 0; i < MANY; i++) {
        call_make(&calls[i],
                  i % 3 == 0   ? ALLREDUCE
                  : i % 3 == 1 ? BCAST
                               : BARRIER,
                  comm, 5, i % size, i);
        call_start(&calls[i], &requests[i]);
    }
    OK(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MANY; i++) {
        call_check(&calls[i]);
        call_free(&calls[i]);
    }
    free(calls);
}

PROGRAM(many_outstanding, "three hundred calls at once")
{
    int size;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    many(MPI_COMM_WORLD, me, size);
}
