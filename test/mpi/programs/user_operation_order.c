/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* Products of 2 x 2 matrices modulo a prime do not commute: the order of ranks has to be kept. The type is four ints
 * in one element, or a struct of them. */
#define P 10007

static void product(void *in, void *inout, int *length, MPI_Datatype *type)
{
    int *a = in, *b = inout;

    (void)type;
    for (int i = 0; i < *length; i++, a += 4, b += 4) {
        int c[4] = {(a[0] * b[0] + a[1] * b[2]) % P, (a[0] * b[1] + a[1] * b[3]) % P,
                    (a[2] * b[0] + a[3] * b[2]) % P, (a[2] * b[1] + a[3] * b[3]) % P};

        memcpy(b, c, sizeof c);
    }
}

/* Matrix i of the product of ranks first .. last - 1. */
static void expected(int first, int last, int i, int *matrix)
{
    int one = 1;

    for (int j = 0; j < 4; j++)
        matrix[j] = value(last - 1, 4 * i + j);
    for (int r = last - 2; r >= first; r--) {
        int left[4];

        for (int j = 0; j < 4; j++)
            left[j] = value(r, 4 * i + j);
        product(left, matrix, &one, NULL);
    }
}

static void compare(const int *out, int n, int first, int last, int offset, const char *what)
{
    for (int i = 0; i < n; i++) {
        int matrix[4];

        expected(first, last, offset + i, matrix);
        if (!CHECK(memcmp(matrix, out + 4 * i, sizeof matrix) == 0,
                   "%s, matrix %d of %d: %d .., not %d ..", what, i, n, out[4 * i], matrix[0]))
            break;
    }
}

static void in_order(MPI_Comm comm, int rank, int size)
{
    MPI_Datatype matrix;
    MPI_Op op;

    OK(MPI_Type_contiguous(4, MPI_INT, &matrix));
    OK(MPI_Type_commit(&matrix));
    OK(MPI_Op_create(product, 0, &op));
    for (int n = 1; n < 1000; n = n * 9 + 1) {
        int *in = take_values(rank, 4 * n * size), *out = take((size_t)n * 4 * sizeof *out);

        OK(MPI_Allreduce(in, out, n, matrix, op, comm));
        compare(out, n, 0, size, 0, "allreduce");
        for (int root = 0; root < size; root++) {
            OK(MPI_Reduce(in, out, n, matrix, op, root, comm));
            if (rank == root)
                compare(out, n, 0, size, 0, "reduce");
        }
        OK(MPI_Scan(in, out, n, matrix, op, comm));
        compare(out, n, 0, rank + 1, 0, "scan");
        OK(MPI_Exscan(in, out, n, matrix, op, comm));
        if (rank > 0)
            compare(out, n, 0, rank, 0, "exscan");
        OK(MPI_Reduce_scatter_block(in, out, n, matrix, op, comm));
        compare(out, n, 0, size, rank * n, "reduce_scatter_block");
        give(in);
        give(out);
    }
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&matrix));
}

PROGRAM(user_operation_order, "an operation that does not commute, on a derived type")
{
    each_comm(in_order);
}
