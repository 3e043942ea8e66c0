/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* MPI_Request_get_status() tells of the end, moves the call on, and leaves the request there. */
static void status(MPI_Comm comm, int rank, int size)
{
    (void)rank;
    for (int collective = 0; collective < COLLECTIVES; collective++) {
        struct call call;
        MPI_Request request;
        int flag = 0;

        call_make(&call, collective, comm, 300, size / 2, collective);
        call_start(&call, &request);
        while (!flag)
            OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
        call_check(&call);
        OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
        CHECK(flag && request != MPI_REQUEST_NULL, "a request that was looked at has gone");
        OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        CHECK(flag && request == MPI_REQUEST_NULL, "an ended request is there");
        call_free(&call);
    }
}

PROGRAM(requests_status, "MPI_Request_get_status() until the call has ended")
{
    each_comm(status);
}
