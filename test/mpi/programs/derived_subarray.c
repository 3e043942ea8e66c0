/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define ROWS    6
#define COLUMNS 8

/* The inner part of an array; its type is freed before the call that uses it has ended. */
static void inner(MPI_Comm comm, int rank, int size)
{
    int sizes[2] = {ROWS, COLUMNS}, inner_sizes[2] = {ROWS - 2, COLUMNS - 2}, begin[2] = {1, 1};
    int array[ROWS][COLUMNS], root = size / 2;
    MPI_Datatype part;
    MPI_Request request;

    for (int i = 0; i < ROWS * COLUMNS; i++)
        array[i / COLUMNS][i % COLUMNS] = rank == root ? i : -i;
    OK(MPI_Type_create_subarray(2, sizes, inner_sizes, begin, MPI_ORDER_C, MPI_INT, &part));
    OK(MPI_Type_commit(&part));
    OK(MPI_Ibcast(array, 1, part, root, comm, &request));
    OK(MPI_Type_free(&part));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            bool edge = i == 0 || j == 0 || i == ROWS - 1 || j == COLUMNS - 1;
            int at = i * COLUMNS + j;

            CHECK(array[i][j] == (edge && rank != root ? -at : at), "element %d, %d is %d", i, j,
                  array[i][j]);
        }
}

PROGRAM(derived_subarray, "a part of an array; the type is freed before its call has ended")
{
    each_comm(inner);
}
