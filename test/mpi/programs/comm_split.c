/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* Runs each call on a communicator, which may be none, and frees it. */
static void use(MPI_Comm *comm)
{
    int size;

    if (*comm == MPI_COMM_NULL)
        return;
    MPI_Comm_size(*comm, &size);
    for (int collective = 0; collective < COLLECTIVES; collective++) {
        struct call call;

        call_make(&call, collective, *comm, 20, collective % size, 1);
        call_block(&call);
        call_check(&call);
        call_free(&call);
    }
    OK(MPI_Comm_free(comm));
}

PROGRAM(comm_split, "split by colour, with undefined colours, random keys, and by node")
{
    MPI_Comm comm;

    for (int parts = 1; parts <= 3; parts++) {
        OK(MPI_Comm_split(MPI_COMM_WORLD, me % parts, (int)own(10), &comm));
        use(&comm);
    }
    OK(MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? MPI_UNDEFINED : 7, -me, &comm));
    CHECK((comm == MPI_COMM_NULL) == (me == 0), "an undefined colour");
    use(&comm);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -me, MPI_INFO_NULL, &comm));
    use(&comm);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, me % 2 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0,
                           MPI_INFO_NULL, &comm));
    use(&comm);
}
