/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* On MPI_COMM_SELF and on copies of it, while other ranks do nothing. */
PROGRAM(self_alone, "MPI_COMM_SELF, used by one rank at a time")
{
    for (int turn = 0; turn < ranks; turn++) {
        MPI_Comm copy;

        if (me == turn) {
            OK(MPI_Comm_dup(MPI_COMM_SELF, &copy));
            for (int collective = 0; collective < COLLECTIVES; collective++) {
                struct call call;

                call_make(&call, collective, collective % 2 ? copy : MPI_COMM_SELF, 100, 0, 2);
                call_block(&call);
                call_check(&call);
                call_free(&call);
            }
            OK(MPI_Comm_free(&copy));
        }
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
}
