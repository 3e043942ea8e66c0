/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#define COMMS 6

/* Calls under way on several communicators, begun in another order on each rank, as is allowed across communicators. */
PROGRAM(nonblocking_many_comms,
        "calls on several communicators, begun in another order on each rank")
{
    MPI_Comm comms[COMMS];
    MPI_Request requests[COMMS];
    struct call calls[COMMS];

    for (int i = 0; i < COMMS; i++)
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int time = 0; time < 10; time++) {
        for (int i = 0; i < COMMS; i++) {
            int which = (i + me + time) % COMMS;

            call_make(&calls[which], (which + time) % COLLECTIVES, comms[which], 50, which % ranks,
                      time);
            call_start(&calls[which], &requests[which]);
        }
        OK(MPI_Waitall(COMMS, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < COMMS; i++) {
            call_check(&calls[i]);
            call_free(&calls[i]);
        }
    }
    for (int i = 0; i < COMMS; i++)
        OK(MPI_Comm_free(&comms[i]));
}
