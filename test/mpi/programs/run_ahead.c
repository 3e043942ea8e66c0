/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define TIMES 3000

/* A root that does not wait for anyone runs ahead of the others as far as it can; the buffer changes after each call. */
PROGRAM(run_ahead, "thousands of bcasts and reduces without a barrier between them")
{
    int data[16], sum[16];

    for (int i = 0; i < TIMES; i++) {
        for (int j = 0; j < 16; j++)
            data[j] = me == 0 ? i + j : -1;
        OK(MPI_Bcast(data, 16, MPI_INT, 0, MPI_COMM_WORLD));
        if (!CHECK(data[0] == i && data[15] == i + 15, "bcast %d: %d .. %d", i, data[0], data[15]))
            return;
    }
    for (int i = 0; i < TIMES; i++) {
        for (int j = 0; j < 16; j++)
            data[j] = me + i + j;
        OK(MPI_Reduce(data, sum, 16, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
        if (me == 0 && !CHECK(sum[15] == ranks * (i + 15) + ranks * (ranks - 1) / 2,
                              "reduce %d: %d", i, sum[15]))
            return;
    }
}
