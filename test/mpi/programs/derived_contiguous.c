/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define N 11

/* Three ints in one element, also as a type of types, a duplicate, and with other counts of other types at the peers. */
static void moves(MPI_Comm comm, int rank, int size)
{
    MPI_Datatype three, same, six;
    int *in = take_values(rank, 6 * N), *out = take((size_t)size * 6 * N * sizeof *out);

    OK(MPI_Type_contiguous(3, MPI_INT, &three));
    OK(MPI_Type_contiguous(2, three, &six));
    OK(MPI_Type_dup(three, &same));
    OK(MPI_Type_commit(&three));
    OK(MPI_Type_commit(&six));
    OK(MPI_Allgather(in, N, six, out, 2 * N, same, comm));
    CHECK_EACH(i, size * 6 * N, out, value(i / (6 * N), i % (6 * N)), "allgather of six ints");
    OK(MPI_Bcast(in, rank % 2 ? N : 6 * N, rank % 2 ? six : MPI_INT, size - 1, comm));
    CHECK_EACH(i, 6 * N, in, value(size - 1, i), "bcast of six ints");
    OK(MPI_Type_free(&three));
    OK(MPI_Type_free(&six));
    OK(MPI_Type_free(&same));
    give(in);
    give(out);
}

PROGRAM(derived_contiguous, "contiguous types, with other counts of other types at the peers")
{
    each_comm(moves);
}
