/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* Each rank receives from the two before it, and sends to the two behind it. */
static int before(int j)
{
    return (me + 2 * ranks - 1 - j) % ranks;
}

static void check_all(const int *out, bool same, const char *what)
{
    for (int j = 0; j < 2; j++)
        CHECK(out[j] == value(before(j), same ? 0 : j), "%s: %d from rank %d", what, out[j],
              before(j));
}

PROGRAM(neighbours_all,
        "all neighbourhood collectives, blocking and not, beside ordinary ones in flight",
        .ranks = 3)
{
    int sources[2] = {before(0), before(1)}, targets[2] = {(me + 1) % ranks, (me + 2) % ranks};
    int in[2] = {value(me, 0), value(me, 1)}, out[10][2], n[2] = {1, 1}, at[2] = {0, 1}, sum;
    MPI_Aint bytes[2] = {0, sizeof(int)};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Request requests[6];
    MPI_Comm graph;

    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, targets,
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    OK(MPI_Iallreduce(&me, &sum, 1, MPI_INT, MPI_SUM, graph, &requests[5]));
    OK(MPI_Ineighbor_allgather(in, 1, MPI_INT, out[0], 1, MPI_INT, graph, &requests[0]));
    OK(MPI_Ineighbor_allgatherv(in, 1, MPI_INT, out[1], n, at, MPI_INT, graph, &requests[1]));
    OK(MPI_Ineighbor_alltoall(in, 1, MPI_INT, out[2], 1, MPI_INT, graph, &requests[2]));
    OK(MPI_Ineighbor_alltoallv(in, n, at, MPI_INT, out[3], n, at, MPI_INT, graph, &requests[3]));
    OK(MPI_Ineighbor_alltoallw(in, n, bytes, types, out[4], n, bytes, types, graph, &requests[4]));
    OK(MPI_Waitall(6, requests, MPI_STATUSES_IGNORE));
    CHECK(sum == ranks * (ranks - 1) / 2, "sum %d", sum);
    OK(MPI_Neighbor_allgather(in, 1, MPI_INT, out[5], 1, MPI_INT, graph));
    OK(MPI_Neighbor_allgatherv(in, 1, MPI_INT, out[6], n, at, MPI_INT, graph));
    OK(MPI_Neighbor_alltoall(in, 1, MPI_INT, out[7], 1, MPI_INT, graph));
    OK(MPI_Neighbor_alltoallv(in, n, at, MPI_INT, out[8], n, at, MPI_INT, graph));
    OK(MPI_Neighbor_alltoallw(in, n, bytes, types, out[9], n, bytes, types, graph));
    for (int i = 0; i < 10; i++)
        check_all(out[i], i % 5 < 2, i < 5 ? "not blocking" : "blocking");
    OK(MPI_Comm_free(&graph));
}
