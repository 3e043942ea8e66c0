/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static MPI_Datatype seen;

/* Keeps the larger one by its last digit. */
static void larger_digit(void *in, void *inout, int *length, MPI_Datatype *type)
{
    int *a = in, *b = inout;

    seen = *type;
    for (int i = 0; i < *length; i++)
        if (a[i] % 10 > b[i] % 10 || (a[i] % 10 == b[i] % 10 && a[i] > b[i]))
            b[i] = a[i];
}

static int expected(int first, int last, int i)
{
    int best = value(first, i), length = 1;
    MPI_Datatype type = MPI_INT;

    for (int r = first + 1; r < last; r++) {
        int other = value(r, i);

        larger_digit(&other, &best, &length, &type);
    }
    return best;
}

static void all_reductions(MPI_Comm comm, int rank, int size)
{
    MPI_Op op;

    OK(MPI_Op_create(larger_digit, 1, &op));
    for (int n = 1; n < 3000; n = n * 20 + 3) {
        int *in = take_values(rank, n * size), *out = take((size_t)n * sizeof *out);

        OK(MPI_Allreduce(in, out, n, MPI_INT, op, comm));
        CHECK_EACH(i, n, out, expected(0, size, i), "allreduce of %d", n);
        CHECK(size == 1 || seen == MPI_INT, "the operation was called with another type");
        OK(MPI_Reduce(in, out, n, MPI_INT, op, size - 1, comm));
        if (rank == size - 1)
            CHECK_EACH(i, n, out, expected(0, size, i), "reduce of %d", n);
        OK(MPI_Scan(in, out, n, MPI_INT, op, comm));
        CHECK_EACH(i, n, out, expected(0, rank + 1, i), "scan of %d", n);
        OK(MPI_Exscan(in, out, n, MPI_INT, op, comm));
        if (rank > 0)
            CHECK_EACH(i, n, out, expected(0, rank, i), "exscan of %d", n);
        OK(MPI_Reduce_scatter_block(in, out, n, MPI_INT, op, comm));
        CHECK_EACH(i, n, out, expected(0, size, rank * n + i), "reduce_scatter_block of %d", n);
        give(in);
        give(out);
    }
    OK(MPI_Op_free(&op));
    CHECK(op == MPI_OP_NULL, "a freed operation is there");
}

PROGRAM(user_operation, "an operation of the program's own, which commutes")
{
    each_comm(all_reductions);
}
