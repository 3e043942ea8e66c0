/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"
#include "own.h"

#define COUNT 257

/* Numbers of very different size, whose sum depends on the order: all ranks have to take the same one, as 5.9.1 of the
 * standard advises, and again in a second call. */
static void sums(MPI_Comm comm, int rank, int size)
{
    double *in = take(COUNT * sizeof *in), *out = take(COUNT * sizeof *out),
           *again = take(COUNT * sizeof *again);
    double *all = take((size_t)size * COUNT * sizeof *all);

    for (int i = 0; i < COUNT; i++)
        in[i] = (value(rank, i) - 50) * (i % 2 ? 1e15 : 1e-3) + 1.0 / (rank + 3);
    OK(MPI_Allreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, comm));
    OK(MPI_Allreduce(in, again, COUNT, MPI_DOUBLE, MPI_SUM, comm));
    CHECK(memcmp(out, again, COUNT * sizeof *out) == 0, "the same call gives other bits");
    OWN(Allgather)(out, COUNT, MPI_DOUBLE, all, COUNT, MPI_DOUBLE, comm);
    for (int other = 0; other < size; other++)
        CHECK(memcmp(all + (size_t)other * COUNT, out, COUNT * sizeof *out) == 0,
              "other bits than on rank %d", other);
    give(in);
    give(out);
    give(again);
    give(all);
}

PROGRAM(same_bits, "a sum of doubles has the same bits on all ranks, and in each call")
{
    each_comm(sums);
}
