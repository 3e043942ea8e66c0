/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define LONG 500000

/* A long message has to end although its sender waits in a collective by then: the receiver enters it only after it
 * has received. MPI's own messages have to move while a rank waits. */
static void behind(void (*wait)(void))
{
    for (int from = 0; from < ranks; from++) {
        int to = (from + 1) % ranks, *data = take(LONG * sizeof *data);
        MPI_Request request = MPI_REQUEST_NULL;

        if (me == from) {
            for (int i = 0; i < LONG; i++)
                data[i] = value(from, i);
            OK(MPI_Isend(data, LONG, MPI_INT, to, 1, MPI_COMM_WORLD, &request));
        } else if (me == to) {
            OK(MPI_Recv(data, LONG, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_EACH(i, LONG, data, value(from, i), "message from %d", from);
        }
        wait();
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        give(data);
    }
}

static void barrier(void)
{
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void allreduce(void)
{
    int sum;

    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
}

static void ibarrier(void)
{
    MPI_Request request;

    OK(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void long_bcast(void)
{
    int *data = malloc(LONG * sizeof *data);

    memset(data, 0, LONG * sizeof *data);
    OK(MPI_Bcast(data, LONG, MPI_INT, ranks - 1, MPI_COMM_WORLD));
    free(data);
}

PROGRAM(progress_rendezvous, "long messages move while their sender waits in a collective",
        .ranks = 2)
{
    behind(barrier);
    behind(allreduce);
    behind(ibarrier);
    behind(long_bcast);
}
