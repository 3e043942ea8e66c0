/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* Communicators of communicators, each with one rank less; the outer ones are freed before the inner ones are used. */
PROGRAM(comm_nested, "communicators of communicators")
{
    MPI_Comm outer = MPI_COMM_WORLD, inner;

    for (int left = ranks; outer != MPI_COMM_NULL && left > 0; left--) {
        struct call call;
        int rank;

        MPI_Comm_rank(outer, &rank);
        OK(MPI_Comm_split(outer, rank == left - 1 ? MPI_UNDEFINED : 0, left % 2 ? rank : -rank,
                          &inner));
        call_make(&call, ALLGATHER, outer, 5, 0, left);
        call_block(&call);
        call_check(&call);
        call_free(&call);
        if (outer != MPI_COMM_WORLD)
            OK(MPI_Comm_free(&outer));
        outer = inner;
    }
}
