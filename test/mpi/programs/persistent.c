/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* Each request is started thrice with other data, and waited for in three ways. */
static void each_call(MPI_Comm comm, int rank, int size)
{
    (void)rank;
    for (int collective = 0; collective < COLLECTIVES; collective++)
        for (int count = 1; count < 3000; count += 1700) {
            MPI_Request request = MPI_REQUEST_NULL;
            struct call call;
            int done = 1;

            call_make(&call, collective, comm, count, size - 1, 0);
            if (!call_init(&call, &request)) {
                call_free(&call);
                return;
            }
            for (int start = 0; start < 3; start++) {
                call_fill(&call, start);
                OK(start == 1 ? MPI_Startall(1, &request) : MPI_Start(&request));
                done = start == 0;
                if (start == 0)
                    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
                else if (start == 1)
                    done = OK(MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
                while (!done)
                    OK(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
                CHECK(request != MPI_REQUEST_NULL, "a persistent request has gone");
                call_check(&call);
            }
            OK(MPI_Request_free(&request));
            CHECK(request == MPI_REQUEST_NULL, "a freed request is there");
            call_free(&call);
        }
}

PROGRAM(persistent, "the persistent form of each call, where this MPI has them")
{
    each_comm(each_call);
}
