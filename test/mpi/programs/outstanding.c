/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#define SEVERAL 20

/* Begun in one order on all ranks, and ended in another one on each. */
static void any_order(MPI_Comm comm, int rank, int size)
{
    MPI_Request requests[SEVERAL];
    struct call calls[SEVERAL];
    int order[SEVERAL];

    for (int i = 0; i < SEVERAL; i++) {
        call_make(&calls[i], shared(COLLECTIVES), comm, (int)shared(shared(3) == 0 ? 3000 : 20),
                  (int)shared(1000) % size, i);
        call_start(&calls[i], &requests[i]);
    }
    for (int i = 0; i < SEVERAL; i++) {
        int j = (int)own((unsigned)i + 1);

        order[i] = order[j];
        order[j] = i;
    }
    for (int i = 0; i < SEVERAL; i++) {
        OK(MPI_Wait(&requests[order[i]], MPI_STATUS_IGNORE));
        call_check(&calls[order[i]]);
    }
    for (int i = 0; i < SEVERAL; i++)
        call_free(&calls[i]);
    (void)rank;
}

PROGRAM(outstanding, "twenty calls at once, ended in another order on each rank")
{
    for (int i = 0; i < 3; i++)
        each_comm(any_order);
}
