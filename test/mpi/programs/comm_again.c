/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#define TIMES 60

/* The time-th communicator: of all ranks, of all in the opposite order, of the even ones, or of some. */
static MPI_Comm make(int time)
{
    MPI_Comm comm;

    switch (time % 5) {
    case 0:
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        break;
    case 1:
        OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &comm));
        break;
    case 2:
    case 3:
        OK(MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &comm));
        break;
    default:
        OK(MPI_Comm_split(MPI_COMM_WORLD, me > time % ranks ? MPI_UNDEFINED : 0, me, &comm));
    }
    return comm;
}

static void add_and_count(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] = ((int *)in)[i] + ((int *)inout)[i] + 1;
}

/* A few calls, the last of which has only just ended when the communicator is freed. */
static void use(MPI_Comm comm, int time, MPI_Op op)
{
    int rank, size, sum, root, late = time;
    MPI_Request request;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size * (size - 1) / 2, "communicator %d: %d", time, sum);
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, comm));
    CHECK(sum == size * (size - 1) / 2 + size - 1, "communicator %d, own operation: %d", time, sum);
    root = rank == size - 1 ? time : -1;
    OK(MPI_Bcast(&root, 1, MPI_INT, size - 1, comm));
    CHECK(root == time, "communicator %d: bcast of %d", time, root);
    OK(MPI_Ibcast(&late, 1, MPI_INT, 0, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(late == time, "communicator %d: ibcast of %d", time, late);
    OK(MPI_Comm_free(&comm));
}

/* Communicators of the same ranks, one after the other, and two at a time. */
PROGRAM(comm_again, "communicators of the same ranks made again and again", .alone = true)
{
    MPI_Op op;

    OK(MPI_Op_create(add_and_count, 1, &op));
    for (int time = 0; time < TIMES; time++) {
        MPI_Comm first = make(time), second = time % 4 ? MPI_COMM_NULL : make(time);

        if (first != MPI_COMM_NULL)
            use(first, time, op);
        if (second != MPI_COMM_NULL)
            use(second, time, op);
    }
    OK(MPI_Op_free(&op));
}
