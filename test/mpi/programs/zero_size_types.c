/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* Types without data: no byte moves, whatever the count. */
static void empty(MPI_Comm comm, int rank, int size)
{
    MPI_Datatype none, wide;
    int data = rank, other = -1;

    OK(MPI_Type_contiguous(0, MPI_INT, &none));
    OK(MPI_Type_create_resized(none, 0, 64, &wide));
    OK(MPI_Type_commit(&none));
    OK(MPI_Type_commit(&wide));
    for (int root = 0; root < size; root++) {
        OK(MPI_Bcast(&data, 5, none, root, comm));
        OK(MPI_Bcast(&data, 1, wide, root, comm));
        OK(MPI_Gather(&data, 3, none, &other, 3, none, root, comm));
        OK(MPI_Scatter(&data, 1, wide, &other, 0, MPI_INT, root,
                       comm)); /* the signatures are both empty */
    }
    OK(MPI_Allgather(&data, 2, none, &other, 0, MPI_DOUBLE, comm));
    OK(MPI_Alltoall(&data, 2, none, &other, 2, none, comm));
    CHECK(data == rank && other == -1, "something was written: %d, %d", data, other);
    OK(MPI_Type_free(&none));
    OK(MPI_Type_free(&wide));
}

PROGRAM(zero_size_types, "types without data")
{
    each_comm(empty);
}
