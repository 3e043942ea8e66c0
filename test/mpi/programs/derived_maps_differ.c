/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define N 4

/* The same signature, four ints, by another type map on each rank: it is the signature that has to agree. */
static MPI_Datatype map_of(int rank)
{
    int lengths[N] = {1, 1, 1, 1}, at[N] = {6, 0, 3, 9};
    MPI_Datatype type;

    switch (rank % 4) {
    case 0:
        OK(MPI_Type_contiguous(N, MPI_INT, &type));
        break;
    case 1:
        OK(MPI_Type_vector(N, 1, 2, MPI_INT, &type));
        break;
    case 2:
        OK(MPI_Type_indexed(N, lengths, at, MPI_INT, &type));
        break;
    default:
        OK(MPI_Type_create_indexed_block(N, 1, at, MPI_INT, &type));
    }
    OK(MPI_Type_commit(&type));
    return type;
}

static int place(int rank, int i)
{
    static const int at[N] = {6, 0, 3, 9};

    return rank % 4 == 0 ? i : rank % 4 == 1 ? 2 * i : at[i];
}

static void signatures(MPI_Comm comm, int rank, int size)
{
    MPI_Datatype mine = map_of(rank);
    int room[12], *out = take((size_t)size * N * sizeof *out);

    for (int root = 0; root < size; root++) {
        memset(room, 0xff, sizeof room);
        for (int i = 0; i < N && rank == root; i++)
            room[place(rank, i)] = value(root, i);
        OK(MPI_Bcast(room, 1, mine, root, comm));
        for (int i = 0; i < N; i++)
            CHECK(room[place(rank, i)] == value(root, i), "int %d of %d, from %d", i, rank, root);
        for (int i = 0; i < N; i++)
            room[place(rank, i)] = value(rank, i);
        OK(MPI_Gather(room, 1, mine, out, N, MPI_INT, root, comm));
        if (rank == root)
            CHECK_EACH(i, size * N, out, value(i / N, i % N), "gather of %d maps", size);
    }
    OK(MPI_Allgather(room, 1, mine, out, N, MPI_INT, comm));
    CHECK_EACH(i, size * N, out, value(i / N, i % N), "allgather of %d maps", size);
    OK(MPI_Type_free(&mine));
    give(out);
}

PROGRAM(derived_maps_differ, "one signature, another type map on each rank")
{
    each_comm(signatures);
}
