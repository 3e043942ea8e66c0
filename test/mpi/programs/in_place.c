/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static int *room, *displacements, *block_counts;

/* The rank's own block is in its place; the others hold nothing of use. */
static void fill_own(int rank, int size, int n)
{
    for (int i = 0; i < size * n; i++)
        room[i] = i / n == rank ? value(rank, i % n) : -1;
}

static void fill(int rank, int count)
{
    for (int i = 0; i < count; i++)
        room[i] = value(rank, i);
}

static void moves(MPI_Comm comm, int rank, int size, int n, int root)
{
    int *in = take_values(rank, n);

    fill_own(rank, size, n);
    OK(MPI_Gather(rank == root ? MPI_IN_PLACE : in, n, MPI_INT, room, n, MPI_INT, root, comm));
    if (rank == root)
        CHECK_EACH(i, size * n, room, value(i / n, i % n), "gather in place");
    fill_own(rank, size, n);
    OK(MPI_Gatherv(rank == root ? MPI_IN_PLACE : in, n, MPI_INT, room, block_counts, displacements,
                   MPI_INT, root, comm));
    if (rank == root)
        CHECK_EACH(i, size * n, room, value(i / n, i % n), "gatherv in place");
    fill(rank, size * n);
    OK(MPI_Scatter(room, n, MPI_INT, rank == root ? MPI_IN_PLACE : in, n, MPI_INT, root, comm));
    CHECK_EACH(i, n, rank == root ? room + root * n : in, value(root, rank * n + i),
               "scatter in place");
    fill(rank, size * n);
    OK(MPI_Scatterv(room, block_counts, displacements, MPI_INT, rank == root ? MPI_IN_PLACE : in, n,
                    MPI_INT, root, comm));
    CHECK_EACH(i, n, rank == root ? room + root * n : in, value(root, rank * n + i),
               "scatterv in place");
    give(in);
}

static void exchanges(MPI_Comm comm, int rank, int size, int n)
{
    MPI_Datatype *types = malloc((size_t)size * sizeof *types);
    int *bytes = take((size_t)size * sizeof *bytes);

    for (int r = 0; r < size; r++) {
        types[r] = MPI_INT;
        bytes[r] = r * n * (int)sizeof(int);
    }
    /* With MPI_IN_PLACE, count and type of what is sent are ignored. */
    fill_own(rank, size, n);
    OK(MPI_Allgather(MPI_IN_PLACE, -3, MPI_DATATYPE_NULL, room, n, MPI_INT, comm));
    CHECK_EACH(i, size * n, room, value(i / n, i % n), "allgather in place");
    fill_own(rank, size, n);
    OK(MPI_Allgatherv(MPI_IN_PLACE, -3, MPI_DATATYPE_NULL, room, block_counts, displacements,
                      MPI_INT, comm));
    CHECK_EACH(i, size * n, room, value(i / n, i % n), "allgatherv in place");
    fill(rank, size * n);
    OK(MPI_Alltoall(MPI_IN_PLACE, -3, MPI_DATATYPE_NULL, room, n, MPI_INT, comm));
    CHECK_EACH(i, size * n, room, value(i / n, rank * n + i % n), "alltoall in place");
    fill(rank, size * n);
    OK(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, room, block_counts, displacements,
                     MPI_INT, comm));
    CHECK_EACH(i, size * n, room, value(i / n, rank * n + i % n), "alltoallv in place");
    fill(rank, size * n);
    OK(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, room, block_counts, bytes, types, comm));
    CHECK_EACH(i, size * n, room, value(i / n, rank * n + i % n), "alltoallw in place");
    free(types);
    give(bytes);
}

/* Reduced by rank 0 if it is much: MPICH 4.0 crashes with more than 2 kB in place at another root. */
static void sums(MPI_Comm comm, int rank, int size, int n, int root)
{
    int *in = take_values(rank, n);

    fill(rank, n);
    OK(MPI_Reduce(rank == root ? MPI_IN_PLACE : in, room, n, MPI_INT, MPI_SUM, root, comm));
    if (rank == root)
        CHECK_EACH(i, n, room, sum_of_values(0, size, i), "reduce in place");
    fill(rank, n);
    OK(MPI_Allreduce(MPI_IN_PLACE, room, n, MPI_INT, MPI_SUM, comm));
    CHECK_EACH(i, n, room, sum_of_values(0, size, i), "allreduce in place");
    fill(rank, size * n);
    OK(MPI_Reduce_scatter_block(MPI_IN_PLACE, room, n, MPI_INT, MPI_SUM, comm));
    CHECK_EACH(i, n, room, sum_of_values(0, size, rank * n + i), "reduce_scatter_block in place");
    fill(rank, size * n);
    OK(MPI_Reduce_scatter(MPI_IN_PLACE, room, block_counts, MPI_INT, MPI_SUM, comm));
    CHECK_EACH(i, n, room, sum_of_values(0, size, rank * n + i), "reduce_scatter in place");
    fill(rank, n);
    OK(MPI_Scan(MPI_IN_PLACE, room, n, MPI_INT, MPI_SUM, comm));
    CHECK_EACH(i, n, room, sum_of_values(0, rank + 1, i), "scan in place");
    fill(rank, n);
    OK(MPI_Exscan(MPI_IN_PLACE, room, n, MPI_INT, MPI_SUM, comm));
    if (rank > 0)
        CHECK_EACH(i, n, room, sum_of_values(0, rank, i), "exscan in place");
    give(in);
}

static void all_forms(MPI_Comm comm, int rank, int size)
{
    for (int n = 1; n < 3000; n = n * 9 + 4) {
        room = take((size_t)size * (size_t)n * sizeof *room);
        displacements = take((size_t)size * sizeof(int));
        block_counts = take((size_t)size * sizeof(int));
        for (int r = 0; r < size; r++) {
            displacements[r] = r * n;
            block_counts[r] = n;
        }
        moves(comm, rank, size, n, n % size);
        exchanges(comm, rank, size, n);
        sums(comm, rank, size, n, n > 500 ? 0 : (n + 1) % size);
        give(room);
        give(displacements);
        give(block_counts);
    }
}

PROGRAM(in_place, "MPI_IN_PLACE in each call that has it")
{
    each_comm(all_forms);
}
