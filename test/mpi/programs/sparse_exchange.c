/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define LONG 20000

/* Sparse exchange (Hoefler, Siebert, Lumsdaine: Scalable communication protocols for dynamic sparse data exchange,
 * 2010): nobody knows how many messages come; synchronous sends, then a barrier that does not block. */
PROGRAM(sparse_exchange, "an exchange with unknown senders, ended by MPI_Ibarrier()")
{
    for (int time = 0; time < 10; time++) {
        MPI_Request sends[3], barrier;
        int *out[3], received = 0, expected, sent = (int)own(4), to[3],
                     *count = calloc((size_t)ranks, sizeof *count);
        bool in_barrier = false;

        for (int i = 0; i < sent; i++) {
            to[i] = (int)own((unsigned)ranks);
            count[to[i]]++;
            out[i] = take_values(me, LONG);
            OK(MPI_Issend(out[i], own(2) ? LONG : 5, MPI_INT, to[i], time, MPI_COMM_WORLD,
                          &sends[i]));
        }
        for (int done = 0; !done;) {
            MPI_Status status;
            int there, length, *in;

            OK(MPI_Iprobe(MPI_ANY_SOURCE, time, MPI_COMM_WORLD, &there, &status));
            if (there) {
                MPI_Get_count(&status, MPI_INT, &length);
                in = take((size_t)length * sizeof *in);
                OK(MPI_Recv(in, length, MPI_INT, status.MPI_SOURCE, time, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE));
                CHECK_EACH(i, length, in, value(status.MPI_SOURCE, i), "from %d",
                           status.MPI_SOURCE);
                give(in);
                received++;
            }
            if (in_barrier) {
                OK(MPI_Test(&barrier, &done, MPI_STATUS_IGNORE));
            } else {
                int all;

                OK(MPI_Testall(sent, sends, &all, MPI_STATUSES_IGNORE));
                if (all)
                    OK(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
                in_barrier = all;
            }
        }
        OK(MPI_Reduce_scatter_block(count, &expected, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(received == expected, "%d messages, not %d", received, expected);
        for (int i = 0; i < sent; i++)
            give(out[i]);
        free(count);
    }
}
