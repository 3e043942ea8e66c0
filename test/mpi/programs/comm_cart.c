/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

static void use(MPI_Comm comm)
{
    struct call call;

    for (int collective = 0; collective < COLLECTIVES; collective++) {
        call_make(&call, collective, comm, 8, 0, collective);
        call_block(&call);
        call_check(&call);
        call_free(&call);
    }
}

/* A grid, its rows and its columns; a sum of the coordinates along each of them. */
PROGRAM(comm_cart, "grids, their rows and columns")
{
    int dims[2] = {0, 0}, periods[2] = {1, 0}, place[2], rows[2] = {0, 1}, columns[2] = {1, 0}, sum,
        rank;
    MPI_Comm grid, row, column;

    OK(MPI_Dims_create(ranks, 2, dims));
    OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid));
    OK(MPI_Comm_rank(grid, &rank));
    OK(MPI_Cart_coords(grid, rank, 2, place));
    OK(MPI_Cart_sub(grid, rows, &row));
    OK(MPI_Cart_sub(grid, columns, &column));
    OK(MPI_Allreduce(&place[1], &sum, 1, MPI_INT, MPI_SUM, row));
    CHECK(sum == dims[1] * (dims[1] - 1) / 2, "the sum along a row is %d", sum);
    OK(MPI_Allreduce(&place[1], &sum, 1, MPI_INT, MPI_SUM, column));
    CHECK(sum == dims[0] * place[1], "the sum along a column is %d", sum);
    use(grid);
    use(row);
    use(column);
    OK(MPI_Comm_free(&row));
    OK(MPI_Comm_free(&grid));
    use(column);
    OK(MPI_Comm_free(&column));
}
