/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* What a program asks about communicators is what it has made of them. */
PROGRAM(comm_names, "names, comparisons and groups of communicators")
{
    char name[MPI_MAX_OBJECT_NAME];
    int length, result, rank, sum;
    MPI_Comm copy, reversed;

    OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0, "the world is named '%s'", name);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    OK(MPI_Comm_set_name(copy, "a copy"));
    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, copy));
    OK(MPI_Comm_get_name(copy, name, &length));
    CHECK(strcmp(name, "a copy") == 0 && length == 6, "the copy is named '%s'", name);
    OK(MPI_Comm_compare(copy, MPI_COMM_WORLD, &result));
    CHECK(result == MPI_CONGRUENT, "a copy compares as %d", result);
    OK(MPI_Comm_split(copy, 0, -me, &reversed));
    OK(MPI_Comm_compare(copy, reversed, &result));
    CHECK(result == (ranks == 1 ? MPI_CONGRUENT : MPI_SIMILAR), "a reversed one compares as %d",
          result);
    OK(MPI_Comm_rank(reversed, &rank));
    CHECK(rank == ranks - 1 - me, "rank %d in reverse order", rank);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&reversed));
}
