/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* Communicators of groups: made by all ranks, or by those of the group alone while the others do something else. */
static void use(MPI_Comm *comm)
{
    if (*comm == MPI_COMM_NULL)
        return;
    for (int i = 0; i < 5; i++) {
        struct call call;

        call_make(&call, i % 2 ? ALLTOALL : ALLREDUCE, *comm, 20, 0, i);
        call_block(&call);
        call_check(&call);
        call_free(&call);
    }
    OK(MPI_Comm_free(comm));
}

PROGRAM(comm_groups,
        "MPI_Comm_create() and MPI_Comm_create_group(), orders of ranks drawn at random")
{
    MPI_Group world, part;
    MPI_Comm comm;
    int *order = malloc((size_t)ranks * sizeof *order);

    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int time = 0; time < 8; time++) {
        int count = 1 + (int)shared((unsigned)ranks), mine;

        for (int i = 0; i < ranks; i++) {
            int j = (int)shared((unsigned)i + 1);

            order[i] = order[j];
            order[j] = i;
        }
        OK(MPI_Group_incl(world, count, order, &part));
        OK(MPI_Group_rank(part, &mine));
        comm = MPI_COMM_NULL;
        if (time % 2 == 0)
            OK(MPI_Comm_create(MPI_COMM_WORLD, part, &comm));
        else if (mine != MPI_UNDEFINED)
            OK(MPI_Comm_create_group(MPI_COMM_WORLD, part, time, &comm));
        CHECK((comm != MPI_COMM_NULL) == (mine != MPI_UNDEFINED), "who is in a communicator of %d",
              count);
        use(&comm);
        OK(MPI_Group_free(&part));
    }
    OK(MPI_Group_free(&world));
    free(order);
}
