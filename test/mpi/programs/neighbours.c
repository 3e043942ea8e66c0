/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* Neighbourhood collectives on a ring, and ordinary ones on the same communicator. */
PROGRAM(neighbours, "neighbourhood collectives on a ring")
{
    int left = (me + ranks - 1) % ranks, right = (me + 1) % ranks,
        in[2] = {value(me, 0), value(me, 1)}, out[2], sum;
    int peers[2] = {left, right}, dims = ranks, periods = 1, rank;
    MPI_Comm ring, graph;

    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periods, 0, &ring));
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, peers, MPI_UNWEIGHTED, 2, peers,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    OK(MPI_Comm_rank(ring, &rank));
    OK(MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, ring));
    CHECK(out[0] == value(left, 0) && out[1] == value(right, 0), "allgather: %d, %d", out[0],
          out[1]);
    if (ranks > 2) {
        OK(MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, graph));
        CHECK(out[0] == value(left, 1) && out[1] == value(right, 0), "alltoall: %d, %d", out[0],
              out[1]);
    }
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, graph));
    CHECK(sum == ranks * (ranks - 1) / 2, "sum %d", sum);
    OK(MPI_Comm_free(&ring));
    OK(MPI_Comm_free(&graph));
}
