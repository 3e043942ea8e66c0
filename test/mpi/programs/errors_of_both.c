/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

static int class_of(int code)
{
    int class;

    MPI_Error_class(code, &class);
    return class;
}

/* A message is too long for its receive, while a collective in the same MPI_Waitall() waits for a late rank. */
PROGRAM(errors_of_both, "an error of a message beside a collective", .alone = true, .ranks = 2)
{
    int buffer[2] = {7, 8}, sum = 0;
    MPI_Request requests[2];
    MPI_Status statuses[2];

    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (me == 1) {
        OK(MPI_Send(buffer, 2, MPI_INT, 0, 4, MPI_COMM_WORLD));
        sleep_ms(30);
    }
    if (me == 0)
        OK(MPI_Irecv(buffer, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Iallreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]));
    if (me == 0) {
        int rc = MPI_Waitall(2, requests, statuses);
        CHECK(class_of(rc) == MPI_ERR_IN_STATUS, "MPI_Waitall() gives class %d", class_of(rc));
        CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE, "the receive: class %d",
              class_of(statuses[0].MPI_ERROR));
    }
    OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE)); /* MPI may have left it pending */
    CHECK(sum == ranks * (ranks - 1) / 2, "the sum: %d", sum);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}
