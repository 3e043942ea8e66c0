/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#define N     29
#define CALLS 6

#ifdef PERSISTENT
#define INIT(upper) PERSISTENT(upper, )

/* Each on memory of its own, all started together, thrice with other data. */
static void all_forms(MPI_Comm comm, int rank, int size)
{
    MPI_Request requests[CALLS];
    int *room[CALLS], total = size * N;

    for (int i = 0; i < CALLS; i++)
        room[i] = take((size_t)total * sizeof(int));
    OK(INIT(Allgather)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, room[0], N, MPI_INT, comm, MPI_INFO_NULL,
                       &requests[0]));
    OK(INIT(Alltoall)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, room[1], N, MPI_INT, comm, MPI_INFO_NULL,
                      &requests[1]));
    OK(INIT(Allreduce)(MPI_IN_PLACE, room[2], total, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
                       &requests[2]));
    OK(INIT(Reduce)(rank == 0 ? MPI_IN_PLACE : room[3], room[3], N, MPI_INT, MPI_SUM, 0, comm,
                    MPI_INFO_NULL, &requests[3]));
    OK(INIT(Scan)(MPI_IN_PLACE, room[4], N, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[4]));
    OK(INIT(Reduce_scatter_block)(MPI_IN_PLACE, room[5], N, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
                                  &requests[5]));
    for (int time = 0; time < 3; time++) {
        for (int i = 0; i < CALLS; i++)
            for (int j = 0; j < total; j++)
                room[i][j] = i == 0 ? (j / N == rank ? value(rank, j % N + time) : -1)
                                    : value(rank, j + time);
        OK(MPI_Startall(CALLS, requests));
        OK(MPI_Waitall(CALLS, requests, MPI_STATUSES_IGNORE));
        CHECK_EACH(j, total, room[0], value(j / N, j % N + time), "allgather, start %d", time);
        CHECK_EACH(j, total, room[1], value(j / N, rank * N + j % N + time), "alltoall, start %d",
                   time);
        CHECK_EACH(j, total, room[2], sum_of_values(0, size, j + time), "allreduce, start %d",
                   time);
        if (rank == 0)
            CHECK_EACH(j, N, room[3], sum_of_values(0, size, j + time), "reduce, start %d", time);
        CHECK_EACH(j, N, room[4], sum_of_values(0, rank + 1, j + time), "scan, start %d", time);
        CHECK_EACH(j, N, room[5], sum_of_values(0, size, rank * N + j + time),
                   "reduce_scatter_block, start %d", time);
    }
    for (int i = 0; i < CALLS; i++) {
        OK(MPI_Request_free(&requests[i]));
        give(room[i]);
    }
}
#endif

PROGRAM(persistent_in_place, "MPI_IN_PLACE in persistent calls")
{
#ifdef PERSISTENT
    each_comm(all_forms);
#else
    not_run("this MPI has no persistent collectives");
#endif
}
