/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define N     37
#define CALLS 9

/* Each on memory of its own, all at once. */
static void all_forms(MPI_Comm comm, int rank, int size)
{
    MPI_Request requests[CALLS];
    int *room[CALLS], *n = take((size_t)size * sizeof(int)), *at = take((size_t)size * sizeof(int)),
                      total = size * N, c = 0;
    int last = size - 1;

    for (int r = 0; r < size; r++) {
        n[r] = N;
        at[r] = r * N;
    }
    for (int i = 0; i < CALLS; i++)
        room[i] = take_values(rank, total);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < N; j++)
            room[i][rank * N + j] = value(rank, j);
    OK(MPI_Igather(rank == last ? MPI_IN_PLACE : room[c] + rank * N, N, MPI_INT, room[c], N,
                   MPI_INT, last, comm, &requests[c]));
    c++;
    OK(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, room[c], N, MPI_INT, comm, &requests[c]));
    c++;
    OK(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, room[c], n, at, MPI_INT, comm,
                       &requests[c]));
    c++;
    OK(MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, room[c], N, MPI_INT, comm, &requests[c]));
    c++;
    OK(MPI_Ireduce(rank == last ? MPI_IN_PLACE : room[c], room[c], N, MPI_INT, MPI_SUM, last, comm,
                   &requests[c]));
    c++;
    OK(MPI_Iallreduce(MPI_IN_PLACE, room[c], total, MPI_INT, MPI_SUM, comm, &requests[c]));
    c++;
    OK(MPI_Ireduce_scatter_block(MPI_IN_PLACE, room[c], N, MPI_INT, MPI_SUM, comm, &requests[c]));
    c++;
    OK(MPI_Iscan(MPI_IN_PLACE, room[c], N, MPI_INT, MPI_SUM, comm, &requests[c]));
    c++;
    OK(MPI_Iexscan(MPI_IN_PLACE, room[c], N, MPI_INT, MPI_SUM, comm, &requests[c]));
    OK(MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE));
    for (int i = rank == last ? 0 : 1; i < 3; i++)
        CHECK_EACH(j, total, room[i], value(j / N, j % N), "gather %d in place", i);
    CHECK_EACH(j, total, room[3], value(j / N, rank * N + j % N), "alltoall in place");
    if (rank == last)
        CHECK_EACH(j, N, room[4], sum_of_values(0, size, j), "reduce in place");
    CHECK_EACH(j, total, room[5], sum_of_values(0, size, j), "allreduce in place");
    CHECK_EACH(j, N, room[6], sum_of_values(0, size, rank * N + j),
               "reduce_scatter_block in place");
    CHECK_EACH(j, N, room[7], sum_of_values(0, rank + 1, j), "scan in place");
    if (rank > 0)
        CHECK_EACH(j, N, room[8], sum_of_values(0, rank, j), "exscan in place");
    for (int i = 0; i < CALLS; i++)
        give(room[i]);
    give(n);
    give(at);
}

PROGRAM(nonblocking_in_place, "MPI_IN_PLACE in non-blocking calls")
{
    each_comm(all_forms);
}
