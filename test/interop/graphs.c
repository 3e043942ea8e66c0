/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Graphs of a communicator that has had any number of non-blocking collectives. Open MPI 4.1 alone
 * hangs after 23 of them.
 */
#include <mpi.h>

#include <stdio.h>

#define CALLS 64

int main(int argc, char **argv)
{
    int me, ranks, in, out, weighted, one = 1, sum = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < CALLS; i++) {
        int right = (me + 1) % ranks;
        MPI_Comm graph;
        MPI_Request request;

        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &me, &one, &right, &one, MPI_INFO_NULL, 0, &graph);
        MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, graph);
        if (in != 1 || out != 1 || sum != ranks) {
            fprintf(stderr, "graphs: rank %d has %d and %d neighbours, and a sum of %d\n", me, in,
                    out, sum);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        MPI_Comm_free(&graph);
    }
    return MPI_Finalize();
}
