/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* Persistent messages and persistent calls in one MPI_Startall(). */
PROGRAM(requests_persistent_mixed, "persistent messages and calls started together")
{
    int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks, out, in;
    MPI_Request list[4];
    struct call calls[2];

    for (int i = 0; i < 2; i++) {
        call_make(&calls[i], i == 0 ? ALLREDUCE : BCAST, MPI_COMM_WORLD, 40, 0, i);
        if (!call_init(&calls[i], &list[2 + i])) {
            call_free(&calls[0]);
            return;
        }
    }
    OK(MPI_Send_init(&out, 1, MPI_INT, right, 2, MPI_COMM_WORLD, &list[0]));
    OK(MPI_Recv_init(&in, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &list[1]));
    for (int time = 0; time < 5; time++) {
        out = value(me, time);
        call_fill(&calls[0], time);
        call_fill(&calls[1], time + 1);
        OK(MPI_Startall(4, list));
        OK(MPI_Waitall(4, list, MPI_STATUSES_IGNORE));
        CHECK(in == value(left, time), "message %d: %d", time, in);
        call_check(&calls[0]);
        call_check(&calls[1]);
    }
    for (int i = 0; i < 4; i++)
        OK(MPI_Request_free(&list[i]));
    call_free(&calls[0]);
    call_free(&calls[1]);
}
