/* SPDX-License-Identifier: BSD-3-Clause */
#include <sys/mman.h>

#include "check.h"

#define N 60000

/* Long buffers are unmapped after each call, and other memory appears at the same addresses: nothing that was
 * remembered of an address may be used again. */
PROGRAM(memory_comes_and_goes, "long buffers that are unmapped after each call")
{
    for (int time = 0; time < 20; time++) {
        size_t bytes = N * sizeof(int) * (size_t)ranks;
        int *in = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int *out = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (!CHECK(in != MAP_FAILED && out != MAP_FAILED, "no memory"))
            return;
        for (int i = 0; i < N * ranks; i++)
            in[i] = value(me, i + time);
        if (time % 2)
            OK(MPI_Alltoall(in, N, MPI_INT, out, N, MPI_INT, MPI_COMM_WORLD));
        else
            OK(MPI_Allreduce(in, out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK_EACH(i, N, out,
                   time % 2 ? value(0, me * N + i + time) : sum_of_values(0, ranks, i + time),
                   "time %d", time);
        munmap(in, bytes);
        munmap(out, bytes);
    }
}
