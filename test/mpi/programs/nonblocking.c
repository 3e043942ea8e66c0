/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* One call at a time, ended by MPI_Wait() or by MPI_Test(). */
static void each_call(MPI_Comm comm, int rank, int size)
{
    static const int some[] = {0, 1, 100, 3000};

    (void)rank;
    for (int collective = 0; collective < COLLECTIVES; collective++)
        for (int i = 0; i < 4; i++) {
            MPI_Request request = MPI_REQUEST_NULL;
            struct call call;
            int done = 0;

            call_make(&call, collective, comm, some[i], (collective + i) % size, i);
            call_start(&call, &request);
            if (i % 2)
                OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            while (i % 2 == 0 && !done)
                OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
            CHECK(request == MPI_REQUEST_NULL, "the request of an ended %s is there",
                  collective_names[collective]);
            call_check(&call);
            call_free(&call);
        }
}

PROGRAM(nonblocking, "the non-blocking form of each call")
{
    each_comm(each_call);
}
