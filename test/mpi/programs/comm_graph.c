/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* Runs each call on a communicator, and frees it. */
static void use(MPI_Comm comm)
{
    int size;

    MPI_Comm_size(comm, &size);
    for (int collective = 0; collective < COLLECTIVES; collective++) {
        struct call call;

        call_make(&call, collective, comm, 15, collective % size, 2);
        call_block(&call);
        call_check(&call);
        call_free(&call);
    }
    OK(MPI_Comm_free(&comm));
}

PROGRAM(comm_graph, "graphs: all ranks in a row, and one that each rank knows a part of")
{
    int *ends = malloc((size_t)ranks * sizeof *ends),
        *edges = malloc(2 * (size_t)ranks * sizeof *edges), count = 0, right = (me + 1) % ranks,
        one = 1;
    MPI_Comm graph;

    for (int r = 0; r < ranks; r++) {
        if (r > 0)
            edges[count++] = r - 1;
        if (r < ranks - 1)
            edges[count++] = r + 1;
        ends[r] = count;
    }
    OK(MPI_Graph_create(MPI_COMM_WORLD, ranks, ends, edges, 1, &graph));
    use(graph);
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &me, &one, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                             &graph));
    use(graph);
    free(ends);
    free(edges);
}
