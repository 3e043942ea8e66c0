/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* Data at absolute addresses moves while a persistent call is under way, which other ranks begin later. */
PROGRAM(bottom_persistent, "MPI_BOTTOM while a persistent call is under way", .alone = true,
        .ranks = 2)
{
    int first[3] = {0}, second[3] = {0}, lengths[2] = {3, 3};
    MPI_Aint at[2];
    MPI_Comm comm;
    MPI_Datatype both;
    MPI_Request request;
    struct call call;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Get_address(first, &at[0]));
    OK(MPI_Get_address(second, &at[1]));
    OK(MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &both));
    OK(MPI_Type_commit(&both));
    call_make(&call, ALLREDUCE, comm, 10, 0, 1);
    if (!call_init(&call, &request))
        return;
    for (int time = 0; time < 3; time++) {
        for (int i = 0; i < 3; i++) {
            first[i] = value(me, i);
            second[i] = value(me, 3 + i);
        }
        call_fill(&call, time);
        if (me == 0)
            OK(MPI_Start(&request));
        OK(MPI_Bcast(MPI_BOTTOM, 1, both, 0, MPI_COMM_WORLD));
        CHECK_EACH(i, 3, first, value(0, i), "bcast, first array");
        CHECK_EACH(i, 3, second, value(0, 3 + i), "bcast, second array");
        if (me != 0)
            OK(MPI_Start(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        call_check(&call);
    }
    OK(MPI_Request_free(&request));
    call_free(&call);
    OK(MPI_Type_free(&both));
    OK(MPI_Comm_free(&comm));
}
