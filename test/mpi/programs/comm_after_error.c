/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#define TIMES 10

/* MPI refuses a call on one rank; the others may see an error or not. The communicator is of no use after that. The
 * program frees it, and makes another one of the same ranks, on which nothing of the first may be
 * seen. */
PROGRAM(comm_after_error, "a communicator after one with an error", .alone = true, .ranks = 2)
{
    for (int time = 0; time < TIMES; time++) {
        MPI_Comm comm;
        int buffer = me == 0 ? -1 : 0;

        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
        int rc = MPI_Bcast(&buffer, me == ranks - 1 ? -1 : 1, MPI_INT, 0, comm);
        CHECK(rc != MPI_SUCCESS || me < ranks - 1, "the wrong bcast gives no error");
        OK(MPI_Comm_free(&comm));
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        for (int i = 0; i < 3; i++) {
            int sent = 100 * time + i;

            buffer = me == 0 ? sent : -2;
            OK(MPI_Bcast(&buffer, 1, MPI_INT, 0, comm));
            CHECK(buffer == sent, "bcast of %d: %d", sent, buffer);
        }
        OK(MPI_Comm_free(&comm));
    }
}
