/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* Buffers that are MPI_BOTTOM, with types of absolute addresses. */
static void absolute(MPI_Comm comm, int rank, int size)
{
    int first[4], second[3], lengths[2] = {4, 3}, *out = take((size_t)size * 7 * sizeof *out);
    MPI_Aint at[2];
    MPI_Datatype both;

    for (int i = 0; i < 7; i++)
        *(i < 4 ? &first[i] : &second[i - 4]) = value(rank, i);
    OK(MPI_Get_address(first, &at[0]));
    OK(MPI_Get_address(second, &at[1]));
    OK(MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &both));
    OK(MPI_Type_commit(&both));
    OK(MPI_Allgather(MPI_BOTTOM, 1, both, out, 7, MPI_INT, comm));
    CHECK_EACH(i, size * 7, out, value(i / 7, i % 7), "allgather from two arrays");
    OK(MPI_Bcast(MPI_BOTTOM, 1, both, size - 1, comm));
    for (int i = 0; i < 7; i++)
        CHECK((i < 4 ? first[i] : second[i - 4]) == value(size - 1, i), "int %d of a bcast", i);
    OK(MPI_Type_free(&both));
    give(out);
}

PROGRAM(bottom, "MPI_BOTTOM and absolute addresses")
{
    each_comm(absolute);
}
