/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* Collectives of different kinds in one MPI_Waitall(): some of these no library but MPI itself carries out. */
PROGRAM(requests_of_both, "persistent calls of neighbours beside others")
{
#if MPI_VERSION >= 4
    int degree = 2, near[2] = {(me + ranks - 1) % ranks, (me + 1) % ranks}, in[2] = {me, -1}, sum;
    MPI_Request requests[2];
    MPI_Comm ring;

    if (ranks < 3) {
        near[0] = 1 - me;
        degree = ranks - 1;
    }
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, near, MPI_UNWEIGHTED, degree, near,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring));
    OK(MPI_Neighbor_allgather_init(&me, 1, MPI_INT, in, 1, MPI_INT, ring, MPI_INFO_NULL,
                                   &requests[0]));
    for (int time = 0; time < 3; time++) {
        in[0] = in[1] = -1;
        OK(MPI_Start(&requests[0]));
        OK(MPI_Iallreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        CHECK(sum == ranks * (ranks - 1) / 2, "the sum: %d", sum);
        for (int i = 0; i < degree; i++)
            CHECK(in[i] == near[i], "neighbour %d: %d", near[i], in[i]);
    }
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Comm_free(&ring));
#else
    not_run("this MPI has no persistent calls of neighbours");
#endif
}
