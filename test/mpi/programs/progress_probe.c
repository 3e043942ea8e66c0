/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* The same with MPI_Iprobe() and MPI_Test() of a receive: a rank that only looks for messages has to go on with the
 * collective that it began. */
PROGRAM(progress_probe, "non-blocking collectives move while ranks look for messages", .ranks = 2)
{
    for (int i = 0; i < 6; i++) {
        MPI_Request barrier, receive;
        int flag = 0, token = i;

        OK(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
        if (me == 0) {
            OK(MPI_Wait(&barrier, MPI_STATUS_IGNORE));
            for (int r = 1; r < ranks; r++)
                OK(MPI_Send(&token, 1, MPI_INT, r, 4, MPI_COMM_WORLD));
            continue;
        }
        if (i % 2 == 0) {
            while (!flag)
                OK(MPI_Iprobe(0, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
            OK(MPI_Recv(&token, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_Irecv(&token, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &receive));
            while (!flag)
                OK(MPI_Test(&receive, &flag, MPI_STATUS_IGNORE));
        }
        OK(MPI_Wait(&barrier, MPI_STATUS_IGNORE));
        CHECK(token == i, "token %d", token);
    }
}
