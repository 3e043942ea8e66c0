/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static void sum(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* Operation and type are freed while a call uses them; and many operations come and go. */
static void freed(MPI_Comm comm, int rank, int size)
{
    for (int i = 0; i < 100; i++) {
        MPI_Op op;
        MPI_Datatype type;
        MPI_Request request;
        int in[4], out[4];

        for (int j = 0; j < 4; j++)
            in[j] = value(rank, i + j);
        OK(MPI_Op_create(sum, i % 2, &op));
        OK(MPI_Type_dup(MPI_INT, &type));
        OK(MPI_Iallreduce(in, out, 4, type, op, comm, &request));
        OK(MPI_Op_free(&op));
        OK(MPI_Type_free(&type));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_EACH(j, 4, out, sum_of_values(0, size, i + j), "allreduce %d", i);
    }
}

PROGRAM(user_operation_freed, "operations and types freed while a call uses them")
{
    each_comm(freed);
}
