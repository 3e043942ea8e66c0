/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* Without any call at all, and with messages alone; one rank ends long before the others. */
PROGRAM(no_collectives, "messages alone", .alone = true, .ends = true)
{
    int token = me;

    if (me > 0)
        OK(MPI_Recv(&token, 1, MPI_INT, me - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    sleep_ms(5);
    if (me + 1 < ranks)
        OK(MPI_Send(&token, 1, MPI_INT, me + 1, 0, MPI_COMM_WORLD));
    OK(MPI_Finalize());
}
