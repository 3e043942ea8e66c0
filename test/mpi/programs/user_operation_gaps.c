/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* An operation on a type with gaps: it steps by the extent, and gets the handle of the type. */
static void sum(void *in, void *inout, int *length, MPI_Datatype *type)
{
    MPI_Aint lower, extent;

    MPI_Type_get_extent(*type, &lower, &extent);
    for (int i = 0; i < *length; i++) {
        int *a = (int *)((char *)in + i * extent), *b = (int *)((char *)inout + i * extent);

        b[0] += a[0];
        b[2] += a[2];
    }
}

static void gaps(MPI_Comm comm, int rank, int size)
{
    MPI_Datatype ends, spaced;
    MPI_Op op;
    int in[40], out[40];

    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &ends));
    OK(MPI_Type_create_resized(ends, 0, 16, &spaced));
    OK(MPI_Type_commit(&spaced));
    OK(MPI_Op_create(sum, 1, &op));
    for (int i = 0; i < 40; i++) {
        in[i] = value(rank, i);
        out[i] = -1;
    }
    OK(MPI_Allreduce(in, out, 10, spaced, op, comm));
    CHECK_EACH(i, 40, out, i % 2 ? -1 : sum_of_values(0, size, i),
               "allreduce of elements with gaps");
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&ends));
    OK(MPI_Type_free(&spaced));
}

PROGRAM(user_operation_gaps, "an operation of the program's own on a type with gaps")
{
    each_comm(gaps);
}
