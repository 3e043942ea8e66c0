/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* A program that is its own profiler: it defines calls of MPI, counts them, and goes on to MPI's by their second names.
 * MPI_Reduce_local() is one that no other program here uses. Collectives by their second names,
 * between those by their first ones, are the same calls. */
static int counted;

int MPI_Reduce_local(const void *in, void *inout, int count, MPI_Datatype type, MPI_Op op)
{
    counted++;
    return PMPI_Reduce_local(in, inout, count, type, op);
}

PROGRAM(profiler, "calls by MPI's second names, between calls by their first ones")
{
    int one = 1, two = 2, sum, again;

    counted = 0;
    OK(MPI_Reduce_local(&one, &two, 1, MPI_INT, MPI_SUM));
    CHECK(counted == 1 && two == 3, "counted %d, result %d", counted, two);
    for (int i = 0; i < 20; i++) {
        OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        OK(PMPI_Allreduce(&me, &again, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sum == again && sum == ranks * (ranks - 1) / 2, "%d and %d", sum, again);
        OK(PMPI_Barrier(MPI_COMM_WORLD));
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
}
