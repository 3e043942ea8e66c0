/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* One to four megabytes at each rank. */
PROGRAM(large_counts, "a few megabytes in each call")
{
    for (int collective = 0; collective < COLLECTIVES; collective++) {
        bool wide = collective >= GATHER && collective <= REDUCE_SCATTER_BLOCK;
        struct call call;

        call_make(&call, collective, MPI_COMM_WORLD, (wide ? 300000 / ranks : 600000) + 1,
                  ranks / 2, 3);
        call_block(&call);
        call_check(&call);
        call_free(&call);
    }
}
