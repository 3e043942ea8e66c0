/* SPDX-License-Identifier: BSD-3-Clause */
#include <sys/mman.h>

#include "check.h"

#define N 5000

/* Data that is sent lies in memory that cannot be written to, and begins at an odd address of its type. */
PROGRAM(read_only, "sent data in read-only memory, and at odd addresses")
{
    size_t bytes = (size_t)(N + 1) * sizeof(int) * (size_t)ranks;
    char *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int *out = take((size_t)ranks * N * sizeof *out), *in = (int *)(room + 4);

    CHECK(room != MAP_FAILED, "no memory");
    for (int i = 0; i < N * ranks; i++)
        in[i] = value(me, i);
    mprotect(room, bytes, PROT_READ);
    OK(MPI_Allreduce(in, out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EACH(i, N, out, sum_of_values(0, ranks, i), "allreduce");
    OK(MPI_Allgather(in, N, MPI_INT, out, N, MPI_INT, MPI_COMM_WORLD));
    CHECK_EACH(i, N * ranks, out, value(i / N, i % N), "allgather");
    OK(MPI_Alltoall(in, N, MPI_INT, out, N, MPI_INT, MPI_COMM_WORLD));
    CHECK_EACH(i, N * ranks, out, value(i / N, me * N + i % N), "alltoall");
    OK(MPI_Bcast(me == 0 ? in : out, N, MPI_INT, 0, MPI_COMM_WORLD));
    CHECK_EACH(i, N, me == 0 ? in : out, value(0, i), "bcast");
    OK(MPI_Reduce_scatter_block(in, out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EACH(i, N, out, sum_of_values(0, ranks, me * N + i), "reduce_scatter_block");
    munmap(room, bytes);
    give(out);
}
