/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* A communicator is freed while calls on it are under way: they end as if it were there. Open MPI 4.1 crashes in such
 * calls of its own. */
PROGRAM(comm_freed_early, "communicators freed before their calls have ended", .alone = true)
{
    for (int time = 0; time < 10; time++) {
        struct call calls[3];
        MPI_Request requests[3];
        MPI_Comm comm;

        OK(MPI_Comm_split(MPI_COMM_WORLD, 0, time % 2 ? me : -me, &comm));
        for (int i = 0; i < 3; i++) {
            call_make(&calls[i],
                      i == 0   ? BCAST
                      : i == 1 ? ALLREDUCE
                               : BARRIER,
                      comm, 10 + 1000 * i, 0, i);
            call_start(&calls[i], &requests[i]);
        }
        OK(MPI_Comm_free(&comm));
        if (me == 0)
            sleep_ms(2);
        OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 3; i++) {
            call_check(&calls[i]);
            call_free(&calls[i]);
        }
    }
}
